/** GET /events: streams and polls, who may see what, and what ends a stream. */
import { describe, expect, spyOn, test } from "bun:test";
import * as v from "valibot";
import { OWNER } from "../../src/core/rights";
import { createBus } from "../../src/events/bus";
import { filterOf } from "../../src/events/filter";
import { createStreams } from "../../src/events/stream";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { addToken, removeToken, tokenStore } from "../../src/trust/named-tokens";
import { NEW_TOKEN } from "../../src/trust/token-fields";
import { post, testServer, until } from "../support";
import { EVENT_TYPES, leak, received, ship, take, tide } from "./support";

const options = { service: { eventTypes: EVENT_TYPES } };

/** A server, its tokens, and a `call` with a token of this scope. */
async function hostWithToken(scope: string) {
  const host = await testServer(options);
  const tokens = tokenStore(configFiles(host.configDir), silentLog);
  const token = await addToken(tokens, v.parse(NEW_TOKEN, { name: "other", scope: [scope] }));
  const headers = { authorization: `Bearer ${token}` };
  const callAs = (path: string, init?: RequestInit) =>
    fetch(`${host.server.url}${path}`, { ...init, headers: { ...init?.headers, ...headers } });
  return Object.assign(host, { callAs, tokens });
}

describe("a stream", () => {
  test("has no mark ahead of an event that was published in the same turn", async () => {
    const bus = createBus(silentLog);
    const timer = spyOn(globalThis, "setInterval");
    const streams = createStreams(bus);
    const leaving = new AbortController();
    const filter = filterOf([tide], [], OWNER);
    const asked = { filter, owner: null, after: undefined, signal: leaving.signal };
    const stream = received(new Response(streams.open(asked, () => {})));
    const sweep = timer.mock.calls.at(-1)?.[0] as () => void;
    timer.mockRestore();
    expect(await take(stream, 1)).toMatchObject([{ event: "mark", id: `${bus.boot}-0` }]);
    const waiting = take(stream, 1);
    await new Promise((resolve) => setImmediate(resolve));
    bus.publish(tide, { nth: 1 });
    for (let second = 0; second < 15; second++) sweep();
    expect(await waiting).toMatchObject([{ event: "tide.turned", id: `${bus.boot}-1` }]);
    leaving.abort();
  });

  test("begins with a mark that has the newest id, and has every event after it", async () => {
    await using host = await testServer(options);
    const { publish, boot } = host.service.events();
    publish(tide, { nth: 1 });
    const response = await host.call("/events");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    const stream = received(response);
    expect(await take(stream, 1)).toEqual([
      { id: `${boot}-1`, event: "mark", data: { at: expect.any(String) } },
    ]);
    publish(tide, { nth: 2 });
    publish(leak, { nth: 3 });
    expect(await take(stream, 2)).toMatchObject([
      { id: `${boot}-2`, event: "tide.turned", data: { nth: 2, at: expect.any(String) } },
      { id: `${boot}-3`, event: "tide.leaked", data: { nth: 3 } },
    ]);
  });

  test("goes on after Last-Event-ID or `after`, and then has a mark", async () => {
    await using host = await testServer(options);
    const { publish, boot } = host.service.events();
    for (let nth = 1; nth <= 3; nth++) publish(tide, { nth });
    const byHeader = await host.call("/events", { headers: { "last-event-id": `${boot}-1` } });
    const byQuery = await host.call(`/events?after=${boot}-1`);
    const all = await host.call("/events?after=oldest");
    const ids = async (response: Response, count: number) =>
      (await take(received(response), count)).map(({ id, event }) => `${event} ${id.split("-")[1]}`);
    expect(await ids(byHeader, 3)).toEqual(["tide.turned 2", "tide.turned 3", "mark 3"]);
    expect(await ids(byQuery, 3)).toEqual(["tide.turned 2", "tide.turned 3", "mark 3"]);
    expect(await ids(all, 4)).toEqual(["tide.turned 1", "tide.turned 2", "tide.turned 3", "mark 3"]);
  });

  test("has a reset where it cannot go on: another boot, a number that never was", async () => {
    await using host = await testServer(options);
    const { publish, boot } = host.service.events();
    publish(tide, { nth: 1 });
    for (const [after, reason] of [
      ["0123456789ab-1", "boot"],
      [`${boot}-9`, "gap"],
    ]) {
      const stream = received(await host.call(`/events?after=${after}`));
      expect(await take(stream, 2)).toMatchObject([
        { id: `${boot}-1`, event: "reset", data: { reason, id: `${boot}-1` } },
        { id: `${boot}-1`, event: "mark" },
      ]);
    }
    const odd = await host.call("/events", { headers: { "last-event-id": "what another server sent" } });
    expect(await take(received(odd), 1)).toMatchObject([{ event: "reset", data: { reason: "boot" } }]);
  });

  test("has the types that are asked for", async () => {
    await using host = await testServer(options);
    const { publish } = host.service.events();
    const stream = received(await host.call("/events?types=tide.turned,moon.*"));
    await take(stream, 1);
    publish(leak, { nth: 1 });
    publish(tide, { nth: 2 });
    expect(await take(stream, 1)).toMatchObject([{ event: "tide.turned", data: { nth: 2 } }]);
  });

  test("is refused for an unknown type, and names the command that lists them", async () => {
    await using host = await testServer(options);
    for (const types of ["tide", "*", "sun.*", "tide.turned,", ""]) {
      const response = await host.call(`/events?types=${types}`);
      expect([types, response.status]).toEqual([types, 400]);
      const { error } = (await response.json()) as { error: string };
      expect(error).toContain("`svc events types` lists them");
    }
    expect((await host.call("/events?after=1")).status).toBe(400);
    expect((await host.call("/events?wait=61")).status).toBe(400);
  });

  test("shows a token what its scopes allow: a type that it names is refused, others are left out", async () => {
    await using host = await hostWithToken("read");
    const { publish } = host.service.events();
    const refused = await host.callAs("/events?types=tide.turned,tide.leaked");
    expect(refused.status).toBe(403);
    expect(await refused.json()).toEqual({
      error: "this token allows read, but events of the type tide.leaked need audit",
    });
    expect((await host.callAs("/events?types=moon.*")).status).toBe(403);
    const stream = received(await host.callAs("/events?types=tide.*"));
    const whole = received(await host.callAs("/events"));
    await Promise.all([take(stream, 1), take(whole, 1)]);
    publish(leak, { nth: 1 });
    publish(tide, { nth: 2 });
    expect(await take(stream, 1)).toMatchObject([{ data: { nth: 2 } }]);
    expect(await take(whole, 1)).toMatchObject([{ data: { nth: 2 } }]);
  });

  test("shows what one token made to that token and to admin, also in a poll", async () => {
    await using host = await hostWithToken("read");
    const { publish } = host.service.events();
    const created = Date.now() + 1;
    const streams = [received(await host.callAs("/events")), received(await host.call("/events"))] as const;
    await Promise.all(streams.map((stream) => take(stream, 1)));
    for (const [maker, at] of [
      ["someone", created],
      [null, created],
      // The token that had the name before.
      ["other", 1],
      ["other", created],
    ] as const)
      publish(ship, { maker, created: at });
    publish(tide, { nth: 1 });
    const names = (events: readonly { data: object }[]) => events.map(({ data }) => Object(data).maker);
    expect(names(await take(streams[0], 2))).toEqual(["other", undefined]);
    expect(names(await take(streams[1], 5))).toEqual(["someone", null, "other", "other", undefined]);
    const polled = await (await host.callAs("/events?wait=0&after=oldest")).json();
    expect(names((polled as { events: { data: object }[] }).events)).toEqual(["other", undefined]);
  });

  test("leaves one row in the audit log, at its opening", async () => {
    await using host = await testServer(options);
    await take(received(await host.call("/events")), 1);
    const rows = (await (await host.service.audit())?.list({ limit: 10 })) ?? [];
    expect(rows.map(({ detail }) => detail)).toEqual(["GET /events -> ok:200"]);
  });

  test("has no body for a HEAD, and keeps no place then", async () => {
    await using host = await testServer(options);
    const response = await host.call("/events", { method: "HEAD" });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect((await host.service.eventStreams()).count()).toBe(0);
  });
});

describe("a poll", () => {
  test("answers at once with the events after an id", async () => {
    await using host = await testServer(options);
    const { publish, boot } = host.service.events();
    for (let nth = 1; nth <= 2; nth++) publish(tide, { nth });
    const polled = await (await host.call(`/events?wait=30&after=${boot}-1`)).json();
    expect(polled).toEqual({
      events: [{ id: `${boot}-2`, type: "tide.turned", at: expect.any(String), data: { nth: 2 } }],
      next: `${boot}-2`,
      reset: false,
    });
  });

  test("waits for the next event of its types", async () => {
    await using host = await testServer(options);
    const { publish, boot } = host.service.events();
    const polled = host.call("/events?wait=30&types=tide.turned");
    const streams = await host.service.eventStreams();
    await until("a client waits", () => streams.count() === 1);
    publish(leak, { nth: 1 });
    publish(tide, { nth: 2 });
    expect(await (await polled).json()).toMatchObject({ events: [{ data: { nth: 2 } }], next: `${boot}-2` });
    expect(streams.count()).toBe(0);
  });

  test("answers without events when none comes, and says where to go on", async () => {
    await using host = await testServer(options);
    const { boot } = host.service.events();
    expect(await (await host.call("/events?wait=0")).json()).toEqual({
      events: [],
      next: `${boot}-0`,
      reset: false,
    });
    const other = await host.call("/events?wait=30&after=another-7");
    expect(await other.json()).toEqual({ events: [], next: `${boot}-0`, reset: true });
  });

  test("does not wake up for the audit rows of polls", async () => {
    await using host = await testServer();
    const polled = host.call("/events?wait=30&types=audit.*");
    const streams = await host.service.eventStreams();
    await until("a client waits", () => streams.count() === 1);
    await host.call("/events?wait=0");
    await host.call("/overview");
    const { events } = (await (await polled).json()) as { events: Array<{ data: { newest: unknown[] } }> };
    expect(events[0]?.data.newest).toMatchObject([
      { detail: "GET /overview -> ok:200" },
      { detail: "GET /events -> ok:200" },
    ]);
  });
});

describe("a stream ends", () => {
  for (const [what, after] of [
    ["is revoked", []],
    ["is replaced by one that allows less", ["metrics"]],
  ] as const)
    test(`when its token ${what}`, async () => {
      await using host = await hostWithToken("read");
      const stream = received(await host.callAs("/events"));
      await take(stream, 1);
      await removeToken(host.tokens, "other");
      for (const scope of after)
        await addToken(host.tokens, v.parse(NEW_TOKEN, { name: "other", scope: [scope] }));
      expect(await stream.next()).toMatchObject({ done: true });
      expect((await host.service.eventStreams()).count()).toBe(0);
    });

  test("when the server stops, which does not wait for it", async () => {
    await using host = await testServer(options);
    const stream = received(await host.call("/events"));
    const polled = host.call("/events?wait=60");
    await take(stream, 1);
    await until("both are open", async () => (await host.service.eventStreams()).count() === 2);
    await (await host.service.rest()).stop();
    expect(await stream.next()).toMatchObject({ done: true });
    expect(await (await polled).json()).toMatchObject({ events: [] });
  });

  test("when the certificate is exchanged, and the next one goes on where it was", async () => {
    await using host = await testServer({ ...options, tls: true });
    const { publish, boot } = host.service.events();
    const stream = received(await host.call("/events?types=tide.*"));
    const [mark] = await take(stream, 1);
    expect((await host.call("/tls/renew", post({}))).status).toBe(200);
    expect(await stream.next()).toMatchObject({ done: true });
    publish(tide, { nth: 1 });
    const next = received(await host.call(`/events?types=tide.*&after=${mark?.id}`));
    expect(await take(next, 1)).toMatchObject([{ event: "tide.turned", data: { nth: 1 } }]);
    expect(mark?.id.startsWith(`${boot}-`)).toBe(true);
  });

  test("when its client goes, and its place is free then", async () => {
    await using host = await testServer(options);
    const control = new AbortController();
    const stream = received(await host.call("/events", { signal: control.signal }));
    await take(stream, 1);
    const streams = await host.service.eventStreams();
    expect(streams.count()).toBe(1);
    control.abort();
    await stream.next().catch(() => {});
    await until("the streams have ended", () => streams.count() === 0);
  });

  test("when its client does not read: nothing of its events waits in memory", async () => {
    await using host = await testServer(options);
    const { publish } = host.service.events();
    const response = await host.call("/events");
    const streams = await host.service.eventStreams();
    let nth = 0;
    await until("the stream has ended", () => {
      for (let more = 0; more < 500; more++) publish(tide, { nth: nth++, text: "x".repeat(3_000) });
      return streams.count() === 0;
    });
    await response.body?.cancel();
  });
});

test("what is too long ago is a gap, for a stream and for a poll", async () => {
  const bus = createBus(silentLog, { events: 4 });
  const streams = createStreams(bus);
  for (let nth = 1; nth <= 9; nth++) bus.publish(tide, { nth });
  const asked = {
    filter: filterOf([tide], [], OWNER),
    owner: null,
    after: `${bus.boot}-4`,
    signal: new AbortController().signal,
  };
  const stream = received(new Response(streams.open(asked, () => {})));
  expect(await take(stream, 1)).toMatchObject([
    { event: "reset", data: { reason: "gap", id: `${bus.boot}-9` } },
  ]);
  expect(await streams.poll(asked, 0)).toEqual({ events: [], next: `${bus.boot}-9`, reset: true });
  const inTime = await streams.poll({ ...asked, after: `${bus.boot}-5` }, 0);
  expect(inTime).toMatchObject({ events: [{}, {}, {}, {}], reset: false });
});

test("named tokens leave 64 of a thousand streams to the owner of the host", () => {
  const streams = createStreams(createBus(silentLog));
  const filter = filterOf([tide], [], OWNER);
  const control = new AbortController();
  const open = (owner: string | null) =>
    streams.open({ filter, owner, after: undefined, signal: control.signal }, () => {});
  for (let nth = 0; nth < 936; nth++) open(`token ${nth % 15}`);
  expect(() => open("another")).toThrow("936 streams of events are open on this host, which is the limit");
  for (let nth = 0; nth < 64; nth++) open(null);
  expect(() => open(null)).toThrow("64 streams of events of this token are open");
  control.abort();
  expect(streams.count()).toBe(0);
});

test("one token has 64 streams, and others have some then", async () => {
  await using host = await hostWithToken("read");
  const control = new AbortController();
  const { signal } = control;
  const opened = await Promise.all(Array.from({ length: 64 }, () => host.callAs("/events", { signal })));
  expect(opened.map(({ status }) => status)).toEqual(Array(64).fill(200));
  const refused = await host.callAs("/events");
  expect(refused.status).toBe(429);
  expect(await refused.json()).toEqual({
    error: "64 streams of events of this token are open, which is the limit",
  });
  expect((await host.callAs("/events?wait=1")).status).toBe(429);
  const own = await host.call("/events", { signal });
  expect(own.status).toBe(200);
  control.abort();
  const streams = await host.service.eventStreams();
  await until("the streams have ended", () => streams.count() === 0);
});
