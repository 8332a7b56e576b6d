/** The way of a job to a host and back, through whatever happens to a connection. */
import { describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { RemoteError, type Via } from "../../../src/client/carrier";
import { carrierTo } from "../../../src/client/connection";
import { createDelivery } from "../../../src/desk/plans/deliver";
import { createJobRequests } from "../../../src/desk/plans/job-requests";
import { configFiles } from "../../../src/lib/paths";
import { openSigningKey } from "../../../src/trust/identity";
import { writeContent } from "../../../src/wire/job/content";
import type { DeliverOptions, Job, Target, Way } from "../../../src/wire/job/job";
import { at, countingTable, madeUpJob } from "../../host/jobs/support";
import { TOKEN, temporaryFolder, testServer, until } from "../../support";

using folder = temporaryFolder();
const key = openSigningKey(join(folder.path, "desk_key"));
const delivery = () => createDelivery(() => key);

const targetAt = (url: string): Target => ({
  label: "lab-01",
  server: { url, token: TOKEN, trust: { kind: "any" } },
  host_id: null,
});

/** Delivers, and takes note of what it was called with. */
async function brought(target: Target, job: Job, more: Partial<DeliverOptions> = {}, by = delivery()) {
  const ways: Way[] = [];
  let running = 0;
  const options = {
    ...{ signal: new AbortController().signal, client: null, sent: (way: Way) => void ways.push(way) },
    running: () => void running++,
    ...more,
  };
  return { ...(await by.deliver(target, job, options)), ways, running };
}

const hostWith = async () => {
  const table = countingTable();
  return { table, host: await testServer({ service: { operations: table.operations } }) };
};

/**
 * What happens to a request: it arrives and is answered; it arrives and the answer is lost; it does not arrive; nobody answers it; it is answered in place
 * of the host, with a status or a body.
 */
type Fate =
  | "good"
  | "lost"
  | "unheard"
  | "silent"
  | number
  | { readonly body: string }
  | { readonly retryAfter: string };

/** A server in front of `url`. @param fateOf decides what becomes of a request, by its path and whether it has a content. */
async function between(url: string, fateOf: (path: string, body: { readonly content?: string }) => Fate) {
  const asked: string[] = [];
  const server = createServer(async (from, to) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of from) pieces.push(piece as Uint8Array);
    const body = Buffer.concat(pieces).toString();
    const { content } = body === "" ? {} : JSON.parse(body);
    asked.push(`${from.url}${content === undefined ? "" : " with content"}`);
    const fate = fateOf(from.url ?? "", { content });
    if (typeof fate === "number") {
      to.writeHead(fate, { "content-type": "application/json" }).end('{"error":"no"}');
      return;
    }
    if (typeof fate === "object" && "retryAfter" in fate) {
      const head = { "content-type": "application/json", "retry-after": fate.retryAfter };
      to.writeHead(429, head).end('{"error":"rate limited"}');
      return;
    }
    if (typeof fate === "object") {
      to.writeHead(200, { "content-type": "application/json" }).end(fate.body);
      return;
    }
    if (fate === "silent") return;
    if (fate === "unheard") {
      from.socket.destroy();
      return;
    }
    const options = { method: from.method, headers: { ...from.headers, host: new URL(url).host } };
    const asking = request(`${url}${from.url}`, options, async (answer) => {
      const whole: Uint8Array[] = [];
      for await (const piece of answer) whole.push(piece as Uint8Array);
      if (fate === "lost") from.socket.destroy();
      else
        to.writeHead(answer.statusCode ?? 500, { "content-type": "application/json" }).end(
          Buffer.concat(whole),
        );
    });
    asking.on("error", () => to.destroy()).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    asked,
    target: targetAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

test("what a host says is the id of a run is kept short and printable, as the ledger has it for months", async () => {
  const outcome = {
    ...{
      ok: true,
      status: "ok",
      error_text: null,
      by_desk: false,
      result: {},
      outcomes: [],
      results_kept: true,
    },
    run_id: `\u001b[2J${"x".repeat(1_000_000)}`,
  };
  const answerTo = (content: string | undefined) =>
    content === undefined
      ? { id: "x", state: "unseen", records: "r", outcome: null }
      : { id: "x", state: "done", records: "r", outcome };
  using host = await between("http://127.0.0.1:9", (_, { content }) => ({
    body: JSON.stringify(answerTo(content)),
  }));
  const { state, result } = await brought(host.target, madeUpJob());
  expect([state, result.run_id]).toEqual(["ok", `\\x1b[2J${"x".repeat(60)}…`]);
});

test("a job is brought to a host, and its results back", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const { state, result, ways } = await brought(targetAt(host.server.url), madeUpJob());
  expect([state, ways]).toEqual(["ok", ["job"]]);
  expect(result).toMatchObject({
    ...{ label: "lab-01", ok: true, status: "ok", delivered: true, run_id: expect.any(String) },
    result: { 'execute: ["AC_count"]': 1 },
  });
  expect(table.ran()).toBe(1);
});

test("a host that says at once that the job still runs, however long it is to wait, is not asked without a pause", async () => {
  const running = { id: "x", state: "running", records: "r", outcome: null };
  using host = await between("http://127.0.0.1:9", (_, { content }) => {
    const isSent = content !== undefined || host.asked.some((path) => path.endsWith("with content"));
    return { body: JSON.stringify({ ...running, state: isSent ? "running" : "unseen" }) };
  });
  const ending = new AbortController();
  const by = createDelivery(() => key, { firstS: 0, nextS: 0, longS: 20, pauseMs: [100, 200] });
  const bringing = brought(host.target, madeUpJob({ timeout_s: 60 }), { signal: ending.signal }, by);
  await until("it was sent", () => host.asked.length > 1);
  const begun = performance.now();
  await until("it was asked about again", () => host.asked.length > 6);
  // Two questions for each pause, of which none is shorter than half of what it is to be.
  expect(performance.now() - begun).toBeGreaterThan(100);
  ending.abort();
  expect((await bringing).state).toBe("lost");
});

test("a host that wants to be asked again at once is asked again after a second", async () => {
  using host = await between("http://127.0.0.1:9", () => ({ retryAfter: "0.0001" }));
  const ending = new AbortController();
  const bringing = brought(host.target, madeUpJob(), { signal: ending.signal });
  await until("it was asked", () => host.asked.length > 0);
  const begun = performance.now();
  await until("it was asked again", () => host.asked.length > 1);
  expect(performance.now() - begun).toBeGreaterThan(900);
  ending.abort();
  await bringing;
});

test("one that fails says why", async () => {
  await using host = await testServer();
  const job = madeUpJob({ actions: [["AC_fail", { message: "no disk" }]] });
  const { state, result } = await brought(targetAt(host.server.url), job);
  expect(state).toBe("failed");
  expect(result).toMatchObject({ status: "failed", delivered: true, error: "AC_fail: no disk" });
});

test("an answer that is lost is asked for again, and nothing runs twice", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  let lost = 0;
  using way = await between(host.server.url, (_path, { content }) =>
    content && lost++ === 0 ? "lost" : "good",
  );
  expect(await brought(way.target, madeUpJob())).toMatchObject({ state: "ok", ways: ["job"] });
  expect(way.asked).toEqual(["/plans/jobs", "/plans/jobs with content", "/plans/jobs"]);
  expect(table.ran()).toBe(1);
});

test("while every answer is lost it is lost; later the host says what became of it", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  let isBroken = false;
  using way = await between(host.server.url, () => (isBroken ? "lost" : "good"));
  const job = madeUpJob();
  const by = delivery();
  const sent = () => {
    isBroken = true;
  };
  expect(await brought(way.target, job, { sent }, by)).toMatchObject({
    state: "lost",
    result: { ok: false, delivered: true, error: expect.stringContaining("it may have run") },
  });
  isBroken = false;
  // Another process, after a restart.
  expect(await brought(way.target, job, { before: "job" })).toMatchObject({ state: "ok", ways: [] });
  expect(table.ran()).toBe(1);
}, 60_000);

test("a job that was sent before and never arrived runs, unless it has expired meanwhile", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const target = targetAt(host.server.url);
  expect(await brought(target, madeUpJob(), { before: "job" })).toMatchObject({ state: "ok" });
  const late = madeUpJob({}, { not_before: at(-60_000), expires: at(-1) });
  expect(await brought(target, late, { before: "job" })).toMatchObject({
    state: "expired",
    result: { delivered: false },
  });
  expect(table.ran()).toBe(1);
});

test("a job that may not be sent is asked for, and does not begin", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const target = targetAt(host.server.url);
  const job = madeUpJob();
  const maySend = () => false;
  expect(await brought(target, job, { before: "job", maySend })).toMatchObject({ state: "unseen" });
  expect(await brought(target, job, { maySend })).toMatchObject({ state: "unseen", ways: ["job"] });
  expect(table.ran()).toBe(0);
  expect(await brought(target, job, { before: "job" })).toMatchObject({ state: "ok" });
});

test("a job that has expired is not sent", async () => {
  let asked = 0;
  using way = await between("http://127.0.0.1:1", () => 404 + 0 * asked++);
  const late = madeUpJob({}, { not_before: at(-60_000), expires: at(-1) });
  expect(await brought(way.target, late)).toMatchObject({
    state: "expired",
    ways: [],
    result: { delivered: false },
  });
  expect(asked).toBe(0);
});

describe("nothing is sent", () => {
  test("to a host that is not there", async () => {
    const { state, result, ways } = await brought(targetAt("http://127.0.0.1:1"), madeUpJob());
    expect([state, ways]).toEqual(["offline", []]);
    expect(result).toMatchObject({ status: "unreachable", delivered: false, error: "connection refused" });
  });

  test("to a host that takes connections and says nothing, within the time to deliver", async () => {
    using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const target = targetAt(`http://127.0.0.1:${silent.port}`);
    const { state, result, ways } = await brought(target, { ...madeUpJob(), delivery_timeout_s: 0.2 });
    expect([state, result.error, ways]).toEqual(["offline", "timeout after 0.2 s", []]);
  });

  test("with a token that the host refuses", async () => {
    await using host = await testServer();
    const target = targetAt(host.server.url);
    const odd = { ...target, server: { ...target.server, token: "wrong" } };
    expect(await brought(odd, madeUpJob())).toMatchObject({
      ...{ state: "refused", ways: [] },
      result: { status: "unauthorized", delivered: false },
    });
  });

  test("where it cannot be put on record", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    const sent = () => Promise.reject(new Error("the disk is full"));
    const refused = brought(targetAt(host.server.url), madeUpJob(), { sent });
    expect(refused).rejects.toThrow("the disk is full");
    await refused.catch(() => {});
    expect(table.ran()).toBe(0);
  });
});

test("what a host refuses has run nothing; what is too much for it now may come again", async () => {
  await using host = await testServer();
  const wrong = await brought(targetAt(host.server.url), madeUpJob({ actions: [["AC_nonsense"]] }));
  expect(wrong).toMatchObject({
    state: "refused",
    result: { delivered: false, error: expect.stringContaining("AC_nonsense") },
  });
  for (const status of [429, 503]) {
    using way = await between(host.server.url, (_path, { content }) => (content ? status : "good"));
    expect(await brought(way.target, madeUpJob())).toMatchObject({
      state: "offline",
      result: { delivered: false },
    });
  }
});

test("a host that has too much to do is asked again when it says, within the time to deliver", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  let refusals = 0;
  using way = await between(host.server.url, (_path, { content }) =>
    content && refusals++ < 1 ? { retryAfter: "1" } : "good",
  );
  expect(await brought(way.target, madeUpJob())).toMatchObject({ state: "ok", ways: ["job"] });
  expect(refusals).toBe(2);
  using busy = await between(host.server.url, () => ({ retryAfter: "60" }));
  const error = "HTTP 429: rate limited";
  expect(await brought(busy.target, madeUpJob())).toMatchObject({ state: "offline", result: { error } });
  expect(busy.asked).toHaveLength(1);
  expect(table.ran()).toBe(1);
});

test("a long job is waited for with connections that are short, also by many at once", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  using way = await between(host.server.url, () => "good");
  const by = createDelivery(() => key, { firstS: 0, nextS: 0, longS: 0.05, most: 1, pauseMs: [1, 1] });
  const ended = Promise.all(
    Array.from({ length: 8 }, () => brought(way.target, madeUpJob({ actions: [["AC_hold"]] }), {}, by)),
  );
  await until("some questions", () => way.asked.length > 60);
  table.letGo();
  for (const one of await ended) expect(one).toMatchObject({ state: "ok", running: 1 });
  expect(way.asked.filter((path) => path.endsWith("content"))).toHaveLength(8);
  expect(table.ran()).toBe(8);
});

test("a host whose job runs is waited for, whatever those at another NATS server hold", async () => {
  let waits = 0;
  /** To a host that runs what it gets, and answers nothing to a question that waits. */
  const toHost = (): Via => {
    let hasIt = false;
    return async (_url, signal) => ({
      async ask({ body = "" }) {
        const { content, wait_s } = JSON.parse(body);
        if (wait_s === 20) {
          waits++;
          return new Promise((_resolve, reject) => {
            const leave = () => reject(new RemoteError("cancelled", "cancelled", true));
            signal?.addEventListener("abort", leave);
          });
        }
        hasIt ||= content !== undefined;
        const answer = { id: "any", state: hasIt ? "running" : "unseen", outcome: null };
        return { status: 200, body: Buffer.from(JSON.stringify(answer)) };
      },
      open: () => Promise.reject(new Error("not asked")),
      pin: () => undefined,
      [Symbol.dispose]() {},
    });
  };
  const leaving = new AbortController();
  const by = createDelivery(() => key, { firstS: 0, nextS: 0, most: 1, pauseMs: [3_600_000, 3_600_000] });
  const ended = [];
  for (const url of ["nats:eu/U", "nats:us/U"]) {
    const before = waits;
    const { server, ...about } = targetAt(url);
    const target = { ...about, server: { ...server, via: toHost() } };
    ended.push(brought(target, madeUpJob(), { signal: leaving.signal }, by));
    await until("a question that waits", () => waits > before);
  }
  leaving.abort();
  for (const one of ended) expect(await one).toMatchObject({ state: "lost" });
});

test("a job that is asked about seldom is asked about once its time limit is over", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const pauseMs = [3_600_000, 3_600_000] as const;
  const by = createDelivery(() => key, { firstS: 0, nextS: 0, most: 0, pauseMs });
  const job = madeUpJob({ actions: [["AC_hold"]] }, { timeout_s: 0.1 });
  const idle = () => table.letGo();
  expect(await brought(targetAt(host.server.url), job, { idle }, by)).toMatchObject({ state: "ok" });
});

test("a job that is long overdue is asked about before its host is given up", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const target = targetAt(host.server.url);
  const job = madeUpJob({ actions: [["AC_hold"]] });
  const begun = brought(target, job);
  await table.reached;
  const running = () => table.letGo();
  const overdue = { ...job, timeout_s: -61 };
  expect(await brought(target, overdue, { before: "job", running })).toMatchObject({ state: "ok" });
  expect(await begun).toMatchObject({ state: "ok" });
});

test("a host that has begun a job is known to, before the answer waits for its end", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const job = madeUpJob({ actions: [["AC_hold"]] });
  const order: string[] = [];
  const running = () => {
    order.push("running");
    table.letGo();
  };
  const idle = () => void order.push("idle");
  expect(await brought(targetAt(host.server.url), job, { running, idle })).toMatchObject({ state: "ok" });
  expect(order).toEqual(["running"]);
});

test("a job that its desk cancels while it runs is cancelled, as is one that arrives later", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const target = targetAt(host.server.url);
  const by = createDelivery(() => key, { firstS: 0 });
  const job = madeUpJob({ actions: [["AC_hold"]] });
  const ended = brought(target, job, {}, by);
  await table.reached;
  const options = { signal: new AbortController().signal, client: null };
  expect(await by.cancel(target, job, options)).toBe(true);
  expect(await ended).toMatchObject({ state: "cancelled", result: { delivered: true, status: "cancelled" } });
  const next = madeUpJob();
  expect(await by.cancel(target, next, options)).toBe(true);
  expect(await brought(target, next)).toMatchObject({ state: "cancelled", result: { delivered: false } });
  expect(await by.cancel(targetAt("http://127.0.0.1:1"), job, options)).toBe(false);
  expect(table.ran()).toBe(1);
});

test("who stops waiting cancels nothing on the host", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const leaving = new AbortController();
  const job = madeUpJob({ actions: [["AC_hold"]] });
  const ended = brought(targetAt(host.server.url), job, { signal: leaving.signal });
  await table.reached;
  leaving.abort();
  expect(await ended).toMatchObject({ state: "lost" });
  table.letGo();
  expect(await brought(targetAt(host.server.url), job, { before: "job" })).toMatchObject({ state: "ok" });
  expect(table.ran()).toBe(1);
});

test("who stops waiting between two questions learns that the answer is lost", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const leaving = new AbortController();
  const lose = () => {
    setImmediate(() => leaving.abort());
    return "lost" as const;
  };
  using way = await between(host.server.url, (_path, { content }) => (content ? lose() : "good"));
  expect(await brought(way.target, madeUpJob(), { signal: leaving.signal })).toMatchObject({ state: "lost" });
  const by = createDelivery(() => key, { firstS: 0, nextS: 0, most: 0, pauseMs: [60_000, 60_000] });
  const next = new AbortController();
  const job = madeUpJob({ actions: [["AC_hold"]] });
  const running = () => void setImmediate(() => next.abort());
  expect(await brought(targetAt(host.server.url), job, { signal: next.signal, running }, by)).toMatchObject({
    state: "lost",
  });
  expect(table.ran()).toBe(2);
  // Else the host would wait for its run as it stops.
  table.letGo();
});

describe("that nothing of a job ran is not believed of a host", () => {
  const answering = (answer: object) => ({ body: JSON.stringify({ id: "any", outcome: null, ...answer }) });

  test.each(["unseen", "expired", "cancelled", "forgotten"])(
    "that has said that it runs: %s",
    async (state) => {
      using way = await between("http://127.0.0.1:1", () => answering({ state, records: "same" }));
      const known = { before: "job", hasBegun: true, records: "same" } as const;
      expect(await brought(way.target, madeUpJob(), known)).toMatchObject({
        state: "unknown",
        result: { delivered: true, error: expect.stringContaining("it may have run") },
      });
      expect(way.asked).toEqual(["/plans/jobs"]);
    },
  );

  test.each(["unseen", "expired", "cancelled"])("whose records are others than before: %s", async (state) => {
    using way = await between("http://127.0.0.1:1", () => answering({ state, records: "others" }));
    const known = { before: "job", records: "first" } as const;
    expect(await brought(way.target, madeUpJob(), known)).toMatchObject({ state: "unknown" });
    expect(way.asked).toEqual(["/plans/jobs"]);
  });

  test("that forgot it since it was sent", async () => {
    using way = await between("http://127.0.0.1:1", (_path, { content }) =>
      content ? "unheard" : answering({ state: way?.asked.length === 1 ? "unseen" : "forgotten" }),
    );
    expect(await brought(way.target, madeUpJob())).toMatchObject({ state: "unknown", ways: ["job"] });
  });
});

test("a host that lost its records in the middle of a job does not get it again", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const target = targetAt(host.server.url);
  const job = madeUpJob();
  const by = delivery();
  const had: Array<string | null | undefined> = [];
  const sent = (_way: Way, records?: string | null) => void had.push(records);
  expect(await brought(target, job, { sent }, by)).toMatchObject({ state: "ok" });
  await host.service.stop();
  rmSync(configFiles(host.configDir).seenJobs);
  const next = countingTable();
  const { createService } = await import("../../../src/service/service");
  const service = createService({ configDir: host.configDir, operations: next.operations });
  const server = await (await service.rest()).start({ port: 0, token: TOKEN });
  const again = { ...target, server: { ...target.server, url: server.url } };
  // The desk was killed before it heard that the job runs.
  expect(await brought(again, job, { before: "job", records: had[0] ?? null }, by)).toMatchObject({
    state: "unknown",
  });
  // What was sent for the records before comes late: nobody knows whether it has run.
  const late = createJobRequests(() => key);
  const asking = { ...late.sealed(job, "execute", again), wait_s: 0 };
  const options = { signal: new AbortController().signal, client: null };
  const { content } = job;
  expect(await late.ask(again, asking, job, options, { content, records: `${had[0]}` })).toMatchObject({
    state: "unseen",
  });
  expect([table.ran(), next.ran()]).toEqual([1, 0]);
  // Another job is sent for the records that it has now.
  expect(await brought(again, madeUpJob(), {}, by)).toMatchObject({ state: "ok" });
  await service.stop();
});

test("a host that has got other records since the desk asked takes a job for these", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const first = JSON.stringify({ id: "any", state: "unseen", records: "first", outcome: null });
  let asked = 0;
  using way = await between(host.server.url, () => (asked++ === 0 ? { body: first } : "good"));
  const noted: unknown[] = [];
  const sent = (_way: Way, records?: string | null) => void noted.push(records);
  expect(await brought(way.target, madeUpJob(), { sent })).toMatchObject({ state: "ok" });
  expect(noted).toEqual(["first", expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  expect(table.ran()).toBe(1);
});

test("a host that says its records when it connects gets its first job for these, and is not asked before", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  using way = await between(host.server.url, () => "good");
  const { server } = way.target;
  const via: Via = (_url, signal, client) => carrierTo(server, signal, client);
  const linked = { ...way.target, server: { ...server, url: "link:host", via } };
  const noted: unknown[] = [];
  const sent = (_way: Way, records?: string | null) => void noted.push(records);
  const bring = (target: Target) => brought(target, madeUpJob(), { sent });
  const records = (await host.service.planJobs()).records();
  expect(await bring({ ...linked, records })).toMatchObject({ state: "ok" });
  expect(way.asked.splice(0)).toEqual(["/plans/jobs with content"]);
  // One that has started anew since, and whose word is on its way.
  expect(await bring({ ...linked, records: "others" })).toMatchObject({ state: "ok" });
  expect(way.asked.splice(0)).toEqual(["/plans/jobs with content", "/plans/jobs with content"]);
  expect(noted).toEqual([records, "others", records]);
  expect(table.ran()).toBe(2);
});

test("a host that says no records when it connects is asked before its first job, as one that the desk dials", async () => {
  const { host } = await hostWith();
  await using _ = host;
  using way = await between(host.server.url, () => "good");
  const { server } = way.target;
  const via: Via = (_url, signal, client) => carrierTo(server, signal, client);
  const target = { ...way.target, server: { ...server, url: "link:host", via } };
  const by = delivery();
  for (let nth = 0; nth < 2; nth++)
    expect(await brought(target, madeUpJob(), {}, by)).toMatchObject({ state: "ok" });
  expect(way.asked).toEqual(["/plans/jobs", "/plans/jobs with content", "/plans/jobs with content"]);
});

test("a host that dials and loses its records before its first answer does not get the job again", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  const fresh = await hostWith();
  await using _fresh = fresh.host;
  const records = (await host.service.planJobs()).records();
  using before = await between(host.server.url, () => "lost");
  using since = await between(fresh.host.server.url, () => "good");
  let isLost = false;
  const via: Via = (_url, signal, client) => {
    const { server } = (isLost ? since : before).target;
    isLost = true;
    return carrierTo(server, signal, client);
  };
  const target = { ...before.target, server: { ...before.target.server, url: "link:host", via }, records };
  expect(await brought(target, madeUpJob())).toMatchObject({ state: "unknown" });
  expect([table.ran(), fresh.table.ran()]).toEqual([1, 0]);
});

test("a job that a host refuses while an earlier request may be on its way is barred there first", async () => {
  const { table, host } = await hostWith();
  await using _ = host;
  let times = 0;
  using way = await between(host.server.url, (_path, { content }) => {
    if (!content) return "good";
    return times++ === 0 ? "unheard" : 409;
  });
  const job = madeUpJob();
  expect(await brought(way.target, job)).toMatchObject({ state: "refused" });
  expect(way.asked.at(-1)).toBe("/plans/jobs/cancel");
  // The first request, late.
  expect(await brought(targetAt(host.server.url), job)).toMatchObject({
    state: "cancelled",
    result: { delivered: false },
  });
  expect(table.ran()).toBe(0);
});

test.each([
  ["a host of today says", { state: "interrupted" }],
  ["a host of an earlier build says that it is done", { state: "done" }],
])("a run that was cut off by something else than the desk is interrupted: %s", async (_what, answer) => {
  const outcome = {
    ...{ run_id: "run", ok: false, status: "cancelled", error_text: "the process that runs it is stopping" },
    ...{ by_desk: false, result: {}, outcomes: [], results_kept: false },
  };
  const body = JSON.stringify({ id: "any", ...answer, outcome });
  using way = await between("http://127.0.0.1:1", () => ({ body }));
  expect(await brought(way.target, madeUpJob(), { before: "job" })).toMatchObject({
    state: "interrupted",
    result: { status: "failed", error: expect.stringContaining("the process that runs it is stopping") },
  });
});

describe("a host that knows no jobs", () => {
  const old = (path: string): Fate => (path === "/plans/jobs" ? 404 : "good");

  test("runs what it is sent", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    using way = await between(host.server.url, old);
    expect(await brought(way.target, madeUpJob())).toMatchObject({
      ...{ state: "ok", ways: ["execute"] },
      result: { ok: true, delivered: true, result: { 'execute: ["AC_count"]': 1 } },
    });
    expect(way.asked).toEqual(["/plans/jobs", "/commands", "/execute"]);
    expect(table.ran()).toBe(1);
  });

  test("is not asked again: an answer that is lost is unknown", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    using way = await between(host.server.url, (path) => (path === "/execute" ? "lost" : old(path)));
    const job = madeUpJob();
    expect(await brought(way.target, job)).toMatchObject({
      ...{ state: "unknown", ways: ["execute"] },
      result: { ok: false, delivered: true },
    });
    expect(await brought(way.target, job, { before: "execute" })).toMatchObject({
      state: "unknown",
      ways: [],
    });
    expect(way.asked).toHaveLength(3);
    expect(table.ran()).toBe(1);
  });

  test("gets no job with files, nor one that may have been sent to it as a job", async () => {
    await using host = await testServer();
    using way = await between(host.server.url, old);
    const travelling = { name: "main.json", files: new Map([["a.png", new Uint8Array([1])]]) };
    expect(await brought(way.target, madeUpJob({ travelling }))).toMatchObject({
      state: "refused",
      ways: [],
    });
    expect(await brought(way.target, madeUpJob(), { before: "job" })).toMatchObject({
      state: "unknown",
      ways: [],
    });
    expect(way.asked).toEqual(["/plans/jobs", "/plans/jobs"]);
  });

  test("that does not say in time which commands it has gets nothing", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    using way = await between(host.server.url, (path) => (path === "/commands" ? "silent" : old(path)));
    expect(await brought(way.target, { ...madeUpJob(), delivery_timeout_s: 1 })).toMatchObject({
      ...{ state: "offline", ways: [] },
      result: { status: "unreachable", delivered: false },
    });
    expect(table.ran()).toBe(0);
  });

  test.each([
    ["while it is asked which commands it has", []],
    ["while that is put on record", ["execute"]],
  ] as const)("gets nothing where its plan is paused %s", async (_when, expected) => {
    const { table, host } = await hostWith();
    await using _ = host;
    let isPaused = false;
    using way = await between(host.server.url, (path) => {
      isPaused ||= path === "/commands" && expected.length === 0;
      return old(path);
    });
    const ways: Way[] = [];
    const sent = (one: Way) => {
      ways.push(one);
      isPaused = true;
    };
    expect(await brought(way.target, madeUpJob(), { sent, maySend: () => !isPaused })).toMatchObject({
      ...{ state: "unseen", result: { delivered: false } },
    });
    expect(ways).toEqual([...expected]);
    expect(way.asked).not.toContain("/execute");
    expect(table.ran()).toBe(0);
  });

  test("that lacks a command runs nothing", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    using way = await between(host.server.url, old);
    const job = madeUpJob({ commands: ["AC_count", "AC_newer"] });
    expect(await brought(way.target, job)).toMatchObject({
      state: "failed",
      ways: [],
      result: { error: "the host has no AC_newer" },
    });
    expect(table.ran()).toBe(0);
  });
});

describe("a list that a host may get by /execute", () => {
  test.each([400, 403, 409, 413, 429, 503])("runs once where it answers a job with %d", async (status) => {
    const { table, host } = await hostWith();
    await using _ = host;
    using way = await between(host.server.url, (_path, { content }) => (content ? status : "good"));
    expect(await brought(way.target, madeUpJob(), { orExecute: true })).toMatchObject({
      ...{ state: "ok", result: { status: "ok", delivered: true, result: { 'execute: ["AC_count"]': 1 } } },
    });
    expect(way.asked.slice(-2)).toEqual(["/commands", "/execute"]);
    expect(table.ran()).toBe(1);
  });

  test.each([403, 409])(
    "so it does where it answers a question with %d; a plan is refused",
    async (status) => {
      const { table, host } = await hostWith();
      await using _ = host;
      using way = await between(host.server.url, (path) => (path === "/plans/jobs" ? status : "good"));
      expect(await brought(way.target, madeUpJob())).toMatchObject({ state: "refused" });
      expect(table.ran()).toBe(0);
      const { state, ways } = await brought(way.target, madeUpJob(), { orExecute: true });
      expect([state, ways]).toEqual(["ok", ["execute"]]);
      expect(table.ran()).toBe(1);
    },
  );

  test("so it does where it has expired by the clock of the host alone", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    const body = JSON.stringify({ id: "any", state: "expired", records: "any", outcome: null });
    using way = await between(host.server.url, (path) => (path === "/plans/jobs" ? { body } : "good"));
    expect(await brought(way.target, madeUpJob())).toMatchObject({ state: "expired" });
    const by = delivery();
    const first = await brought(way.target, madeUpJob(), { orExecute: true }, by);
    expect([first.state, first.ways]).toEqual(["ok", ["execute"]]);
    // From then on, it is known to take jobs, and gets each at once.
    const next = await brought(way.target, madeUpJob(), { orExecute: true }, by);
    expect([next.state, next.ways]).toEqual(["ok", ["job", "execute"]]);
    expect(table.ran()).toBe(2);
  });

  test("so it does where the list is larger than a job may be", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    const actions = [["AC_count"], ["AC_set_var", { name: "a", value: "x".repeat(920_000) }]];
    const parts = { actions, commands: [], stop_on_error: false, timeout_s: 60, scope: null };
    const large = writeContent(parts, Number.POSITIVE_INFINITY);
    using way = await between(host.server.url, () => "good");
    expect(await brought(way.target, madeUpJob({}, large), { orExecute: true })).toMatchObject({
      state: "ok",
      ways: ["execute"],
    });
    expect(way.asked).toEqual(["/commands", "/execute"]);
    expect(table.ran()).toBe(1);
  });

  test("is not sent so by an answer with more values than any needs", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    const body = `[${"0,".repeat(300_000)}0]`;
    using way = await between(host.server.url, (path) => (path === "/plans/jobs" ? { body } : "good"));
    const { result, ways } = await brought(way.target, madeUpJob(), { orExecute: true });
    expect([result.error, ways]).toEqual([expect.stringContaining("more than 100000 values"), []]);
    expect(table.ran()).toBe(0);
  });

  test("is not sent so where it may have come as a job, nor once it may not be sent", async () => {
    const { table, host } = await hostWith();
    await using _ = host;
    let times = 0;
    using way = await between(host.server.url, (_path, { content }) => {
      if (!content) return "good";
      return times++ === 0 ? "unheard" : 409;
    });
    expect(await brought(way.target, madeUpJob(), { orExecute: true })).toMatchObject({ state: "refused" });
    expect(way.asked).not.toContain("/execute");
    using refusing = await between(host.server.url, (path) => (path === "/plans/jobs" ? 403 : "good"));
    const options = { orExecute: true, maySend: () => false };
    expect(await brought(refusing.target, madeUpJob(), options)).toMatchObject({ state: "unseen" });
    expect(table.ran()).toBe(0);
  });
});
