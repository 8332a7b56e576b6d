/** What a hub and a host do with a peer that does not keep to the protocol. */
import { describe, expect, spyOn, test } from "bun:test";
import { renameSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { deadlineIn } from "../../../src/client/carrier";
import { hostIdOf, openSigningKey } from "../../../src/trust/identity";
import { linkMessage, pieceFrame } from "../../../src/wire/link/frames";
import { get, limits, plainHub, rawLink, until, untilEvent } from "./support";

/** What a promise rejects with. */
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error) => error,
  );

describe("a hub", () => {
  test("takes no host that does not sign its nonce with the key that joined", async () => {
    await using desk = await plainHub();
    const { host_id, key } = desk;
    const about = { t: "host", host_id, process: "p", version: "1", yields: false };
    const refusals = [
      [4_003, { ...about, signature: key.sign(`svc-link-v1\nother\n\n${host_id}`) }],
      [4_000, { ...about, host_id: "0".repeat(32), signature: "x" }],
      [4_003, { ...about, signature: 7 }],
      [4_003, { t: "head", id: 1, status: 200, type: "" }],
    ] as const;
    for (const [code, frame] of refusals) {
      const link = await rawLink(desk);
      await link.next("hello");
      link.say(frame);
      expect((await link.closed).code).toBe(code);
    }
    expect(desk.hub.links()).toEqual([]);
    const audit = await desk.service.audit();
    const rows = ((await audit?.list({ limit: 50 })) ?? []).map(({ detail }) => detail);
    expect(rows.filter((row) => row === "GET /link -> failed:403").length).toBe(refusals.length);
  });

  test("takes a host whose neighbours behind the same address are strangers or prove nothing", async () => {
    await using desk = await plainHub({ rate_limit: 1, rate_burst: 2 });
    const { host_id, key } = desk;
    const about = { t: "host", process: "p", version: "1", yields: false, signature: "x" };
    for (let nth = 0; nth < 20; nth++) {
      const link = await rawLink(desk);
      await link.next("hello");
      link.say({ ...about, host_id: nth % 2 ? host_id : "0".repeat(32) });
      await link.closed;
      await fetch(`${desk.server.url}/sessions`);
    }
    const link = await rawLink(desk);
    await link.prove(key, host_id);
    expect(desk.hub.links()).toMatchObject([{ host_id, linked: true }]);
  });

  test("takes a host whatever a page in a browser sends from the same address, and no link of a page", async () => {
    await using desk = await plainHub({ rate_limit: 1, rate_burst: 2 });
    const { host_id, key, server } = desk;
    const asked = async (init?: RequestInit) => (await fetch(`${server.url}/link`, init)).status;
    const origin = "https://page.example";
    const handshake = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
    const ofPage = {
      ...{ ...handshake, origin, "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" },
      "sec-websocket-protocol": "svc.link.v1",
    };
    expect(await asked({ headers: ofPage })).toBe(403);
    // More than any limit of an address.
    for (let nth = 0; nth < 15; nth++) await Promise.all(Array.from({ length: 50 }, () => asked()));
    expect(await asked()).toBe(429);
    const link = await rawLink(desk);
    await link.prove(key, host_id);
    expect(desk.hub.links()).toMatchObject([{ host_id, linked: true }]);
  });

  test("ends a link whose host does not keep to the protocol, and is there for the next", async () => {
    await using desk = await plainHub();
    const { host_id, key, hub } = desk;
    const head = { t: "head", id: 1, status: 200, type: "a/b" };
    const faults: Array<(link: Awaited<ReturnType<typeof rawLink>>) => void> = [
      (link) => link.socket.send("not json"),
      (link) => link.socket.send(new Uint8Array(3)),
      (link) => link.socket.send(new Uint8Array(70_000)),
      (link) => link.say({ t: "host" }),
      (link) => [head, head].forEach(link.say),
      (link) => link.say({ ...head, type: "a/b\r\nset-cookie: c" }),
      (link) => link.say({ ...head, type: "a" }),
      // More than the window: 17 pieces of 64 KiB that nobody has asked for.
      (link) => Array.from({ length: 17 }, () => link.socket.send(pieceFrame(1, new Uint8Array(65_536)))),
    ];
    for (const [nth, fault] of faults.entries()) {
      const link = await rawLink(desk);
      await link.prove(key, host_id, { process: `p${nth}` });
      const asked = errorOf(hub.ask(host_id, get("/x"), limits()));
      await link.next("ask");
      fault(link);
      expect((await link.closed).code).toBe(1_002);
      expect(await asked).toMatchObject({ fault: "unreachable", sent: true });
    }
  });

  test("ignores frames of requests that there are not, and ends a link that has thousands of them", async () => {
    await using desk = await plainHub();
    const { host_id, key, hub } = desk;
    const link = await rawLink(desk);
    await link.prove(key, host_id);
    for (let id = 1_000; id < 2_000; id++) link.say({ t: "end", id });
    const asked = hub.ask(host_id, get("/x"), limits());
    const { id } = await link.next("ask");
    link.say({ t: "head", id, status: 204, type: "" });
    link.say({ t: "end", id });
    expect((await asked).status).toBe(204);
    for (let nth = 0; nth < 45_000; nth++) link.say({ t: "end", id: nth });
    expect((await link.closed).code).toBe(1_002);
  });

  test.each([
    ["pieces of a byte", (id: number) => pieceFrame(id, new Uint8Array(1))],
    ["credit for nothing", (id: number) => JSON.stringify({ t: "more", id, bytes: 0 })],
  ])("ends a link whose host answers with thousands of %s", async (_what, frameOf) => {
    await using desk = await plainHub();
    const { host_id, key, hub } = desk;
    const link = await rawLink(desk);
    await link.prove(key, host_id);
    const opening = hub.open(host_id, "/events", deadlineIn(60_000), 60_000);
    const { id } = await link.next("ask");
    link.say({ t: "head", id, status: 200, type: "text/event-stream" });
    const { pieces } = await opening;
    const read = errorOf(Array.fromAsync(pieces));
    const frame = frameOf(Number(id));
    for (let nth = 0; nth < 45_000; nth++) link.socket.send(frame);
    expect(await link.closed).toEqual({ code: 1_002, reason: "too many frames that carry little" });
    expect(await read).toMatchObject({ fault: "unreachable", message: "the link was lost" });
  });

  test("ends a link whose host says a thousand long frames", async () => {
    await using desk = await plainHub();
    const { host_id, key } = desk;
    const link = await rawLink(desk);
    await link.prove(key, host_id);
    const frame = JSON.stringify({ t: "more", id: 9, bytes: 0, x: Array.from({ length: 1_900 }, () => 1) });
    for (let nth = 0; nth < 1_000; nth++) link.socket.send(frame);
    expect(await link.closed).toEqual({ code: 1_002, reason: "too many frames that carry little" });
  });

  test("takes any bytes from a host, before and after it has proved who it is", async () => {
    await using desk = await plainHub();
    const { host_id, key, hub } = desk;
    const frame = fc.oneof(
      fc.string(),
      fc.json(),
      fc.uint8Array({ maxLength: 200 }),
      fc.record({
        t: fc.constantFrom("host", "head", "end", "more", "ask", "drain", "__proto__"),
        id: fc.oneof(fc.integer(), fc.constant(1), fc.double(), fc.string()),
        status: fc.oneof(fc.integer(), fc.constant(200)),
        type: fc.string(),
        bytes: fc.oneof(fc.integer(), fc.maxSafeNat()),
        host_id: fc.oneof(fc.string(), fc.constant(host_id)),
        signature: fc.string(),
        process: fc.string(),
        version: fc.string(),
        yields: fc.boolean(),
      }),
    );
    let nth = 0;
    const attack = async (frames: unknown[], proves: boolean) => {
      const link = await rawLink(desk);
      nth += 1;
      if (proves) {
        await link.prove(key, host_id, { process: `p${nth}` }).catch(() => {});
        hub.ask(host_id, get("/x"), limits(500)).catch(() => {});
      }
      for (const one of frames) {
        if (link.socket.readyState !== WebSocket.OPEN) break;
        if (one instanceof Uint8Array) link.socket.send(new Uint8Array(one));
        else link.socket.send(typeof one === "string" ? one : JSON.stringify(one));
      }
      link.socket.close();
      await link.closed;
    };
    await fc.assert(fc.asyncProperty(fc.array(frame, { maxLength: 20 }), fc.boolean(), attack), {
      numRuns: 60,
    });
    const answer = await fetch(`${desk.server.url}/health`);
    expect(answer.status).toBe(200);
  });

  test("ends the oldest of the connections that do not say who they are; a host still gets its link", async () => {
    await using desk = await plainHub({ max_client_connections: 5_000, max_connections: 5_000 });
    const { host_id, key, hub } = desk;
    const silent = await Promise.all(Array.from({ length: 1_100 }, () => rawLink(desk)));
    await Promise.race(silent.map(({ closed }) => closed));
    const link = await rawLink(desk);
    await link.prove(key, host_id);
    expect(hub.links()).toMatchObject([{ host_id, linked: true }]);
    for (const { socket } of silent) socket.terminate();
  });
});

describe("two hosts with one identity", () => {
  test("the newer has the link, both are notified, and the desk shows it", async () => {
    await using desk = await plainHub();
    const { host_id, key, hub } = desk;
    const older = await rawLink(desk);
    await older.prove(key, host_id, { process: "older" });
    const newer = await rawLink(desk);
    await newer.prove(key, host_id, { process: "newer" });
    expect(await older.next("replaced")).toMatchObject({ address: "127.0.0.1" });
    older.socket.close(4_001, "replaced");
    expect(await newer.next("twin")).toMatchObject({ address: "127.0.0.1" });
    expect(await untilEvent(desk, "link.replaced")).toMatchObject({ host_id, label: "member" });
    expect(hub.links()).toMatchObject([{ host_id, linked: true, twin: { address: "127.0.0.1" } }]);
    // The one that has lost it does not take it back while the other is there.
    const again = await rawLink(desk);
    expect(await errorOf(again.prove(key, host_id, { process: "older", yields: true }))).toBeDefined();
    expect((await again.closed).code).toBe(4_002);
  });

  test("a process that dials again is not another host", async () => {
    await using desk = await plainHub();
    const { host_id, key, hub } = desk;
    const first = await rawLink(desk);
    await first.prove(key, host_id, { process: "one" });
    const second = await rawLink(desk);
    await second.prove(key, host_id, { process: "one" });
    await first.closed;
    expect(hub.links()).toMatchObject([{ linked: true, twin: null }]);
    const bus = desk.service.events();
    const names = Array.from({ length: bus.newest }, (_, index) => bus.at(index + 1)?.type.name);
    expect(names.filter((name) => /^(link|host\.(up|down))/.test(name ?? ""))).toEqual(["host.up"]);
  });
});

test("a host that has left the address book loses its link", async () => {
  await using desk = await plainHub();
  const { host_id, key, hub } = desk;
  const link = await rawLink(desk);
  await link.prove(key, host_id);
  await (await desk.service.addressBook()).remove("member");
  expect((await link.closed).code).toBe(4_000);
  await until(() => hub.links().length === 0);
});

test("while the address book cannot be read, links stay up and nobody gets one; all is well once it is mended", async () => {
  await using desk = await plainHub();
  const { host_id, key, hub } = desk;
  using intervals = spyOn(globalThis, "setInterval");
  const link = await rawLink(desk);
  await link.prove(key, host_id);
  const looks = intervals.mock.calls.flatMap(([look, ms]) => (ms === 5_000 ? [look as () => void] : []));
  expect(looks).toHaveLength(1);
  const { adminHosts } = desk.files;
  renameSync(adminHosts, `${adminHosts}.kept`);
  writeFileSync(adminHosts, "{ broken");
  const stranger = {
    t: "host",
    host_id: "0".repeat(32),
    signature: "x",
    process: "p",
    version: "1",
    yields: false,
  };
  const dial = async (frame: (nonce: string) => object) => {
    const other = await rawLink(desk);
    const { nonce } = await other.next("hello");
    other.say(frame(String(nonce)));
    return other.closed;
  };
  const member = (nonce: string) => ({
    ...stranger,
    host_id,
    signature: key.sign(linkMessage(nonce, "", host_id)),
  });
  const refused = { code: 1_013, reason: "the desk cannot read its address book" };
  expect(await dial(() => stranger)).toEqual(refused);
  expect(await dial(member)).toEqual(refused);
  for (const look of looks) look();
  expect(hub.links()).toMatchObject([{ host_id, label: "member", linked: true }]);
  renameSync(`${adminHosts}.kept`, adminHosts);
  await until(async () => (await dial(() => stranger)).code === 4_000);
  link.socket.terminate();
  const again = await rawLink(desk);
  await again.prove(key, host_id);
  expect(again.socket.readyState).toBe(WebSocket.OPEN);
});

test("a host that joins gets its link at once, also where others are linked already", async () => {
  await using desk = await plainHub();
  const first = await rawLink(desk);
  await first.prove(desk.key, desk.host_id);
  const key = openSigningKey(`${desk.configDir}/other_key`);
  const host_id = hostIdOf(key.publicKey);
  const member = { host_id, host_key: key.publicKey, nonce: "n".repeat(22) };
  const book = await desk.service.addressBook();
  await book.add({ label: "other", base_url: `link:${host_id}`, tags: [], member });
  const second = await rawLink(desk);
  await second.prove(key, host_id);
  expect(desk.hub.counts().links).toBe(2);
});
