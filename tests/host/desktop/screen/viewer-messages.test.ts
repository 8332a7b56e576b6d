/** What a viewer sends, cut into messages, whatever it sends. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  cutMessage,
  MAX_MESSAGE,
  ProtocolError,
  ReceiveBuffer,
  type ViewerMessage,
} from "../../../../src/host/desktop/screen/child/viewer-messages";

/** The messages in `bytes`, and how many bytes are left; undefined when they are not those of a viewer. */
function messagesIn(bytes: Buffer): { messages: ViewerMessage[]; left: number } | undefined {
  const messages: ViewerMessage[] = [];
  let rest = bytes;
  try {
    for (;;) {
      const cut = cutMessage(rest);
      if ("more" in cut) {
        expect(cut.more).toBeGreaterThan(rest.length);
        expect(cut.more).toBeLessThanOrEqual(MAX_MESSAGE);
        return { messages, left: rest.length };
      }
      expect(cut.length).toBeGreaterThan(0);
      if (cut.message.kind !== "too long") expect(cut.length).toBeLessThanOrEqual(MAX_MESSAGE);
      if (cut.length > rest.length) return { messages, left: 0 };
      messages.push(cut.message);
      rest = rest.subarray(cut.length);
    }
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

const u16 = (value: number) => [value >> 8, value & 0xff];
const u32 = (value: number) => [...u16(value >>> 16), ...u16(value & 0xffff)];

const key = fc.record({ down: fc.boolean(), keysym: fc.nat(0xffff_ffff) }).map(({ down, keysym }) => ({
  message: { kind: "key", down, keysym } as const,
  bytes: [4, down ? 1 : 0, 0, 0, ...u32(keysym)],
}));
const pointer = fc.record({ buttons: fc.nat(255), x: fc.nat(65_535), y: fc.nat(65_535) }).map((message) => ({
  message: { kind: "pointer", ...message } as const,
  bytes: [5, message.buttons, ...u16(message.x), ...u16(message.y)],
}));
const encodings = fc.array(fc.integer(), { maxLength: 20 }).map((numbers) => ({
  message: { kind: "encodings", encodings: numbers } as const,
  bytes: [2, 0, ...u16(numbers.length), ...numbers.flatMap((number) => u32(number >>> 0))],
}));
const cut = fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)) }).map((text) => ({
  message: { kind: "cut", text } as const,
  bytes: [6, 0, 0, 0, ...u32(text.length), ...Buffer.from(text, "latin1")],
}));
const request = fc.boolean().map((incremental) => ({
  message: { kind: "request", incremental } as const,
  bytes: [3, incremental ? 1 : 0, 0, 0, 0, 0, 0, 10, 0, 10],
}));
const sent = fc.array(fc.oneof(key, pointer, encodings, cut, request));

describe("messages", () => {
  test("are read as they were sent, wherever the stream is cut", () => {
    fc.assert(
      fc.property(sent, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (all, sizes) => {
        const stream = Buffer.from(all.flatMap(({ bytes }) => bytes));
        const unread = new ReceiveBuffer();
        const found: ViewerMessage[] = [];
        for (let at = 0, nth = 0; at < stream.length; nth++) {
          const size = sizes[nth % sizes.length] ?? 1;
          unread.add(stream.subarray(at, at + size));
          at += size;
          for (;;) {
            const next = cutMessage(unread.peek());
            if ("more" in next) break;
            unread.drop(next.length);
            found.push(next.message);
          }
        }
        expect(found).toEqual(all.map(({ message }) => message));
        expect(unread.length).toBe(0);
      }),
    );
  });

  test("of garbage are refused or waited for, and never ask for more than one message holds", () => {
    const start = fc.constantFrom(0, 2, 3, 4, 5, 6, 150, 248, 251, 255);
    fc.assert(
      fc.property(start, fc.uint8Array({ maxLength: 300 }), (type, bytes) => {
        messagesIn(Buffer.from([type, ...bytes]));
      }),
      { numRuns: 2_000 },
    );
  });

  test("of a type that was not offered are refused", () => {
    expect(() => cutMessage(Buffer.of(255, 0))).toThrow(
      "a message of type 255, which this server did not offer",
    );
  });

  test("too long to be taken are left out, and what follows is read", () => {
    const unread = new ReceiveBuffer();
    const size = 3_000_000_00;
    unread.add(Buffer.from([6, 0, 0, 0, ...u32(size)]));
    const long = cutMessage(unread.peek());
    expect(long).toEqual({ message: { kind: "too long" }, length: 8 + size });
    if ("length" in long) unread.drop(long.length);
    const chunk = Buffer.alloc(1_000_000);
    for (let left = size; left > 0; left -= chunk.length) unread.add(chunk);
    expect(unread.length).toBe(0);
    unread.add(Buffer.from([4, 1, 0, 0, ...u32(97)]));
    expect(cutMessage(unread.peek())).toMatchObject({ message: { kind: "key", keysym: 97 } });
  });

  test.each([
    ["a colour map", [8, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "indexes into a colour map"],
    ["24 bits", [24, 24, 0, 1, 0, 255, 0, 255, 0, 255, 0, 8, 16], "expected 8, 16 or 32"],
    ["colours that are no bits", [32, 24, 0, 1, 0, 254, 0, 255, 0, 255, 0, 8, 16], "colours from 0 to 254"],
    [
      "colours outside the pixel",
      [8, 8, 0, 1, 0, 7, 0, 7, 0, 3, 0, 3, 7],
      "colours from 0 to 3 at bit 7 of 8",
    ],
  ])("that want pixels of %s are refused with the reason", (_name, format, reason) => {
    const message = Buffer.from([0, 0, 0, 0, ...format, 0, 0, 0]);
    expect(() => cutMessage(message)).toThrow(reason);
  });
});
