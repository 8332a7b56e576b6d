/** A desk with hosts at two NATS servers: each server has its own hosts, and takes no others with it. */
import { expect } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { poll } from "../../../src/desk/fleet/operations/fleet";
import { grantNats } from "../../../src/desk/join/operations";
import { showNats } from "../../../src/desk/nats/operations/fleet";
import { showPlan } from "../../../src/desk/plans/operations/look";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { applyPlan } from "../../../src/desk/plans/operations/run";
import { connectNats } from "../../../src/wire/nats/connect";
import { newSession, subjectsOf } from "../../../src/wire/nats/wire";
import { testWith, until } from "../../support";
import { startNats } from "../../wire/nats/support";
import { joinString, joinWith, tlsServer } from "../join/support";

const LONG = { seconds: 120, everyMs: 200 };

/** Two servers, and a desk that is connected to both. */
async function twoServers(stack: AsyncDisposableStack) {
  const first = stack.use(await startNats());
  const eu = stack.use(await startNats());
  const desk = stack.use(await tlsServer());
  const part = { ...(await first.part()), regions: { eu: await eu.part() } };
  writeFileSync(desk.files.nats, JSON.stringify(part));
  await desk.service.runJobs();
  const caller = localCaller(desk.service, "cli");
  const show = async () => {
    const now = (await callOperation(desk.service, showNats, {}, caller)).desk;
    return [now, now?.regions[0]];
  };
  const isConnected = async () => (await show()).every((one) => one?.state === "connected");
  await until("both connections", isConnected, LONG);
  return {
    ...{ first, eu, desk, caller, show },
    /** Which hosts answer, and why others do not, by label. */
    async poll() {
      const polled = await callOperation(desk.service, poll, { timeout_s: 5 }, caller);
      return Object.fromEntries(polled.map((one) => [one.label, one.healthy ? "healthy" : one.error]));
    },
    async join(label: string, region?: string) {
      const host = stack.use(await tlsServer());
      await host.service.runJobs();
      await joinWith(host, (await joinString(desk, { region })).join_string, { label });
      return host;
    },
    async plan() {
      const list = { actions: [["AC_sleep", { seconds: 0.01 }]], on: "all", queue: true };
      const { id, digest } = await callOperation(desk.service, newPlan, list, caller);
      await callOperation(desk.service, applyPlan, { id, digest }, caller);
      return async () => (await callOperation(desk.service, showPlan, { id }, caller)).counts;
    },
  };
}

testWith("nats-server")(
  "hosts join where their string says, and those of a server that is off are missed alone",
  async () => {
    await using stack = new AsyncDisposableStack();
    const fleet = await twoServers(stack);
    await fleet.join("here");
    await fleet.join("there", "eu");
    const both = async () => {
      const found = await fleet.poll();
      return found.here === "healthy" && found.there === "healthy";
    };
    await until("both hosts", both, LONG);
    const book = await fleet.desk.service.addressBook();
    const keys = book.hosts().map(({ member }) => member?.nats_key);
    expect(book.hosts().map(({ base_url }) => base_url)).toEqual([`nats:${keys[0]}`, `nats:eu/${keys[1]}`]);
    expect(await fleet.show()).toMatchObject([{ hosts: { up: 1 } }, { region: "eu", hosts: { up: 1 } }]);
    const before = await fleet.plan();
    await until("the plan", async () => (await before()).ok === 2, LONG);

    await fleet.eu.kill();
    await until("the loss", async () => (await fleet.show())[1]?.state !== "connected", LONG);
    expect(await fleet.poll()).toEqual({
      here: "healthy",
      there: expect.stringContaining("no connection to the NATS server of eu"),
    });
    expect(await fleet.show()).toMatchObject([
      { state: "connected", hosts: { up: 1 } },
      { hosts: { up: 0 } },
    ]);
    const without = await fleet.plan();
    await until("the host that is there", async () => (await without()).ok === 1, LONG);
    expect((await without()).ok).toBe(1);

    await fleet.eu.start();
    await until("the other host", async () => (await without()).ok === 2, LONG);
  },
  300_000,
);

testWith("nats-server")(
  "a host that joined before gets to the region that it is granted, and none that is at another server",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { desk, caller, poll: ask } = await twoServers(stack);
    const host = stack.use(await tlsServer());
    await host.service.runJobs();
    const direct = host.server.url;
    await joinWith(host, (await joinString(desk)).join_string, { label: "h", direct });
    const grant = (more: object = {}) =>
      callOperation(desk.service, grantNats, { hosts: "all", timeout_s: 60, ...more }, caller);
    expect(await grant({ region: "eu" })).toEqual([{ label: "h", ok: true, changed: true }]);
    const [entry] = (await desk.service.addressBook()).hosts();
    expect(entry?.base_url).toBe(`nats:eu/${entry?.member?.nats_key}`);
    expect(await ask()).toEqual({ h: "healthy" });
    // It is reached over NATS: that is all that a grant without a region is for.
    expect(await grant()).toEqual([{ label: "h", ok: true, changed: false }]);
    const part = JSON.parse(readFileSync(desk.files.nats, "utf8"));
    writeFileSync(
      desk.files.nats,
      JSON.stringify({ ...part, regions: { ...part.regions, us: part.regions.eu } }),
    );
    expect(await grant({ region: "us" })).toEqual([
      { label: "h", ok: false, error: expect.stringMatching(/^it is at another NATS server/) },
    ]);
  },
  180_000,
);

testWith("nats-server")(
  "a server says nothing of the hosts at another one",
  async () => {
    await using stack = new AsyncDisposableStack();
    const { first, desk, show } = await twoServers(stack);
    const book = await desk.service.addressBook();
    const users = [await first.host(), await first.host()];
    for (const [nth, region] of ["nats:eu/", "nats:"].entries()) {
      const nats_key = users[nth]?.id ?? "";
      const member = { host_id: `${nth}`.repeat(32), host_key: "k", nonce: "n", nats_key };
      await book.add({ label: `h${nth}`, base_url: `${region}${nats_key}`, tags: [], member });
    }
    // The one of the region says it first.
    for (const { id, seed, jwt } of users) {
      const connection = await connectNats({ server: first.server, seed, jwt });
      stack.defer(() => connection.close());
      const about = { v: 1, session: newSession(), connection: newSession(), version: "1" };
      connection.publish(subjectsOf(id).hello, JSON.stringify(about));
      await connection.flush();
    }
    await until("the host at the first server", async () => (await show())[0]?.hosts?.up !== 0, LONG);
    expect((await show()).map((one) => one?.hosts?.up)).toEqual([1, 0]);
  },
  120_000,
);
