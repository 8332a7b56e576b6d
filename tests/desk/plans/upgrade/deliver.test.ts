/** The way of a newer program to a host, through whatever happens to a connection, and what the desk learns of the upgrade. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createDelivery } from "../../../../src/desk/plans/deliver";
import { createUpgradeDelivery, type UpgradeDelivery } from "../../../../src/desk/plans/upgrade/deliver";
import { silentLog } from "../../../../src/lib/log";
import { configFiles } from "../../../../src/lib/paths";
import { addToken, tokenStore } from "../../../../src/trust/named-tokens";
import type { DeliverOptions, Job, Target } from "../../../../src/wire/job/job";
import { rowsOf } from "../../../host/audit/support";
import { TOKEN, temporaryFolder, testServer } from "../../../support";
import { release, upgradableHost } from "./support";

const noKey = () => {
  throw new Error("nothing is signed for a host that has not joined");
};

/** A desk with its files in `folder`. @returns how it brings the job to the host at `url`. */
function desk(folder: string, pauses: Partial<UpgradeDelivery> = {}) {
  const { deliver } = createDelivery(noKey);
  const upgrading = createUpgradeDelivery({
    ...{ deliver, key: noKey, folder },
    ...{ againMs: [1, 1, 1], occupiedMs: 0, lookMs: 1, verdictMs: 10_000, ...pauses },
  });
  return (url: string, job: Job, more: Partial<DeliverOptions> = {}, token = TOKEN) => {
    const target: Target = { label: "lab-01", server: { url, token, trust: { kind: "any" } }, host_id: null };
    const options = { signal: new AbortController().signal, client: null, sent() {}, running() {}, ...more };
    return upgrading(target, job, options);
  };
}

const brought = (folder: string, ...args: Parameters<ReturnType<typeof desk>>) => desk(folder)(...args);

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

test.each(["0.1.0", "0.0.9"])(
  "a host that has %s, or something newer, is done without a byte",
  async (version) => {
    using made = await release(version);
    await using host = await upgradableHost(made);
    using way = await between(host.server.url, () => "good");
    expect(await brought(made.store, way.url, made.job())).toMatchObject({ state: "ok" });
    expect(way.offsets).toEqual([]);
  },
);

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

  test("a host of another target", async () => {
    using other = await release("0.2.0", "linux-arm64");
    await using host = await upgradableHost(other);
    const { result } = await brought(other.store, host.server.url, other.job());
    expect(result.error).toBe("the plan has no file for linux-x64, the target of this host");
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
  expect([state, result.error]).toEqual([
    "failed",
    `svc 0.2.0 for linux-x64 is not on this desk: copy releases/${made.file.sha256} from the configuration folder of the desk that made the plan and repeat it, or make a new plan`,
  ]);
});

describe("a host that answers what no host should", () => {
  /** A server that answers a desk with whatever `status` and `piece` return. */
  function liar(status: () => Response | object, piece: () => Response | object = () => ({})) {
    const asked = { status: 0, pieces: 0 };
    const answer = (made: Response | object) => (made instanceof Response ? made : Response.json(made));
    const server = Bun.serve({
      ...{ port: 0, hostname: "127.0.0.1" },
      async fetch(asking) {
        await asking.text();
        const isStatus = asking.method === "GET";
        asked[isStatus ? "status" : "pieces"]++;
        return answer(isStatus ? status() : piece());
      },
    });
    return { asked, url: `http://127.0.0.1:${server.port}`, [Symbol.dispose]: () => void server.stop(true) };
  }
  const good = { version: "0.1.0", target: "linux-x64", refusal: null, incoming: null, last: null };
  const later = (seconds: number) =>
    Response.json({ error: "too many" }, { status: 429, headers: { "retry-after": `${seconds}` } });
  const sha256 = "0".repeat(64);

  test("does not decide how long the desk waits", async () => {
    using made = await release("0.2.0");
    using host = liar(() => later(1_000_000));
    const { state, result } = await brought(made.store, host.url, made.job());
    expect([state, result.error]).toEqual([
      "offline",
      expect.stringMatching(/^HTTP 429: it wants to be asked/),
    ]);
    expect(host.asked).toEqual({ status: 1, pieces: 0 });
  });

  test.each([
    ["that nothing of a piece came", { sha256, received: 0, complete: false }],
    ["that more came than there is", { sha256, received: 2_000_000, complete: false }],
  ])("and says %s gets it a few times only, and no host waits for it", async (_what, answer) => {
    using made = await release("0.2.0");
    using host = liar(
      () => good,
      () => answer,
    );
    const bring = desk(made.store, { atOnce: 1 });
    expect(await bring(host.url, made.job())).toMatchObject({ state: "offline" });
    expect(host.asked.pieces).toBe(4);
    await using honest = await upgradableHost(made);
    expect(await bring(honest.server.url, made.job())).toMatchObject({ state: "ok" });
  });

  test.each([
    ["no version", { ...good, version: "x" }],
    ["more of the file than there is", { ...good, incoming: { sha256, received: 1.5, complete: false } }],
  ])("and says %s is no svc host", async (_what, answer) => {
    using made = await release("0.2.0");
    using host = liar(() => answer);
    const { state, result } = await brought(made.store, host.url, made.job());
    expect([state, result.error, host.asked.pieces]).toEqual(["refused", "not a svc host", 0]);
  });

  test("has no place for longer than a transfer may take", async () => {
    using made = await release("0.2.0");
    using host = liar(() => good);
    const bring = desk(made.store, { transferMs: -1 });
    const { state, result } = await bring(host.url, made.job());
    expect([state, result.error]).toEqual([
      "offline",
      expect.stringContaining("its file has not come within"),
    ]);
  });

  test("and upgrades for another desk is waited for, and gets nothing that it has meanwhile", async () => {
    using made = await release("0.2.0");
    const last = { id: "another job", from: "0.1.0", to: "0.2.0", ok: null, error: null };
    using host = liar(() => (host.asked.status < 6 ? { ...good, last } : { ...good, version: "0.2.0" }));
    const bring = desk(made.store, { occupiedMs: 10_000 });
    expect(await bring(host.url, made.job())).toMatchObject({ state: "ok" });
    expect(host.asked).toEqual({ status: 6, pieces: 0 });
    using endless = liar(() => ({ ...good, last }));
    const { state, result } = await brought(made.store, endless.url, made.job());
    expect([state, result.error]).toEqual(["refused", "an upgrade to 0.2.0 is under way on this host"]);
  });

  test("is not asked again once the plan is paused", async () => {
    using made = await release("0.2.0");
    using host = liar(
      () => good,
      () => later(0.001),
    );
    const maySend = () => host.asked.pieces < 2;
    expect(await brought(made.store, host.url, made.job(), { maySend })).toMatchObject({ state: "unseen" });
    expect(host.asked).toEqual({ status: 1, pieces: 2 });
  });

  test("and is off is asked once, and takes no place", async () => {
    using made = await release("0.2.0");
    using host = liar(() => new Response(null, { status: 502 }));
    const { promise: held, resolve: free } = Promise.withResolvers<void>();
    const { promise: sending, resolve: begun } = Promise.withResolvers<void>();
    using slow = liar(
      () => good,
      () => {
        begun();
        return new Response(new ReadableStream({ start: (to) => void held.then(() => to.close()) }));
      },
    );
    const bring = desk(made.store, { atOnce: 1 });
    const first = bring(slow.url, made.job());
    await sending;
    expect(await bring(host.url, made.job())).toMatchObject({ state: "offline" });
    expect(host.asked).toEqual({ status: 1, pieces: 0 });
    free();
    await first;
  });
});

test("a host whose file comes for long lets one that waits go on", async () => {
  using made = await release("0.2.0");
  const order: string[] = [];
  await using first = await upgradableHost(made);
  await using second = await upgradableHost(made);
  const way = (url: string, name: string) =>
    between(url, () => {
      order.push(name);
      return "good";
    });
  using one = await way(first.server.url, "first");
  using two = await way(second.server.url, "second");
  const bring = desk(made.store, { atOnce: 1, placeMs: -1 });
  const both = await Promise.all([one, two].map(({ url }) => bring(url, made.job())));
  expect(both).toMatchObject([{ state: "ok" }, { state: "ok" }]);
  // Without it: three of one, and then three of the other.
  expect(new Set(order.slice(0, 3))).toEqual(new Set(["first", "second"]));
});

test("a file that was cut short on this desk fails the host, and says so", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost(made);
  truncateSync(join(made.store, made.file.sha256), 700_000);
  const { state, result } = await brought(made.store, host.server.url, made.job());
  expect([state, result.error]).toEqual(["failed", "the file cannot be read on this desk (it is too short)"]);
});

test("a key that cannot be read keeps no place", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost(made);
  const { deliver } = createDelivery(noKey);
  const upgrading = createUpgradeDelivery({ deliver, key: noKey, folder: made.store, atOnce: 1, lookMs: 1 });
  const server = { url: host.server.url, token: TOKEN, trust: { kind: "any" } } as const;
  const options = { signal: new AbortController().signal, client: null, sent() {}, running() {} };
  const joined = { label: "lab-01", server, host_id: "0".repeat(32) };
  await expect(upgrading(joined, made.job(), options)).rejects.toThrow("nothing is signed");
  expect(await upgrading({ ...joined, host_id: null }, made.job(), options)).toMatchObject({ state: "ok" });
});

test("a host that has to do with another file is waited for", async () => {
  using made = await release("0.2.0");
  using wrong = await release("0.3.0");
  await using host = await upgradableHost({ ...made, ready: ["0.2.0"] });
  // The file of a plan that was cancelled, which another key has signed, so that the desk has to be the one who waits.
  mkdirSync(host.place);
  const part = join(host.place, `${wrong.file.sha256}.part`);
  writeFileSync(part, "");
  let pieces = 0;
  using way = await between(host.server.url, () => {
    // A minute later.
    if (++pieces === 5) utimesSync(part, 0, 0);
    return "good";
  });
  const bring = desk(made.store, { occupiedMs: 10_000 });
  expect(await bring(way.url, made.job())).toMatchObject({ state: "ok" });
});
