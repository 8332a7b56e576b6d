/** The way of a newer program to a host, through whatever happens to a connection, and what the desk learns of the upgrade. */
import { describe, expect, test } from "bun:test";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { createDelivery } from "../../../src/plans/deliver";
import type { DeliverOptions, Job, Target } from "../../../src/plans/job/job";
import { createUpgradeDelivery } from "../../../src/plans/upgrade/deliver";
import { addToken, tokenStore } from "../../../src/trust/named-tokens";
import { rowsOf } from "../../audit/support";
import { TOKEN, temporaryFolder, testServer } from "../../support";
import { release, upgradableHost } from "./support";

const noKey = () => {
  throw new Error("nothing is signed for a host that has not joined");
};

function brought(folder: string, url: string, job: Job, more: Partial<DeliverOptions> = {}, token = TOKEN) {
  const { deliver } = createDelivery(noKey);
  const upgrading = createUpgradeDelivery({
    ...{ deliver, key: noKey, folder },
    ...{ againMs: [1, 1, 1], lookMs: 1, verdictMs: 10_000 },
  });
  const target: Target = { label: "lab-01", server: { url, token, trust: { kind: "any" } }, host_id: null };
  const options = { signal: new AbortController().signal, client: null, sent() {}, running() {}, ...more };
  return upgrading(target, job, options);
}

/** What becomes of a piece: it comes and is answered; it comes and the answer is lost; it does not come. */
type Fate = "good" | "lost" | "unheard";

/** A server in front of `url`, which takes note of where each piece begins. */
async function between(url: string, fateOf: (nth: number) => Fate) {
  const offsets: number[] = [];
  const server = createServer(async (from, to) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of from) pieces.push(piece as Uint8Array);
    const body = Buffer.concat(pieces).toString();
    let fate: Fate = "good";
    if (from.url === "/upgrade/receive") {
      fate = fateOf(offsets.length);
      offsets.push(JSON.parse(body).offset);
    }
    if (fate === "unheard") {
      from.socket.destroy();
      return;
    }
    const options = { method: from.method, headers: { ...from.headers, host: new URL(url).host } };
    const asking = request(`${url}${from.url}`, options, async (answer) => {
      const whole: Uint8Array[] = [];
      for await (const piece of answer) whole.push(piece as Uint8Array);
      if (fate === "lost") from.socket.destroy();
      else to.writeHead(answer.statusCode ?? 500).end(Buffer.concat(whole));
    });
    asking.on("error", () => to.destroy()).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    offsets,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

test("a host gets its file in pieces, upgrades itself, and says so as the new version", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost(made);
  using way = await between(host.server.url, () => "good");
  const { state, result } = await brought(made.store, way.url, made.job());
  expect([state, result]).toMatchObject(["ok", { ok: true, status: "ok", delivered: true }]);
  expect(way.offsets).toEqual([0, 600_000, 1_200_000]);
  expect([host.running(), (await host.fromDesk().status()).version]).toEqual(["0.2.0", "0.2.0"]);
  const details = rowsOf(configFiles(host.configDir).auditLog).map(({ detail }) => `${detail}`);
  expect(details.filter((one) => one.includes("upgrade.receive plan="))).toHaveLength(1);
  expect(details.filter((one) => one.includes("upgrade 0.1.0 -> 0.2.0 sha256:"))).toHaveLength(1);
  // What was sent is not kept.
  await host.over();
  expect((await host.fromDesk().status()).incoming).toBeNull();
});

test.each(["lost", "unheard"] as const)(
  "a piece that is %s is not the begin of another transfer",
  async (fate) => {
    using made = await release("0.2.0");
    await using host = await upgradableHost(made);
    using way = await between(host.server.url, (nth) => (nth === 1 ? fate : "good"));
    expect(await brought(made.store, way.url, made.job())).toMatchObject({ state: "ok" });
    const again = fate === "lost" ? [] : [600_000];
    expect(way.offsets).toEqual([0, 600_000, ...again, 1_200_000]);
  },
);

test("where the host is gone, the job is not sent, and the next attempt goes on where the first was", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost(made);
  let isGone = true;
  using way = await between(host.server.url, (nth) => (isGone && nth > 0 ? "unheard" : "good"));
  let sent = 0;
  const first = await brought(made.store, way.url, made.job(), { sent: () => void sent++ });
  expect([first.state, first.result.delivered, sent]).toEqual(["offline", false, 0]);
  isGone = false;
  way.offsets.length = 0;
  expect(await brought(made.store, way.url, made.job())).toMatchObject({ state: "ok" });
  expect(way.offsets).toEqual([600_000, 1_200_000]);
});

test("nothing more is sent once the plan is paused", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost(made);
  using way = await between(host.server.url, () => "good");
  const maySend = () => way.offsets.length < 1;
  expect(await brought(made.store, way.url, made.job(), { maySend })).toMatchObject({ state: "unseen" });
  expect([way.offsets, host.running()]).toEqual([[0], "0.1.0"]);
});

test("a host that goes back has failed, with the reason", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost({ ...made, ready: [] });
  const { state, result } = await brought(made.store, host.server.url, made.job());
  expect([state, result.error]).toEqual([
    "failed",
    "0.2.0 was not ready within 0 s: 0.1.0 is in place again, and answers",
  ]);
  expect(host.running()).toBe("0.1.0");
});

test("a desk that was restarted asks what became of the upgrade, and sends nothing again", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost(made);
  using way = await between(host.server.url, () => "good");
  const job = made.job();
  await brought(made.store, way.url, job);
  way.offsets.length = 0;
  for (const before of ["job", null] as const)
    expect(await brought(made.store, way.url, job, { before })).toMatchObject({ state: "ok" });
  expect(way.offsets).toEqual([]);
});

test("a host that has the version is done without a byte", async () => {
  using made = await release("0.1.0");
  await using host = await upgradableHost(made);
  using way = await between(host.server.url, () => "good");
  expect(await brought(made.store, way.url, made.job())).toMatchObject({ state: "ok" });
  expect(way.offsets).toEqual([]);
});

describe("refused before a byte is sent:", () => {
  test.each([
    [
      "a program of a package",
      { binary: "/usr/bin/svc" },
      "/usr/bin/svc belongs to a package manager: upgrade the",
    ],
    ["one of Homebrew", { binary: "/opt/Cellar/svc" }, "(`brew upgrade`)"],
    ["one of Scoop", { binary: "C:\\Users\\a\\scoop\\apps\\svc.exe" }, "(`scoop update`)"],
    ["what does not run as a service", { isAlone: true }, "does not run as a service"],
    ["what only root may restart", { daemon: { mayRestart: false } }, "only root may start it anew"],
  ])("%s", async (_what, how, message) => {
    using made = await release("0.2.0");
    await using host = await upgradableHost({ ...made, ...how });
    using way = await between(host.server.url, () => "good");
    const { state, result } = await brought(made.store, way.url, made.job());
    expect([state, result.error]).toEqual(["refused", expect.stringContaining(message)]);
    expect(way.offsets).toEqual([]);
  });

  test("a host of another target, and one with a newer version", async () => {
    using other = await release("0.2.0", "linux-arm64");
    using older = await release("0.0.9");
    await using host = await upgradableHost(other);
    const { result } = await brought(other.store, host.server.url, other.job());
    expect(result.error).toBe("the plan has no file for linux-x64, the target of this host");
    const { state, result: second } = await brought(older.store, host.server.url, older.job());
    expect([state, second.error]).toEqual(["refused", "this host has 0.1.0, which is newer than 0.0.9"]);
  });

  test("an svc that knows nothing of it", async () => {
    using made = await release("0.2.0");
    await using host = await testServer({ service: { operations: [] } });
    const { state, result } = await brought(made.store, host.server.url, made.job());
    expect([state, result.error]).toEqual([
      "refused",
      expect.stringContaining("cannot be upgraded by a desk yet"),
    ]);
  });
});

test("a file that another key has signed is refused with the first piece", async () => {
  using made = await release("0.2.0");
  using other = await release("0.2.0");
  await using host = await upgradableHost(other);
  const { state, result } = await brought(made.store, host.server.url, made.job());
  expect([state, result.error]).toEqual([
    "refused",
    expect.stringContaining("the file is signed by the key"),
  ]);
});

test("without admin, a host takes neither a piece nor the job", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost(made);
  const store = tokenStore(configFiles(host.configDir), silentLog);
  const token = await addToken(store, { name: "desk", scope: ["read", "operate"] });
  const few = await brought(made.store, host.server.url, made.job(), {}, token);
  expect([few.state, few.result.error]).toEqual([
    "refused",
    expect.stringContaining("an upgrade needs admin"),
  ]);
  // Nor does the plan of a token without it.
  const limited = made.job({}, { scope: ["operate"] });
  const plan = await brought(made.store, host.server.url, limited);
  expect([plan.state, plan.result.error]).toEqual([
    "refused",
    expect.stringContaining("an upgrade needs admin"),
  ]);
  const { deliver } = createDelivery(noKey);
  const target: Target = {
    ...{ label: "lab-01", host_id: null },
    server: { url: host.server.url, token: TOKEN, trust: { kind: "any" } },
  };
  const options = { signal: new AbortController().signal, client: null, sent() {}, running() {} };
  const { state, result } = await deliver(target, limited, options);
  expect([state, result.error]).toEqual(["failed", expect.stringContaining("an upgrade needs admin")]);
  expect(host.running()).toBe("0.1.0");
});

test("a file that is not on this desk any more fails the host, and says so", async () => {
  using made = await release("0.2.0");
  using empty = temporaryFolder();
  await using host = await upgradableHost(made);
  const { state, result } = await brought(join(empty.path, "gone"), host.server.url, made.job());
  expect([state, result.error]).toEqual(["failed", expect.stringContaining("cannot be read on this desk")]);
});
