/** Webhooks: what is posted, to whom, and what becomes of it when the receiver is not there. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import addFormats from "ajv-formats";
import { type CloudEvent, HTTP } from "cloudevents";
import { Webhook } from "standardwebhooks";
import * as v from "valibot";
import { requestText } from "../../../src/client/connection";
import { openLine } from "../../../src/client/line";
import { eventType } from "../../../src/core/events";
import { createBus } from "../../../src/events/bus";
import { createHistory } from "../../../src/host/runs/history";
import { isPublic } from "../../../src/host/webhooks/addresses";
import { bodyOf } from "../../../src/host/webhooks/forms";
import { receiverUrl } from "../../../src/host/webhooks/hooks";
import { openQueue } from "../../../src/host/webhooks/queue";
import { deliver, retryAfter } from "../../../src/host/webhooks/send";
import { createWebhooks } from "../../../src/host/webhooks/webhooks";
import { type Log, silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { createService } from "../../../src/service/service";
import { addToken, removeToken, tokenStore } from "../../../src/trust/named-tokens";
import { movableClocks, post, temporaryFolder, testServer, until } from "../../support";

const rang = eventType({
  name: "bell.rang",
  summary: "A bell rang",
  scope: "read",
  data: v.object({ nth: v.number() }),
});
const cracked = eventType({ ...rang, name: "bell.cracked" });

interface Received {
  readonly body: string;
  readonly headers: Record<string, string>;
}

/** A receiver that answers with what `answer` says, or 204. */
function receiver(answer: (nth: number) => Response | undefined = () => undefined) {
  const received: Received[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      received.push({ body: await request.text(), headers: Object.fromEntries(request.headers) });
      return answer(received.length) ?? new Response(null, { status: 204 });
    },
  });
  return {
    received,
    url: `http://127.0.0.1:${server.port}/hook`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** Webhooks of a bus, in `folder`. Deliveries that fail are tried again at once. */
function made(
  folder: { readonly path: string },
  { pause = () => 1, log = silentLog }: { pause?: () => number; log?: Log } = {},
) {
  const bus = createBus(silentLog);
  const types = [rang, cracked];
  const webhooks = createWebhooks({
    ...{ files: configFiles(folder.path), log, events: bus, delivers: () => true, pause },
    source: () => "urn:svc:host:0123",
    namesOf: async (asked) => new Set(asked.length ? asked : types.map(({ name }) => name)),
  });
  return { bus, webhooks, [Symbol.asyncDispose]: () => webhooks.stop() };
}

describe("as CloudEvents", () => {
  const schema = JSON.parse(
    readFileSync(join(import.meta.dir, "../../fixtures/cloudevents.schema.json"), "utf8"),
  );

  test("an event is posted in structured mode: the published schema and the SDK take it, and it is signed", async () => {
    using folder = temporaryFolder();
    await using to = receiver();
    await using here = made(folder);
    const { secret } = await here.webhooks.hooks.add({ ...hookAt(to.url), format: "cloudevents" });
    here.webhooks.start();
    here.bus.publish(rang, { nth: 1 });
    await until("the delivery", () => to.received.length === 1);
    const [{ body, headers } = { body: "", headers: {} as Record<string, string> }] = to.received;
    expect(headers["content-type"]).toBe("application/cloudevents+json; charset=utf-8");
    expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
    const ajv = new Ajv({ strict: false });
    addFormats(ajv);
    expect([ajv.validate(schema, JSON.parse(body)), ajv.errors]).toEqual([true, null]);
    const event = HTTP.toEvent({ headers, body }) as CloudEvent<unknown>;
    expect(event.validate()).toBe(true);
    expect(event).toMatchObject({
      ...{ specversion: "1.0", id: headers["webhook-id"], source: "urn:svc:host:0123", type: "bell.rang" },
      ...{ time: expect.stringMatching(/^\d{4}-.*Z$/), datacontenttype: "application/json" },
      data: { nth: 1, at: event.time },
    });
  });

  test("an event names what it is about, and a test is one as well", async () => {
    using folder = temporaryFolder();
    await using to = receiver();
    await using here = made(folder);
    const hook = await here.webhooks.hooks.add({ ...hookAt(to.url), format: "cloudevents" });
    expect(await here.webhooks.test(hook, new AbortController().signal)).toMatchObject({ ok: true });
    expect(JSON.parse(to.received[0]?.body ?? "")).toMatchObject({
      type: "webhook.test",
      specversion: "1.0",
    });
    const posted = {
      id: "x-1",
      type: "run.ended",
      at: "2026-01-01T00:00:00.000Z",
      text: '{"run_id":"9f1c"}',
    };
    expect(JSON.parse(bodyOf("cloudevents", posted, "urn:svc:host:1"))).toMatchObject({ subject: "9f1c" });
  });

  test("a webhook of an earlier svc has the form that it had", async () => {
    using folder = temporaryFolder();
    await using here = made(folder);
    const { format: _, ...hook } = await here.webhooks.hooks.add(hookAt("http://127.0.0.1:1/"));
    writeFileSync(configFiles(folder.path).webhooks, JSON.stringify({ webhooks: [hook] }));
    expect(here.webhooks.hooks.get("here").format).toBe("standard");
  });
});

const hookAt = (url: string, more: { name?: string; types?: string[] } = {}) => ({
  ...{ name: "here", url, types: [], allow_private: true, token: null },
  ...more,
});

describe("while webhooks.json is broken", () => {
  test("what waits and what happens is kept, and delivered once the file is restored", async () => {
    using folder = temporaryFolder();
    let isUp = false;
    await using to = receiver(() => (isUp ? undefined : new Response(null, { status: 503 })));
    const errors: string[] = [];
    const log = { ...silentLog, error: (text: string) => void errors.push(text) };
    await using here = made(folder, { log, pause: () => 20 });
    await here.webhooks.hooks.add(hookAt(to.url));
    here.webhooks.start();
    here.bus.publish(rang, { nth: 1 });
    await until("the first attempt", () => to.received.length > 0);
    const file = configFiles(folder.path).webhooks;
    const whole = readFileSync(file, "utf8");
    writeFileSync(file, whole.slice(0, -9));
    here.bus.publish(rang, { nth: 2 });
    await until("the fault is logged", () => errors.some((text) => text.includes("events wait")));
    writeFileSync(file, whole);
    await until("both wait", () => here.webhooks.stateOf("here").waiting === 2);
    errors.length = 0;
    // What is wrong is the entry of the webhook alone.
    writeFileSync(file, whole.replace("whsec_", ""));
    await until("the fault is logged", () => errors.some((text) => text.includes("cannot be used")));
    expect(here.webhooks.stateOf("here").waiting).toBe(2);
    isUp = true;
    const before = to.received.length;
    writeFileSync(file, whole);
    const nths = () => new Set(to.received.slice(before).map(({ body }) => JSON.parse(body).data.nth));
    await until("both are delivered", () => nths().has(1) && nths().has(2));
    await until("nothing waits", () => here.webhooks.stateOf("here").waiting === 0);
  });
});

test("an event that could not be put into the queue waits, and is delivered once it can be", async () => {
  using folder = temporaryFolder();
  await using to = receiver();
  const errors: string[] = [];
  const log = { ...silentLog, error: (text: string) => void errors.push(text) };
  await using here = made(folder, { log, pause: () => 20 });
  await here.webhooks.hooks.add(hookAt(to.url));
  here.webhooks.start();
  // As a full disk does.
  const file = configFiles(folder.path).webhookQueue;
  mkdirSync(file);
  here.bus.publish(rang, { nth: 1 });
  await until("the fault is logged", () => errors.some((text) => text.includes("events wait")));
  rmdirSync(file);
  await until("the delivery", () => to.received.length === 1);
  here.bus.publish(rang, { nth: 2 });
  await until("the next one", () => to.received.length === 2);
  expect(to.received.map(({ body }) => JSON.parse(body).data.nth)).toEqual([1, 2]);
});

describe("a delivery", () => {
  test("is one that the library of Standard Webhooks verifies, with the id and the time of the event", async () => {
    using folder = temporaryFolder();
    await using to = receiver();
    await using here = made(folder);
    const { secret } = await here.webhooks.hooks.add(hookAt(to.url));
    here.webhooks.start();
    here.bus.publish(rang, { nth: 1 });
    const { body, headers } = await until("the delivery", () => to.received[0]);
    const payload = new Webhook(secret).verify(body, headers) as { timestamp: string };
    expect(payload).toMatchObject({ type: "bell.rang", data: { nth: 1, at: payload.timestamp } });
    expect(headers["webhook-id"]).toBe(`${here.bus.boot}-1`);
    expect(() => new Webhook(secret).verify(body.replace("1", "2"), headers)).toThrow();
  });

  test("is made of the types that the webhook asks for, and goes to each webhook", async () => {
    using folder = temporaryFolder();
    await using to = receiver();
    await using here = made(folder);
    await here.webhooks.hooks.add(hookAt(`${to.url}/all`));
    await here.webhooks.hooks.add(hookAt(`${to.url}/some`, { name: "some", types: ["bell.cracked"] }));
    here.webhooks.start();
    here.bus.publish(rang, { nth: 1 });
    here.bus.publish(cracked, { nth: 2 });
    await until("three deliveries", () => to.received.length === 3);
    await until("all are noted", () => here.webhooks.stateOf("here").delivered === 2);
    expect(here.webhooks.stateOf("some")).toMatchObject({
      waiting: 0,
      delivered: 1,
      last_type: "bell.cracked",
    });
  });

  test("is made again, with the same id, until the receiver takes it; each is in the log", async () => {
    using folder = temporaryFolder();
    await using to = receiver((nth) => (nth < 3 ? new Response("no", { status: 500 }) : undefined));
    const lines: string[] = [];
    const line = (text: string) => void lines.push(text);
    await using here = made(folder, { log: { ...silentLog, info: line, warn: line } });
    await here.webhooks.hooks.add(hookAt(to.url));
    here.webhooks.start();
    here.bus.publish(rang, { nth: 1 });
    await until("it is taken", () => here.webhooks.stateOf("here").delivered === 1);
    expect(new Set(to.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(
      lines.map((text) => text.replace(/^(webhook here: bell.rang) \S+/, "$1").replace(/\d+ m?s/, "N")),
    ).toEqual([
      "webhook here: bell.rang not delivered (HTTP 500), again in N",
      "webhook here: bell.rang not delivered (HTTP 500), again in N",
      "webhook here: bell.rang delivered (HTTP 204, N)",
    ]);
  });

  test("that waits survives the end of svc", async () => {
    using folder = temporaryFolder();
    await using to = receiver((nth) => (nth === 1 ? new Response(null, { status: 503 }) : undefined));
    let id: string;
    {
      await using first = made(folder, { pause: () => 100 });
      await first.webhooks.hooks.add(hookAt(to.url));
      first.webhooks.start();
      first.bus.publish(rang, { nth: 1 });
      await until("an attempt", () => first.webhooks.stateOf("here").last_status === 503);
      id = `${first.bus.boot}-1`;
    }
    await using second = made(folder);
    second.webhooks.start();
    await until("the delivery", () => second.webhooks.stateOf("here").delivered === 1);
    expect(to.received[1]?.headers["webhook-id"]).toBe(id);
  });

  test("waits as long as the receiver asks, and is given up after a day", async () => {
    using folder = temporaryFolder();
    await using to = receiver(() => new Response(null, { status: 429, headers: { "retry-after": "600" } }));
    await using here = made(folder);
    await here.webhooks.hooks.add(hookAt(to.url));
    here.webhooks.start();
    here.bus.publish(rang, { nth: 1 });
    await until("an attempt", () => here.webhooks.stateOf("here").last_status === 429);
    expect(here.webhooks.stateOf("here")).toMatchObject({ waiting: 1, failed: 0 });
    const queue = openQueue(configFiles(folder.path).webhookQueue);
    expect(queue.firstDue("here") ?? 0).toBeGreaterThan(Date.now() + 500_000);
    queue.close();
    await here.webhooks.stop();
    const later = (oldest?: (keptMs: number) => number) => {
      const late = createWebhooks({
        ...{ files: configFiles(folder.path), log: silentLog, events: here.bus, delivers: () => true },
        source: () => "urn:svc:host:0123",
        ...{ namesOf: async () => new Set<string>(), now: () => Date.now() + 86_400_000 },
        ...(oldest && { oldest }),
      });
      return { late, [Symbol.asyncDispose]: () => late.stop() };
    };
    {
      // The clock may be ahead when a process begins.
      await using soon = later();
      soon.late.start();
      await until("an attempt", () => to.received.length === 2);
      expect(soon.late.stateOf("here")).toMatchObject({ waiting: 1, failed: 0 });
    }
    await using last = later((keptMs) => Date.now() + 86_400_000 - keptMs);
    last.late.start();
    await until("it is given up", () => last.late.stateOf("here").failed === 1);
    expect(last.late.stateOf("here").waiting).toBe(0);
  });

  describe.each([
    ["set back", -3_600_000],
    ["set ahead by more than a day", 100_000_000],
  ])("waits for its pause and no longer where the time is %s", (_, ms) => {
    const unwell = () => {
      const state = { isWell: false };
      return { state, to: receiver(() => (state.isWell ? undefined : new Response(null, { status: 503 }))) };
    };

    test("while the server runs", async () => {
      using folder = temporaryFolder();
      using clocks = movableClocks();
      const { state, to } = unwell();
      await using _to = to;
      await using here = made(folder, { pause: () => 600_000 });
      await here.webhooks.hooks.add(hookAt(to.url));
      here.webhooks.start();
      here.bus.publish(rang, { nth: 1 });
      await until("an attempt", () => here.webhooks.stateOf("here").last_status === 503);
      state.isWell = true;
      clocks.set(ms);
      here.bus.publish(rang, { nth: 2 });
      await until("the second waits", () => here.webhooks.stateOf("here").waiting === 2);
      expect(to.received).toHaveLength(1);
      clocks.advance(600_001);
      here.bus.publish(rang, { nth: 3 });
      await until("the deliveries", () => here.webhooks.stateOf("here").delivered === 3);
      expect(here.webhooks.stateOf("here").failed).toBe(0);
    });
  });

  test("waits no longer than the longest pause after a restart, when the time was set back", async () => {
    using folder = temporaryFolder();
    using clocks = movableClocks();
    await using to = receiver((nth) => (nth === 1 ? new Response(null, { status: 503 }) : undefined));
    {
      await using first = made(folder, { pause: () => 3_600_000 });
      await first.webhooks.hooks.add(hookAt(to.url));
      first.webhooks.start();
      first.bus.publish(rang, { nth: 1 });
      await until("an attempt", () => first.webhooks.stateOf("here").last_status === 503);
    }
    clocks.set(-86_400_000);
    await using second = made(folder);
    second.webhooks.start();
    clocks.advance(3_600_001);
    second.bus.publish(rang, { nth: 2 });
    await until("both deliveries", () => second.webhooks.stateOf("here").delivered === 2);
  });

  test("shows whether a receiver is well again; what else waits is sent after it", async () => {
    using folder = temporaryFolder();
    let isWell = false;
    await using to = receiver(() => (isWell ? undefined : new Response(null, { status: 503 })));
    await using here = made(folder, { pause: () => 20 });
    await here.webhooks.hooks.add(hookAt(to.url));
    here.webhooks.start();
    for (let nth = 0; nth < 100; nth++) here.bus.publish(rang, { nth });
    await until("some attempts", () => to.received.length >= 8);
    // The first four were under way together.
    expect(to.received.length).toBeLessThan(50);
    isWell = true;
    await until("all are delivered", () => here.webhooks.stateOf("here").delivered === 100);
  });

  test("that one receiver does not want holds up no other message", async () => {
    using folder = temporaryFolder();
    await using to = receiver((nth) => (nth === 1 ? new Response(null, { status: 400 }) : undefined));
    await using here = made(folder, { pause: () => 60_000 });
    await here.webhooks.hooks.add(hookAt(to.url));
    here.webhooks.start();
    for (let nth = 0; nth < 20; nth++) here.bus.publish(rang, { nth });
    await until("the others", () => here.webhooks.stateOf("here").delivered === 19);
    expect(here.webhooks.stateOf("here").waiting).toBe(1);
  });

  test("that was given up while its name was looked up does not go out later", async () => {
    await using to = receiver();
    const { port } = new URL(to.url);
    const hook = { url: `http://localhost:${port}/`, secret: `whsec_${"A".repeat(44)}`, allow_private: true };
    const given = deliver(hook, { id: "given-up", body: "{}" }, { signal: AbortSignal.abort() });
    expect(await given).toMatchObject({ ok: false, status: null });
    // Each has a lookup after that of the first: by their end, it would have arrived as well.
    for (const id of ["one", "two", "three"]) expect((await deliver(hook, { id, body: "{}" })).ok).toBe(true);
    expect(to.received.map(({ headers }) => headers["webhook-id"])).toEqual(["one", "two", "three"]);
  });

  test("to a slow receiver delays no other", async () => {
    using folder = temporaryFolder();
    const never = Promise.withResolvers<Response>();
    await using slow = receiver(() => never.promise as unknown as Response);
    await using to = receiver();
    await using here = made(folder);
    await here.webhooks.hooks.add(hookAt(slow.url, { name: "slow" }));
    await here.webhooks.hooks.add(hookAt(to.url));
    here.webhooks.start();
    for (let nth = 0; nth < 500; nth++) here.bus.publish(rang, { nth });
    await until("all of the other", () => here.webhooks.stateOf("here").delivered === 500);
    expect(slow.received.length).toBeLessThanOrEqual(4);
    never.resolve(new Response());
  });
});

describe("a receiver", () => {
  test("that is gone (410) disables its webhook and empties its queue", async () => {
    using folder = temporaryFolder();
    await using to = receiver(() => new Response(null, { status: 410 }));
    await using here = made(folder);
    await here.webhooks.hooks.add(hookAt(to.url));
    here.webhooks.start();
    for (let nth = 0; nth < 10; nth++) here.bus.publish(rang, { nth });
    await until("it is disabled", () => here.webhooks.hooks.get("here").disabled !== undefined);
    await until("nothing waits", () => here.webhooks.stateOf("here").waiting === 0);
    const before = to.received.length;
    await using other = receiver();
    await here.webhooks.hooks.add(hookAt(other.url, { name: "other" }));
    here.bus.publish(rang, { nth: 11 });
    await until("it reaches another", () => here.webhooks.stateOf("other").delivered === 1);
    expect([to.received.length, here.webhooks.stateOf("here").waiting]).toEqual([before, 0]);
  });

  test("is not followed elsewhere", async () => {
    using folder = temporaryFolder();
    await using other = receiver();
    await using to = receiver(() => Response.redirect(other.url, 307));
    await using here = made(folder, { pause: () => 60_000 });
    await here.webhooks.hooks.add(hookAt(to.url));
    here.webhooks.start();
    here.bus.publish(rang, { nth: 1 });
    await until("an attempt", () => here.webhooks.stateOf("here").last_error === "HTTP 307");
    expect(other.received).toEqual([]);
  });

  test("at an address that only this host reaches is not asked, however it is written", async () => {
    using folder = temporaryFolder();
    await using to = receiver();
    await using here = made(folder);
    const { port } = new URL(to.url);
    for (const host of [
      "127.0.0.1",
      "localhost",
      "2130706433",
      "0x7f.1",
      "[::ffff:127.0.0.1]",
      "0.0.0.0",
      "[::]",
    ]) {
      const url = new URL(`http://${host}:${port}/`).href;
      const hook = {
        ...hookAt(url),
        format: "standard" as const,
        allow_private: false,
        secret: `whsec_${"A".repeat(44)}`,
        added: "",
      };
      const sent = await here.webhooks.test(hook, new AbortController().signal);
      expect([host, sent.error]).toEqual([host, expect.stringContaining("is not a public address")]);
    }
    expect(to.received).toEqual([]);
  });

  test("is dialled at the address that was checked, whatever its name says now", async () => {
    await using to = receiver();
    const { port } = new URL(to.url);
    const url = new URL(`http://no-such-name.invalid:${port}/`);
    const line = openLine(url, { trust: { kind: "system" }, address: "127.0.0.1" });
    const status = Promise.withResolvers<number>();
    line.send(requestText("POST", "/", { Host: url.host, "Content-Length": "2" }, "{}"), {
      head: (head) => status.resolve(head.status),
      data() {},
      end() {},
      failed: status.reject,
    });
    expect(await status.promise).toBe(204);
    line.close();
  });
});

test.each([
  ["a number of seconds", "120", 120],
  ["a date in the future", "Sun, 06 Nov 1994 08:49:37 GMT", 37],
  ["a date of RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", 37],
  ["a date that has passed", "Sun, 06 Nov 1994 08:48:00 GMT", 0],
  ["neither", "-3", 0],
  ["nothing", undefined, 0],
])("Retry-After with %s is understood", (_, value, seconds) => {
  expect(retryAfter(value, Date.parse("1994-11-06T08:49:00Z"))).toBe(seconds);
});

test("what is published just before the end is delivered after the next start", async () => {
  using folder = temporaryFolder();
  await using to = receiver();
  {
    await using first = made(folder);
    await first.webhooks.hooks.add(hookAt(to.url));
    first.webhooks.start();
    first.bus.publish(rang, { nth: 1 });
  }
  await using second = made(folder);
  second.webhooks.start();
  await until("the delivery", () => second.webhooks.stateOf("here").delivered === 1);
  expect(to.received.at(-1)?.body).toContain('"nth":1');
});

test("the end of a run that is cancelled when the service stops is delivered after the next start", async () => {
  using folder = temporaryFolder();
  await using to = receiver();
  const open = () => createService({ configDir: folder.path, log: silentLog, audit: false });
  const first = open();
  await (await first.webhooks()).hooks.add(hookAt(to.url, { types: ["run.ended"] }));
  await first.runJobs();
  const runs = await first.runs();
  // Without the time that runs have to end by themselves.
  const stop = runs.stop.bind(runs);
  runs.stop = () => stop(0);
  const begun = runs.begin({
    ...{ run_id: crypto.randomUUID(), source_type: "manual", source_id: "", token: null },
    ...{ script_path: "", commands: [], timeout_s: 60 },
  });
  begun.signal.addEventListener("abort", () => begun.end("cancelled", "stopped"));
  await first.stop();
  const second = open();
  await second.runJobs();
  await until("the delivery", () => to.received.length === 1);
  expect(to.received[0]?.body).toContain('"status":"cancelled"');
  await second.stop();
});

test("the end of a run whose process was killed is delivered after the next start", async () => {
  using folder = temporaryFolder();
  await using to = receiver();
  const files = configFiles(folder.path);
  const killed = createHistory({ path: files.history, maxRows: undefined, log: silentLog });
  killed.note({
    ...{ run_id: "killed", source_type: "rest", source_id: "", token: null, script_path: "", commands: [] },
    ...{ status: "running", started_at: new Date().toISOString() },
    ...{ finished_at: null, duration_seconds: null, error_text: null },
  });
  await killed.close();
  const next = createService({ configDir: folder.path, log: silentLog, audit: false });
  await (await next.webhooks()).hooks.add(hookAt(to.url, { types: ["run.ended"] }));
  await next.runJobs();
  await until("the delivery", () => to.received.length === 1);
  expect(JSON.parse(to.received[0]?.body ?? "{}").data).toMatchObject({
    run_id: "killed",
    status: "interrupted",
    error_text: "the process that ran it has ended",
  });
  await (await next.history()).list({ limit: 1 });
  await next.stop();
  expect(to.received).toHaveLength(1);
});

describe("a webhook of a token", () => {
  test("that is revoked is disabled at once, its owner is shown, and nothing more is delivered", async () => {
    await using host = await testServer();
    await using to = receiver();
    const stop = await host.service.runJobs();
    const store = tokenStore(configFiles(host.configDir), silentLog);
    const boss = await addToken(store, { name: "boss", scope: ["admin"] });
    const { headers, ...asked } = post({ name: "spy", url: to.url, allow_private: true });
    const answer = await host.call("/webhooks/add", {
      ...asked,
      headers: { ...headers, authorization: `Bearer ${boss}` },
    });
    expect(answer.status).toBe(200);
    await host.call("/webhooks/add", post({ name: "mine", url: `${to.url}/mine`, allow_private: true }));
    await removeToken(store, "boss");
    await host.service.endWorkOf("boss");
    const { webhooks } = (await (await host.call("/webhooks")).json()) as { webhooks: object[] };
    expect(webhooks).toMatchObject([
      { name: "spy", token: "boss", disabled: "its token boss was revoked", waiting: 0 },
      { name: "mine", token: null, disabled: null },
    ]);
    const before = (await host.service.webhooks()).stateOf("spy").delivered;
    await host.call("/execute", post({ actions: [["AC_sleep", [0]]] }));
    const hooks = await host.service.webhooks();
    const isEnd = ({ body }: Received) => JSON.parse(body).type === "run.ended";
    await until("the other has the end", () => to.received.some(isEnd));
    expect(hooks.stateOf("spy")).toMatchObject({ delivered: before, waiting: 0 });
    stop();
  });

  test.each([
    ["was removed", "its token boss was revoked", false],
    ["was removed, and another has its name", "its token boss was revoked", true],
    ["has expired", "its token boss has expired", undefined],
  ])("that %s while svc was down delivers nothing after the start", async (_, disabled, isMadeAnew) => {
    using folder = temporaryFolder();
    await using to = receiver();
    const store = tokenStore(configFiles(folder.path), silentLog);
    const expires_s = isMadeAnew === undefined ? 1 : undefined;
    await addToken(store, { name: "boss", scope: ["admin"], expires_s });
    const open = () => createService({ configDir: folder.path, log: silentLog, audit: false });
    const first = open();
    const webhooks = await first.webhooks();
    await webhooks.hooks.add({ ...hookAt(to.url), token: "boss" });
    await first.stop();
    if (isMadeAnew === undefined)
      await until("the end of the token", () => {
        const [boss] = store.entries();
        return boss?.expires !== undefined && Date.parse(boss.expires) < Date.now();
      });
    else await removeToken(store, "boss");
    if (isMadeAnew) await addToken(store, { name: "boss", scope: ["admin"] });
    const second = open();
    await second.runJobs();
    expect((await second.webhooks()).hooks.get("here")).toMatchObject({ token: "boss", disabled });
    second.events().publish(rang, { nth: 1 });
    await second.stop();
    expect(to.received).toEqual([]);
  });

  test("that had expired by a clock that was ahead is delivered to again, and one that was revoked is not", async () => {
    using folder = temporaryFolder();
    await using to = receiver();
    let ending: "was revoked" | "has expired" | null = "has expired";
    const bus = createBus(silentLog);
    const webhooks = createWebhooks({
      ...{ files: configFiles(folder.path), log: silentLog, events: bus, delivers: () => true },
      source: () => "urn:svc:host:0123",
      namesOf: async () => new Set([rang.name]),
      endings: async () => () => ending,
    });
    await webhooks.hooks.add({ ...hookAt(to.url), token: "boss" });
    webhooks.start();
    const disabled = async (how: typeof ending) => {
      ending = how;
      await webhooks.endRevoked();
      return webhooks.hooks.get("here").disabled;
    };
    expect(await disabled("has expired")).toBe("its token boss has expired");
    expect(await disabled(null)).toBeUndefined();
    bus.publish(rang, { nth: 1 });
    await until("the delivery", () => webhooks.stateOf("here").delivered === 1);
    expect(await disabled("was revoked")).toBe("its token boss was revoked");
    expect(await disabled(null)).toBe("its token boss was revoked");
    await webhooks.stop();
  });

  test("gets nothing even before it is disabled", async () => {
    using folder = temporaryFolder();
    await using to = receiver();
    const ended = new Set<string>();
    const bus = createBus(silentLog);
    const webhooks = createWebhooks({
      ...{ files: configFiles(folder.path), log: silentLog, events: bus, delivers: () => true },
      source: () => "urn:svc:host:0123",
      namesOf: async () => new Set([rang.name]),
      endings: async () => (token) => (ended.has(token) ? "was revoked" : null),
    });
    await webhooks.hooks.add({ ...hookAt(to.url), token: "boss" });
    await webhooks.hooks.add(hookAt(to.url, { name: "mine" }));
    webhooks.start();
    ended.add("boss");
    bus.publish(rang, { nth: 1 });
    await until("the other delivery", () => webhooks.stateOf("mine").delivered === 1);
    expect(webhooks.stateOf("here")).toMatchObject({ delivered: 0, waiting: 0 });
    await webhooks.stop();
  });
});

test("public addresses are public, and no others", () => {
  const others = [
    ...["127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"],
    ...["0.0.0.0", "255.255.255.255", "224.0.0.1", "168.63.129.16", "198.18.0.1", "192.0.2.1", "240.0.0.1"],
    ...[
      "::1",
      "::",
      "fe80::1",
      "fe80::1%eth0",
      "fc00::1",
      "fd12::1",
      "ff02::1",
      "fec0::1",
      "2001:db8::1",
      "2002:7f00:1::",
    ],
    ...[
      "::ffff:127.0.0.1",
      "::ffff:10.0.0.1",
      "::ffff:7f00:1",
      "64:ff9b::7f00:1",
      "::127.0.0.1",
      "2001::1",
      "100::1",
      "nonsense",
      "",
    ],
  ];
  expect(others.filter(isPublic)).toEqual([]);
  expect(
    ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1"].filter((one) => !isPublic(one)),
  ).toEqual([]);
});

test("the queue of a webhook is bounded: the oldest go, and are counted", () => {
  using folder = temporaryFolder();
  const queue = openQueue(join(folder.path, "webhooks.db"), 10);
  const all = (hook: string, count: number) =>
    Array.from({ length: count }, (_, nth) => ({ hook, message: `m-${nth}`, type: "bell.rang", body: "{}" }));
  queue.add([...all("a", 25), ...all("b", 3)], 1);
  expect([queue.waitingFor("a"), queue.tally("a").dropped]).toEqual([10, 15]);
  expect([queue.waitingFor("b"), queue.tally("b").dropped]).toEqual([3, 0]);
  expect(queue.due("a", 1, 1)[0]?.message).toBe("m-15");
  queue.close();
});

describe("over HTTP", () => {
  test("a webhook is added with a secret that is shown once, tested, listed and removed", async () => {
    await using host = await testServer();
    await using to = receiver();
    const stop = await host.service.runJobs();
    const add = { name: "chat", url: to.url, types: ["run.ended"], allow_private: true };
    const added = (await (await host.call("/webhooks/add", post(add))).json()) as { secret: string };
    const { secret } = added;
    expect(added).toMatchObject({
      name: "chat",
      types: ["run.ended"],
      secret: expect.stringMatching(/^whsec_/),
    });
    expect((await host.call("/webhooks/add", post(add))).status).toBe(409);

    const tested = await (await host.call("/webhooks/test", post({ name: "chat" }))).json();
    expect(tested).toMatchObject({ name: "chat", ok: true, status: 204 });
    const first = to.received[0];
    expect(new Webhook(secret).verify(first?.body ?? "", first?.headers ?? {})).toMatchObject({
      type: "webhook.test",
    });

    await host.call("/execute", post({ actions: [["AC_sleep", [0]]] }));
    const ended = await until("the end of the run", () => to.received[1]);
    expect(JSON.parse(ended.body)).toMatchObject({ type: "run.ended", data: { status: "ok" } });
    const listed = await until("it is noted", async () => {
      const text = await (await host.call("/webhooks")).text();
      return text.includes('"delivered":1') ? text : undefined;
    });
    expect(listed).not.toContain("whsec_");
    const file = join(host.configDir, "webhooks.json");
    expect(readFileSync(file, "utf8")).toContain(secret);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await host.call("/webhooks/remove", post({ name: "chat" }))).status).toBe(200);
    expect(await (await host.call("/webhooks")).json()).toEqual({ webhooks: [] });
    stop();
  });

  test("what is no address, no type or not public is refused", async () => {
    await using host = await testServer();
    const add = async (fields: object) => {
      const answer = await host.call(
        "/webhooks/add",
        post({ name: "x", url: "https://a.example/", ...fields }),
      );
      return [answer.status, ((await answer.json()) as { error: string }).error];
    };
    expect(await add({ url: "ftp://a.example/" })).toEqual([400, "url: expected an https address"]);
    expect(await add({ url: "http://a.example/" })).toMatchObject([
      400,
      expect.stringContaining("--allow-private"),
    ]);
    expect(await add({ url: "https://10.0.0.1/" })).toMatchObject([
      400,
      expect.stringContaining("expected a public address"),
    ]);
    expect(await add({ url: "https://u:p@a.example/" })).toMatchObject([
      400,
      expect.stringContaining("without a user"),
    ]);
    expect(await add({ types: ["no.such"] })).toMatchObject([
      400,
      expect.stringContaining('no type "no.such"'),
    ]);
  });

  test("the audit log has the host of the address, not its path", async () => {
    await using host = await testServer();
    await host.call("/webhooks/add", post({ name: "x", url: "https://a.example/a-secret-path" }));
    const rows = JSON.stringify(await (await host.service.audit())?.list({ limit: 10 }));
    expect(rows).toContain("webhook.add name=x url=https://a.example types=all allow_private=false");
    expect(rows).not.toContain("a-secret-path");
  });
});

test("a name of this host itself is no public address", () => {
  for (const url of ["https://localhost:8000/", "https://svc.localhost/", "https://LOCALHOST./"]) {
    expect(() => receiverUrl(url, false)).toThrow("url: expected a public address");
    expect(receiverUrl(url, true)).toBe(new URL(url).href);
  }
});
