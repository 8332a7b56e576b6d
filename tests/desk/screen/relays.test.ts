/** Streams of viewers that go over a desk, with a stand-in for the host's end and for the browser's. */
import { expect, test } from "bun:test";
import { Duplex } from "node:stream";
import { OWNER } from "../../../src/core/rights";
import type { Socket } from "../../../src/core/socket";
import { createScreenRelays } from "../../../src/desk/screen/relays";
import type { ScreenStream } from "../../../src/wire/screen/stream";
import { CLOSE, type Ending } from "../../../src/wire/screen/viewer";
import { until } from "../../support";

const CALLER = { grant: OWNER, client: "192.0.2.7" };

/** The stream of a viewer at a host: what `host` sends, and what it was sent. */
function streamOf(viewer: string) {
  const taken: Buffer[] = [];
  let asked = 0;
  const bytes = new Duplex({
    highWaterMark: 16_384,
    read() {
      asked += 1;
    },
    write(chunk: Buffer, _encoding, done) {
      taken.push(chunk);
      done();
    },
  });
  const { promise: ended, resolve: end } = Promise.withResolvers<Ending>();
  const stream: ScreenStream = { viewer, bytes, ended };
  return { stream, bytes, end, taken, asked: () => asked };
}

/** The connection of a browser that reads nothing by itself. */
function browserOf() {
  let unsent = 0;
  const closes: Array<[number, string]> = [];
  const socket: Socket = {
    send: (message) => {
      unsent += message.length;
    },
    unsent: () => unsent,
    close: (...end) => closes.push(end),
    terminate() {},
    accept() {},
    refuse() {},
  };
  return {
    socket,
    closes,
    read() {
      unsent = 0;
    },
    unsent: () => unsent,
  };
}

test("a ticket is good once, and for the address that asked for it", async () => {
  const relays = createScreenRelays();
  const host = streamOf("v1");
  const { ticket, viewer } = await relays.open(CALLER, async () => host.stream);
  expect(viewer).toBe("v1");
  expect(relays.join(ticket, "192.0.2.8")).toBeUndefined();
  expect(relays.join(`${ticket}x`, CALLER.client)).toBeUndefined();
  expect(relays.join(ticket, CALLER.client)).toBeDefined();
  expect(relays.join(ticket, CALLER.client)).toBeUndefined();
  host.bytes.destroy();
});

test("a stream that nobody comes for ends with its ticket", async () => {
  const relays = createScreenRelays(20);
  const host = streamOf("v1");
  const { ticket } = await relays.open(CALLER, async () => host.stream);
  await until("the end", () => host.bytes.destroyed);
  expect(relays.join(ticket, CALLER.client)).toBeUndefined();
});

test("while the browser reads nothing, little of the host's stream is read", async () => {
  const relays = createScreenRelays();
  const host = streamOf("v1");
  const { ticket } = await relays.open(CALLER, async () => host.stream);
  const answer = relays.join(ticket, CALLER.client);
  const browser = browserOf();
  answer?.handlers.opened(browser.socket);
  for (let sent = 0; sent < 64; sent += 1) host.bytes.push(Buffer.alloc(16_384));
  await until("a full browser", () => host.bytes.isPaused());
  expect(browser.unsent()).toBeLessThanOrEqual(65_536 + 16_384);
  browser.read();
  answer?.handlers.drained?.();
  await until("more of it", () => browser.unsent() > 0);
  answer?.handlers.closed(1_000);
  expect(host.bytes.destroyed).toBe(true);
});

test("how the host ends a viewer is how the connection of the browser ends", async () => {
  const relays = createScreenRelays();
  const host = streamOf("v1");
  const { ticket } = await relays.open(CALLER, async () => host.stream);
  const answer = relays.join(ticket, CALLER.client);
  const browser = browserOf();
  answer?.handlers.opened(browser.socket);
  answer?.handlers.message(Buffer.from("key"));
  expect(Buffer.concat(host.taken).toString()).toBe("key");
  host.end({ code: CLOSE.ended, reason: "the host ended this view" });
  await until("the end", () => browser.closes.length > 0);
  expect(browser.closes).toEqual([[CLOSE.ended, "the host ended this view"]]);
  expect(host.bytes.destroyed).toBe(true);
});

test("there are sixteen at most, those included that are being opened, and one that has failed leaves its place", async () => {
  const relays = createScreenRelays();
  const pending = Promise.withResolvers<ScreenStream>();
  const opening = Array.from({ length: 16 }, () => relays.open(CALLER, () => pending.promise));
  const another = () => relays.open(CALLER, async () => streamOf("v2").stream);
  await expect(another()).rejects.toThrow("16 viewers at other hosts over this desk");
  pending.reject(new Error("the host is off"));
  await Promise.allSettled(opening);
  expect((await another()).viewer).toBe("v2");
  relays.stop();
});
