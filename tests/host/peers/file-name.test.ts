import { expect, test } from "bun:test";
import { join, resolve, sep } from "node:path";
import fc from "fast-check";
import { foldName, parseName } from "../../../src/host/peers/file-name";
import { Failure } from "../../../src/lib/errors";

test.each([
  "..",
  "../x",
  "a/../b",
  "a/..",
  ".",
  "./a",
  "/etc/passwd",
  "a//b",
  "a/",
  "",
  "C:\\x",
  "c:x",
  "C:/x",
  "a\\b",
  "a\0b",
  "a\nb",
  "\u007f",
  "a.",
  "a ",
  "dir./x",
  "CON",
  "con.txt",
  "a/NUL",
  "Lpt1.log",
  "COM¹",
  "\ud800",
  "x".repeat(256),
  "é".repeat(128),
  Array(65).fill("d").join("/"),
  Array(20).fill("d".repeat(200)).join("/"),
])("refuses the name %j", (name) => {
  expect(() => parseName(name)).toThrow(Failure);
});

test("accepts names in any script, in NFC", () => {
  expect(parseName("Berichte/Ме́сяц/cafe\u0301 – 日本 (1).txt")).toEqual([
    "Berichte",
    "Ме́сяц",
    "caf\u00e9 – 日本 (1).txt",
  ]);
  expect(parseName("console.log/nullable/.hidden/10:30")).toHaveLength(4);
});

test("no accepted name leads out of a folder", () => {
  const piece = fc.oneof(
    fc.constantFrom("..", ".", "/", "\\", "C:", "\0", "~", "a", "con", "%2e%2e", "．．"),
    fc.string({ unit: "binary", maxLength: 6 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.constantFrom("", "/"), (pieces, glue) => {
      let parts: string[];
      try {
        parts = parseName(pieces.join(glue));
      } catch (error) {
        expect(error).toBeInstanceOf(Failure);
        return;
      }
      expect(resolve(join("/inbox", ...parts)).startsWith(`/inbox${sep}`)).toBe(true);
      expect(parts.join("/")).toBe(parts.join("/").normalize("NFC"));
    }),
    { numRuns: 2_000 },
  );
});

test("names that differ only in case or composition fold to one", () => {
  expect(foldName("A/Stra\u00dfe/CAFE\u0301")).toBe(foldName("a/STRASSE/caf\u00e9"));
  expect(foldName("a")).not.toBe(foldName("b"));
});
