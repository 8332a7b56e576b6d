/** What is sent to a compositor and read from it: the table of messages, the wire format, the keymap, and descriptors over a socket. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { protocolTable, TABLE } from "../../../../build/wayland/table";
import { keysymOfCharacter } from "../../../../src/host/desktop/keys";
import { connectWayland } from "../../../../src/host/desktop/wayland/connection";
import { Keymap } from "../../../../src/host/desktop/wayland/keymap";
import { decode, encode, HEAD_SIZE } from "../../../../src/host/desktop/wayland/wire";
import { temporaryFolder } from "../../../support";

test("the table of messages is what the texts of the protocols say", async () => {
  expect(await Bun.file(TABLE).text()).toBe(await protocolTable());
});

const VALUE = fc.oneof(
  fc.record({ type: fc.constantFrom("uint", "object"), value: fc.integer({ min: 0, max: 0xffff_ffff }) }),
  fc.record({ type: fc.constant("int"), value: fc.integer() }),
  fc.record({ type: fc.constant("fixed"), value: fc.integer().map((whole) => whole / 256) }),
  fc.record({
    type: fc.constant("string"),
    value: fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0") && text.isWellFormed()),
  }),
  fc.record({ type: fc.constant("array"), value: fc.uint8Array() }),
  fc.record({ type: fc.constant("fd"), value: fc.nat() }),
);

test("a message is read as it was written, and its head says its size", () => {
  fc.assert(
    fc.property(fc.array(VALUE, { maxLength: 8 }), fc.nat(0xffff), (parts, opcode) => {
      const types = parts.map(({ type }) => type);
      const values = parts.map(({ value }) => value);
      const { bytes, descriptors } = encode(7, opcode, types, values);
      expect(bytes.readUInt32LE(0)).toBe(7);
      expect(bytes.readUInt32LE(4) & 0xffff).toBe(opcode);
      expect(bytes.readUInt32LE(4) >>> 16).toBe(bytes.length);
      expect(decode(types, bytes.subarray(HEAD_SIZE), descriptors)).toEqual(values);
    }),
  );
});

const CHARACTER = fc.integer({ min: 0x20, max: 0x1_fbff }).map((code) => String.fromCodePoint(code));

test("a keymap has a key for each character that it was given, and no key has two", () => {
  fc.assert(
    fc.property(fc.array(CHARACTER, { maxLength: 64 }), (all) => {
      const keymap = new Keymap();
      for (let round = 0; round < 3; round++) {
        const keysyms = all.map((character) => keysymOfCharacter(character));
        expect(keymap.add(keysyms, new Set())).toMatchObject({ count: all.length });
        const places = new Map(keysyms.map((keysym) => [keysym, keymap.placeOf(keysym)]));
        expect([...places.values()]).not.toContain(undefined);
        expect(new Set([...places.values()].map((place) => JSON.stringify(place))).size).toBe(places.size);
      }
    }),
  );
});

test("letters are at the codes of their keys, with Shift where they need it", () => {
  const keymap = new Keymap();
  expect(keymap.placeOf(keysymOfCharacter("a"))).toEqual({ code: 30, shift: false });
  expect(keymap.placeOf(keysymOfCharacter("A"))).toEqual({ code: 30, shift: true });
  expect(keymap.placeOf(0xff0d)).toEqual({ code: 28, shift: false });
  expect(keymap.placeOf(keysymOfCharacter("ä"))).toBeUndefined();
});

test("a key that is down keeps its character while others are lent theirs", () => {
  const keymap = new Keymap();
  keymap.add([keysymOfCharacter("世")], new Set());
  const code = keymap.placeOf(keysymOfCharacter("世"))?.code ?? 0;
  const others = Array.from({ length: 200 }, (_, nth) => 0x0100_4e00 + nth);
  for (let at = 0; at < others.length; at += 50) keymap.add(others.slice(at, at + 50), new Set([code]));
  expect(keymap.placeOf(keysymOfCharacter("世"))?.code).toBe(code);
});

test("where no compositor answers, the variable that names it is quoted", async () => {
  using folder = temporaryFolder();
  const open = (env: NodeJS.ProcessEnv) => connectWayland(env, () => {});
  await expect(open({})).rejects.toThrow("no display: WAYLAND_DISPLAY is not set");
  await expect(open({ WAYLAND_DISPLAY: "wayland-7" })).rejects.toThrow("XDG_RUNTIME_DIR is not set");
  const gone = { WAYLAND_DISPLAY: "wayland-7", XDG_RUNTIME_DIR: folder.path };
  await expect(open(gone)).rejects.toMatchObject({
    code: "no_screen",
    message: 'no display: no Wayland compositor answers at WAYLAND_DISPLAY "wayland-7"',
  });
});

test("a compositor that goes away in the middle fails what waits for it", async () => {
  using folder = temporaryFolder();
  const server = Bun.listen({
    unix: `${folder.path}/wayland-0`,
    socket: { data: (socket) => void socket.end() },
  });
  const env = { WAYLAND_DISPLAY: `${folder.path}/wayland-0` };
  await expect(connectWayland(env, () => {})).rejects.toThrow("the Wayland compositor went away");
  server.stop(true);
});
