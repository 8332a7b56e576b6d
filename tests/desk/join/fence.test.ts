/** Hosts that have heard of a take-over take no job of the desk before, whatever it knows. Desks and hosts are servers on loopback, with TLS. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { broadcastExecute } from "../../../src/desk/fleet/operations/fleet";
import { rotateHost } from "../../../src/desk/fleet/operations/hosts";
import { removeHost } from "../../../src/desk/fleet/operations/selected";
import { createPinNotifier } from "../../../src/desk/join/desk-pins";
import { importDesk } from "../../../src/desk/join/operations";
import { writeUnwritten, yieldTo } from "../../../src/desk/join/standby/deposed";
import { generationOf, generationText, takenOverBy } from "../../../src/desk/join/standby/office";
import { reinstate } from "../../../src/desk/join/standby/operations/desk";
import { takeOverDesk } from "../../../src/desk/join/standby/operations/standby";
import { show } from "../../../src/desk/join/standby/operations/standing";
import { showPlan } from "../../../src/desk/plans/operations/look";
import { newPlan } from "../../../src/desk/plans/operations/make";
import { applyPlan } from "../../../src/desk/plans/operations/run";
import { leave } from "../../../src/host/join/operations";
import { unavailable } from "../../../src/lib/errors";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { isSignedBy, openSigningKey } from "../../../src/trust/identity";
import { seal } from "../../../src/wire/job/envelope";
import { type Office, officeMessage } from "../../../src/wire/join/office";
import { countingTable, madeUpJob } from "../../host/jobs/support";
import { testService, until } from "../../support";
import { call, followed, type Machine } from "./standby-support";
import { joinString, joinWith, tlsServer } from "./support";

/** A host that has joined a desk, and what counts the jobs that it has run. */
async function joined() {
  const table = countingTable();
  const service = { operations: table.operations };
  const desk = await tlsServer({ service });
  const host = await tlsServer({ service, rate_limit: 0 });
  await joinWith(host, (await joinString(desk)).join_string);
  const [entry] = (await desk.service.addressBook()).hosts();
  const hostId = entry?.member?.host_id ?? "";
  const key = openSigningKey(desk.files.deskKey);
  const post = async (path: string, body: object) => {
    const response = await fetch(`${host.server.url}${path}`, {
      ...{ method: "POST", body: JSON.stringify(body), tls: { rejectUnauthorized: false } },
      headers: { authorization: `Bearer ${entry?.token}`, "content-type": "application/json" },
    });
    const answer: Record<string, unknown> = {
      status: response.status,
      ...((await response.json()) as object),
    };
    return answer;
  };
  return {
    ...{ table, desk, host, hostId, key, post },
    /** What the desk with that office says to the host. */
    tell: (office: Office, signature = key.sign(officeMessage(hostId, office))) =>
      post("/desk/generation", { line: office.line, generation: office.generation, signature }),
    send: (job: ReturnType<typeof madeUpJob>, office?: Office) =>
      post("/plans/jobs", { ...seal(job, "execute", hostId, key, office), content: job.content, wait_s: 30 }),
    cancel: (job: ReturnType<typeof madeUpJob>, office?: Office) =>
      post("/plans/jobs/cancel", seal(job, "cancel", hostId, key, office)),
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await desk[Symbol.asyncDispose]();
    },
  };
}

const of = (generation: number, line = ""): Office => ({ line, generation });

test("whatever a host hears and gets in which order, it begins no job of a generation before the newest of that line", async () => {
  await using made = await joined();
  const newest = new Map<string, number>();
  const office = fc.record({ generation: fc.nat(4), line: fc.constantFrom("", "abcdefgh", "aaaaaaaa") });
  const step = fc.record({ kind: fc.constantFrom("tell", "job", "cancel"), office });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      for (const { kind, office } of steps) {
        const { line, generation } = office;
        const known = newest.get(line) ?? 0;
        // The first desk says nothing while it was never taken over.
        const said = line === "" && generation === 0 ? undefined : office;
        if (kind === "tell") {
          const heard = await made.tell(office);
          newest.set(line, Math.max(known, generation));
          expect(heard).toMatchObject({ status: 200, changed: generation > known });
          const proof = officeMessage(made.hostId, of(Number(heard.generation), line));
          expect(heard.generation).toBe(Math.max(known, generation));
          expect(isSignedBy(made.key.publicKey, proof, String(heard.signature))).toBe(true);
          continue;
        }
        const before = made.table.ran();
        const isOver = generation < known;
        if (kind === "cancel") {
          expect((await made.cancel(madeUpJob(), said)).status).toBe(isOver ? 409 : 200);
          continue;
        }
        const answer = await made.send(madeUpJob(), said);
        expect(answer).toMatchObject(isOver ? { status: 409 } : { status: 200, state: "done" });
        expect(made.table.ran()).toBe(before + (isOver ? 0 : 1));
      }
    }),
    { numRuns: 40 },
  );
  // It is on disk, and so outlives the process.
  const kept = JSON.parse(readFileSync(made.host.files.desk, "utf8")).desk_offices ?? [];
  expect(new Map(kept.map((one: Office) => [one.line, one.generation]))).toEqual(
    new Map([...newest].filter(([, generation]) => generation > 0)),
  );
}, 60_000);

test("a host takes a generation that its desk has signed for it, and nothing else", async () => {
  await using made = await joined();
  const other = officeMessage(
    made.hostId.replace(/^./, (one) => (one === "0" ? "1" : "0")),
    of(3),
  );
  for (const signature of [made.key.sign(other), made.key.sign(officeMessage(made.hostId, of(2)))])
    expect(await made.tell(of(3), signature)).toMatchObject({ status: 403 });
  expect((await made.send(madeUpJob())).status).toBe(200);
});

test("a host that joins the same desk again knows of its take-overs still, and of none once it has left", async () => {
  await using made = await joined();
  await made.tell(of(3));
  const again = async () => {
    await joinWith(made.host, (await joinString(made.desk)).join_string);
    return JSON.parse(readFileSync(made.host.files.desk, "utf8")).desk_offices;
  };
  expect(await again()).toMatchObject([of(3)]);
  await call(made.host, leave);
  expect(await again()).toBeUndefined();
});

test("a host has room for the take-overs of sixteen desks", async () => {
  await using made = await joined();
  const lines = [..."abcdefghijklmnop"].map((letter) => letter.repeat(8));
  for (const line of lines) expect(await made.tell(of(1, line))).toMatchObject({ status: 200 });
  expect(await made.tell(of(1, "qqqqqqqq"))).toMatchObject({ status: 409 });
  expect(await made.tell(of(2, "aaaaaaaa"))).toMatchObject({ status: 200, changed: true });
});

test("a desk that was taken over still hears what became of a job that the host took before", async () => {
  await using made = await joined();
  const job = madeUpJob();
  const before = await made.send(job);
  await made.tell(of(1));
  expect(await made.send(job)).toEqual(before);
  expect(made.table.ran()).toBe(1);
});

/** A desk that is cut off from its standby, which has taken over; the host has heard of it, or not. */
async function cutOff(hasHeard = true) {
  const made = await joined();
  const next = testService({ operations: made.table.operations });
  await followed(made.desk, next);
  // Its plans go on without it.
  await made.desk.server.stop();
  await call(next, takeOverDesk);
  const tellAll = async ({ service }: Machine) => {
    const book = await service.addressBook();
    await (await service.deskFence()).tellAll(book.hosts(), (one) => book.reach(one));
  };
  if (hasHeard) await tellAll(next);
  return {
    ...{ ...made, next, tellAll },
    async [Symbol.asyncDispose]() {
      await next[Symbol.asyncDispose]();
      await made[Symbol.asyncDispose]();
    },
  };
}

/** The states of a job that has not ended. */
const OPEN = ["planned", "waiting", "sent", "running"];

/** Runs a plan of one job. @returns how it ended at the host. */
async function planOn({ service }: Machine) {
  const caller = localCaller(service, "api");
  const made = await callOperation(service, newPlan, { actions: [["AC_count"]], on: "all" }, caller);
  await callOperation(service, applyPlan, { id: made.id, digest: made.digest }, caller);
  const counts = async () => (await callOperation(service, showPlan, { id: made.id }, caller)).counts;
  const isOver = (now: Record<string, number>) => OPEN.every((state) => now[state] === undefined);
  return until("the end of the plan", async () => {
    const now = await counts();
    return isOver(now) && now;
  });
}

test("a first desk that is alive and has not heard runs no plan on a host that has; the host tells it, with proof", async () => {
  await using made = await cutOff();
  const { desk, next, table } = made;
  expect(takenOverBy(desk.files)).toBeUndefined();
  expect(await planOn(desk)).toMatchObject({ refused: 1 });
  expect(table.ran()).toBe(0);
  await until("the first desk to know", () => takenOverBy(desk.files) !== undefined);
  expect(takenOverBy(desk.files)?.generation).toBe(generationOf(configFiles(next.configDir)).generation);
  expect(planOn(desk)).rejects.toThrow("has taken this desk over");
  expect(await planOn(next)).toMatchObject({ ok: 1 });
  expect(table.ran()).toBe(1);
});

test("of two standbys that take over, a host runs the jobs of the later generation alone, and both hear of it", async () => {
  await using made = await joined();
  const { desk, table } = made;
  const machines = [
    testService({ operations: table.operations }),
    testService({ operations: table.operations }),
  ];
  for (const [nth, one] of machines.entries()) await followed(desk, one, `standby-${nth}`);
  await desk.server.stop();
  for (const one of machines) await call(one, takeOverDesk);
  const [lower, higher] = machines.toSorted(
    (a, b) =>
      generationOf(configFiles(a.configDir)).generation - generationOf(configFiles(b.configDir)).generation,
  );
  if (!lower || !higher) throw new Error("no machines");
  expect(await planOn(higher)).toMatchObject({ ok: 1 });
  expect(await planOn(lower)).toMatchObject({ refused: 1 });
  expect(table.ran()).toBe(1);
  await until("the other to know", () => takenOverBy(configFiles(lower.configDir)) !== undefined);
  for (const one of machines) await one[Symbol.asyncDispose]();
});

test("nor does it run a broadcast there, which a host without jobs would get by its token alone", async () => {
  await using made = await cutOff();
  const { desk, table } = made;
  const caller = localCaller(desk.service, "api");
  const input = { actions: [["AC_count"]], on: "all" };
  const outcomes = await callOperation(desk.service, broadcastExecute, input, caller);
  expect(outcomes).toMatchObject([{ ok: false, error: expect.stringContaining("was taken over") }]);
  expect(table.ran()).toBe(0);
});

test("nor a list that is too large for a job, which nothing but a question tells from one of the desk", async () => {
  await using made = await cutOff();
  const { desk, table } = made;
  const caller = localCaller(desk.service, "api");
  const large = ["AC_set_var", { name: "x", value: "x".repeat(950_000) }];
  const input = { actions: [["AC_count"], large], on: "all" };
  const outcomes = await callOperation(desk.service, broadcastExecute, input, caller);
  expect(outcomes).toMatchObject([{ ok: false, error: "this desk was taken over, as this host proves" }]);
  expect(table.ran()).toBe(0);
  const { service } = made.next;
  const other = await callOperation(service, broadcastExecute, input, localCaller(service, "api"));
  expect(other).toMatchObject([{ ok: true }]);
});

test("nor does a host take a piece of a program from it", async () => {
  await using made = await joined();
  const job = madeUpJob();
  const sealed = seal(job, "execute", made.hostId, made.key);
  const piece = () => made.post("/upgrade/receive", { ...sealed, content: job.content, offset: 0, data: "" });
  expect(await piece()).toMatchObject({ status: 400 });
  await made.tell(of(1));
  expect(await piece()).toMatchObject({ status: 409, code: "taken_over" });
});

const labelIn = async ({ service }: Machine) => (await service.addressBook()).hosts()[0]?.label ?? "";

test("a first desk that has not heard replaces and ends no token of a host that has: the other one would be locked out", async () => {
  await using made = await cutOff();
  const { desk, next, host } = made;
  const label = await labelIn(desk);
  await expect(call(desk, rotateHost, { label })).rejects.toThrow("was taken over");
  await until("the first desk to know", () => takenOverBy(desk.files) !== undefined);
  await expect(call(desk, removeHost, { label })).rejects.toThrow("was taken over");
  expect(await labelIn(desk)).toBe(label);
  expect(existsSync(host.files.desk)).toBe(true);
  expect(await planOn(next)).toMatchObject({ ok: 1 });
  // The desk itself does.
  expect(await call(next, rotateHost, { label })).toMatchObject({ label, problem: null });
  expect(await planOn(next)).toMatchObject({ ok: 1 });
});

test("a host that does not say whether this is its desk keeps its token, and is removed from the address book alone", async () => {
  await using made = await cutOff(false);
  const { desk, host } = made;
  const label = await labelIn(desk);
  await host.server.stop();
  await expect(call(desk, rotateHost, { label })).rejects.toThrow(`${label}: `);
  expect(await call(desk, removeHost, { label })).toMatchObject({ removed: true, revoked: false });
});

test("nor does it tell such a host of another key of its own", async () => {
  await using made = await cutOff();
  const { desk, host } = made;
  const { desk_pin } = JSON.parse(readFileSync(host.files.desk, "utf8"));
  const notify = createPinNotifier({
    ...{ configDir: desk.configDir, log: silentLog, addressBook: desk.service.addressBook },
    pins: async () => ({ pin: `spki:${"A".repeat(43)}` }),
    requireDeskAt: desk.service.requireDeskAt,
  });
  await notify();
  expect(JSON.parse(readFileSync(host.files.desk, "utf8")).desk_pin).toBe(desk_pin);
});

test("a server that has taken over tells its hosts by itself, and says how many have heard", async () => {
  await using made = await cutOff(false);
  const { next, host } = made;
  const stop = await next.service.runJobs();
  await until("the host to hear", () => JSON.parse(readFileSync(host.files.desk, "utf8")).desk_offices);
  await until("the count", async () => {
    const { hosts } = await call(next, show);
    return Bun.deepEquals(hosts, { hosts: 1, heard: 1, older: 0 });
  });
  stop();
});

test("a first desk that has not heard asks its hosts when it starts, and so hears before it sends anything", async () => {
  await using made = await cutOff();
  const { desk, table } = made;
  expect(takenOverBy(desk.files)).toBeUndefined();
  // Nor by what asks before the pins of hosts are changed, a second later.
  Object.assign(desk.service, { requireDeskAt: () => Promise.reject(unavailable("nobody asks here")) });
  const stop = await desk.service.runJobs();
  await until("the first desk to know", () => takenOverBy(desk.files) !== undefined, { seconds: 10 });
  stop();
  expect(table.ran()).toBe(0);
});

test("a desk that knows that it was taken over sends nothing, also where that cannot be written", async () => {
  await using made = await cutOff(false);
  const { desk, table } = made;
  const [host] = (await desk.service.addressBook()).hosts();
  if (!host) throw new Error("no host");
  const uses = desk.service.yieldUses();
  const full = () => Promise.reject(unavailable("the disk is full (ENOSPC)"));
  await expect(yieldTo(uses, { name: "second", generation: 7 }, full)).rejects.toThrow("the disk is full");
  expect(takenOverBy(desk.files)).toBeUndefined();
  await expect(planOn(desk)).rejects.toThrow("has taken this desk over");
  const fence = await desk.service.deskFence();
  const server = (await desk.service.addressBook()).reach(host);
  const reached = { label: host.label, server, host_id: made.hostId };
  await expect(fence.officeFor(reached, {})).rejects.toThrow("was taken over, which cannot be written yet");
  expect(table.ran()).toBe(0);
  await writeUnwritten(uses, async () => {});
  expect(takenOverBy(desk.files)).toMatchObject({ by: "second", generation: 7 });
  expect(uses.unwritten.taken).toBeUndefined();
});

test("a generation that no standby can have takes no desk over: that somebody has its key is said", async () => {
  await using made = await joined();
  const { desk } = made;
  await made.tell(of(2 ** 40));
  expect(await planOn(desk)).toMatchObject({ refused: 1 });
  expect(takenOverBy(desk.files)).toBeUndefined();
  const beyond = { host: await labelIn(desk), generation: 2 ** 40 };
  expect(await call(desk, show)).toMatchObject({ taken_over: null, beyond });
  expect(await desk.service.standbyNow()).toMatchObject({ beyond });
});

test("a desk that has taken over tells a host before its first job, and again after a restart", async () => {
  await using made = await cutOff(false);
  const { desk, next, table } = made;
  expect(await planOn(next)).toMatchObject({ ok: 1 });
  expect(await planOn(desk)).toMatchObject({ refused: 1 });
  await next.service.stop();
  const { createService } = await import("../../../src/service/service");
  const again = createService({ configDir: next.configDir, operations: table.operations });
  expect(await planOn({ service: again, configDir: next.configDir })).toMatchObject({ ok: 1 });
  await again.stop();
  expect(table.ran()).toBe(2);
});

test("a first desk that is reinstated has its hosts back, and the other one is refused", async () => {
  await using made = await cutOff();
  const { desk, next } = made;
  await planOn(desk);
  await until("the first desk to know", () => takenOverBy(desk.files) !== undefined);
  await call(desk, reinstate);
  await until("what it is to be known", async () => {
    await made.tellAll(desk);
    const [office] = JSON.parse(readFileSync(made.host.files.desk, "utf8")).desk_offices;
    return office.generation === generationOf(desk.files).generation;
  });
  expect(await planOn(desk)).toMatchObject({ ok: 1 });
  expect(await planOn(next)).toMatchObject({ refused: 1 });
  await until("the other to know", () => takenOverBy(configFiles(next.configDir)) !== undefined);
});

test("a host that says so without proof takes no desk over", async () => {
  await using made = await joined();
  const { desk, hostId, host } = made;
  const office = { ...of(7), signature: made.key.sign(officeMessage(hostId, of(6))) };
  const membership = JSON.parse(readFileSync(host.files.desk, "utf8"));
  writeFileSync(host.files.desk, JSON.stringify({ ...membership, desk_offices: [office] }));
  expect(await planOn(desk)).toMatchObject({ refused: 1 });
  expect(takenOverBy(desk.files)).toBeUndefined();
  // Nor does it get a broadcast by its token alone.
  const caller = localCaller(desk.service, "api");
  const input = { actions: [["AC_count"]], on: "all" };
  const outcomes = await callOperation(desk.service, broadcastExecute, input, caller);
  expect(outcomes).toMatchObject([{ ok: false, error: expect.stringContaining("was taken over") }]);
  expect(made.table.ran()).toBe(0);
});

test("a further desk of the same hosts goes on after the first was taken over", async () => {
  await using made = await joined();
  await using further = testService({ operations: made.table.operations });
  await using next = testService({ operations: made.table.operations });
  const { bundle } = await made.desk.service.deskNow();
  await call(further, importDesk, { bundle, without_nats: true });
  expect(generationOf(configFiles(further.configDir))).toMatchObject({
    ...{ generation: 0, line: expect.stringMatching(/^[a-z2-7]{8}$/) },
  });
  await followed(made.desk, next);
  await made.desk.server.stop();
  await call(next, takeOverDesk);
  expect(await planOn(next)).toMatchObject({ ok: 1 });
  expect(await planOn(further)).toMatchObject({ ok: 1 });
  expect(await planOn(made.desk)).toMatchObject({ refused: 1 });
});

test("a host with an earlier svc takes the jobs of a desk that has taken over", async () => {
  await using made = await cutOff(false);
  const { next } = made;
  const fence = await next.service.deskFence();
  let status = 404;
  const server = Bun.serve({
    port: 0,
    fetch: () => Response.json({ error: "no such route" }, { status }),
  });
  const old = {
    ...{ label: "old", host_id: made.hostId },
    server: {
      url: `http://127.0.0.1:${server.port}`,
      token: "t".repeat(32),
      trust: { kind: "any" } as const,
    },
  };
  expect(await fence.officeFor(old, {})).toBeUndefined();
  status = 500;
  expect(await fence.officeFor(old, {})).toBeUndefined();
  // One that has the route and does not take it may know a generation: it gets no job that says nothing of it.
  const full = { ...old, host_id: "1".repeat(32) };
  for (status of [500, 409, 400])
    expect(await fence.officeFor(full, {}).catch((error) => error)).toMatchObject({
      ...{ sent: false, message: expect.stringContaining("does not hear which desk this is") },
    });
  status = 404;
  expect(await fence.officeFor(full, {})).toBeUndefined();
  await server.stop(true);
  expect(
    await fence.officeFor({ ...old, host_id: "0".repeat(32) }, {}).catch((error) => error),
  ).toMatchObject({
    ...{ fault: "unreachable", sent: false },
  });
});

test("a host with an earlier svc is asked once which desk this is, not for ever, by a desk that took over from none", async () => {
  await using made = await joined();
  const fence = await made.desk.service.deskFence();
  let asked = 0;
  const server = Bun.serve({
    port: 0,
    fetch: () => Response.json({ error: "no such route", asked: asked++ }, { status: 404 }),
  });
  const { url } = server;
  const reach = () => ({ url: url.origin, token: "t".repeat(32), trust: { kind: "any" } as const });
  const book = await made.desk.service.addressBook();
  for (let times = 0; times < 2; times++) expect(await fence.tellAll(book.hosts(), reach)).toBe(0);
  expect(asked).toBe(1);
  await server.stop(true);
});

test("a generation that cannot be read begins nothing, and no bundle brings one", async () => {
  await using made = await joined();
  await using next = testService();
  const { bundle } = await made.desk.service.deskNow();
  const files = { ...bundle.files, "desk_generation.json": '{"generation":-1}' };
  expect(call(next, importDesk, { bundle: { ...bundle, files } })).rejects.toThrow(
    "expected the generation of a desk",
  );
  writeFileSync(made.desk.files.deskGeneration, "{}");
  expect(planOn(made.desk)).rejects.toThrow("does not say who is the desk");
  writeFileSync(made.desk.files.deskGeneration, generationText({ ...of(0), since: "", by: null }));
  expect(await planOn(made.desk)).toMatchObject({ ok: 1 });
});
