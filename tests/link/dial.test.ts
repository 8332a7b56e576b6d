/** What a host does with its desk: when it dials, what it sends to whom, and what a hostile desk can do. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { silentLog } from "../../src/lib/log";
import { keepLink, pauseBefore } from "../../src/link/dial";
import { FROM_HUB, pieceFrame } from "../../src/link/frames";
import { until } from "./support";

test("a host waits a random part of a time that doubles up to a minute, and no pause is cut off", () => {
  fc.assert(
    fc.property(fc.nat(200), fc.double({ min: 0, max: 0.999_999, noNaN: true }), (attempt, part) => {
      expect(pauseBefore(attempt, () => part)).toBeCloseTo(part * Math.min(60_000, 1_000 * 2 ** attempt), 3);
    }),
  );
});

/** A desk that says what a test likes. */
function hostileDesk(opened: (ws: Bun.ServerWebSocket<undefined>) => void) {
  const seen: Array<string | Buffer> = [];
  let links = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request, bun) {
      const headers = { "sec-websocket-protocol": "svc.link.v1" };
      return bun.upgrade(request, { headers }) ? undefined : new Response("no", { status: 400 });
    },
    websocket: {
      open(ws: Bun.ServerWebSocket<undefined>) {
        links += 1;
        opened(ws);
      },
      message: (_ws, message) => void seen.push(message),
    },
  });
  return {
    seen,
    links: () => links,
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

const say = (ws: Bun.ServerWebSocket<undefined>, frame: object) => ws.send(JSON.stringify(frame));

/** A host that dials at once, always. */
function hostOf(
  url: string,
  enter: (request: Request) => Promise<Response> = async () => new Response("ok"),
) {
  const link = keepLink({
    desk: () => ({ url, pins: [], host_id: "a".repeat(32) }),
    sign: () => "signature",
    ...{ enter, version: "1", log: silentLog, random: () => 0.001 },
  });
  return { link, [Symbol.asyncDispose]: () => link.stop() };
}

test("a host takes any bytes from its desk, and dials again", async () => {
  const frame = fc.oneof(
    fc.string(),
    fc.json(),
    fc.uint8Array({ maxLength: 100 }),
    fc.record({
      t: fc.constantFrom(...FROM_HUB.options.map(({ entries }) => entries.t.literal)),
      id: fc.oneof(fc.integer(), fc.constantFrom(1, 2, 3)),
      method: fc.constantFrom("GET", "POST", "PUT"),
      path: fc.oneof(fc.string(), fc.webPath(), fc.constant("//evil/../x")),
      accept: fc.string(),
      nonce: fc.string(),
      v: fc.constantFrom(1, 2),
      label: fc.string(),
      address: fc.string(),
      bytes: fc.oneof(fc.integer(), fc.constantFrom(0, 3, 1_000)),
      retry_ms: fc.constantFrom(0, 1),
    }),
  );
  const rounds = fc.sample(fc.array(frame, { maxLength: 15 }), { numRuns: 80, seed: 7 });
  let nth = 0;
  await using desk = hostileDesk((ws) => {
    say(ws, { t: "hello", v: 1, nonce: "n" });
    say(ws, { t: "ready", label: "x" });
    for (const one of rounds[nth++] ?? []) {
      if (one instanceof Uint8Array) ws.send(new Uint8Array(one));
      else ws.send(typeof one === "string" ? one : JSON.stringify(one));
    }
    setTimeout(() => ws.close(), 5);
  });
  await using _host = hostOf(desk.url);
  await until(() => desk.links() > rounds.length);
});

test("a body larger than announced, and a piece of what nobody asked, end and do not end the link", async () => {
  const ends: string[] = [];
  await using desk = hostileDesk((ws) => {
    say(ws, { t: "hello", v: 1, nonce: "n" });
    say(ws, { t: "ready", label: "x" });
    ws.send(pieceFrame(9, new Uint8Array(10)));
    say(ws, { t: "ask", id: 1, method: "POST", path: "/x", accept: "a/b", bytes: 3 });
    ws.send(pieceFrame(1, new Uint8Array(4)));
  });
  await using host = hostOf(desk.url, async (request) => {
    await request.text().catch(() => ends.push("broken"));
    return new Response("ok");
  });
  await until(() => desk.links() > 1 && host.link.state().problem?.includes("frame") === true);
});

test("more requests at once than a link carries are refused, each by itself", async () => {
  await using desk = hostileDesk((ws) => {
    say(ws, { t: "hello", v: 1, nonce: "n" });
    say(ws, { t: "ready", label: "x" });
    for (let id = 1; id <= 70; id++) say(ws, { t: "ask", id, method: "GET", path: "/x", accept: "a/b" });
  });
  let begun = 0;
  await using _host = hostOf(desk.url, (request) => {
    begun += 1;
    return new Promise((_, reject) =>
      request.signal.addEventListener("abort", () => reject(new Error("gone"))),
    );
  });
  const refused = () => desk.seen.map(String).filter((text) => text.includes("requests are under way"));
  await until(() => refused().length === 6);
  expect(begun).toBe(64);
});
