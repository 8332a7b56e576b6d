/** Naming what differs between two builds. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { compared, differences } from "../../build/compare";

const filler = Buffer.alloc(200, ".");
const file = (...texts: readonly string[]) =>
  Buffer.concat(texts.flatMap((text) => [Buffer.from(text), filler]));

test("the same bytes are one line, and nothing else", () => {
  expect(compared("svc-linux-x64", file("a"), file("a"))).toEqual(["svc-linux-x64: the same 201 bytes"]);
});

test("each place that differs is named by its offset and what stands there in both", () => {
  const first = file("built in /home/ann/svc", "the same", "at 10:00");
  const second = file("built in /home/bob/svc", "the same", "at 11:30");
  expect(differences(first, second)).toMatchObject([
    { offset: 15, lengths: [3, 3] },
    { offset: 434, lengths: [3, 3] },
  ]);
  const lines = compared("svc", first, second);
  expect(lines[0]).toBe("svc: differs in 2 places");
  expect(lines.slice(1, 4)).toEqual([
    "  at 15, length 3:",
    `    built in /home/ann/svc${".".repeat(20)}`,
    `    built in /home/bob/svc${".".repeat(20)}`,
  ]);
});

test("text is listed before the code that differs with it", () => {
  const code = (byte: number) => Buffer.concat([Buffer.alloc(50, byte), filler]);
  const [first, second] = ["a path of its own", "another path, yes"].map((path, nth) =>
    Buffer.concat([code(nth), file(path), code(nth + 2)]),
  );
  expect(compared("svc", first ?? filler, second ?? filler)[1]).toStartWith("  at 251, length ");
});

test("where one is longer, the difference is what was put in", () => {
  const [first, second] = [file("one", "two"), file("one", "and some more", "two")];
  expect(differences(first, second)).toMatchObject([{ offset: 203, lengths: [0, 213] }]);
  expect(compared("svc", first, second)[0]).toBe("svc: differs in one place, 406 and 619 bytes");
});

test("outside of the differences both files are equal, and each difference has an end of it", () => {
  const bytes = fc.uint8Array({ minLength: 0, maxLength: 300 });
  fc.assert(
    fc.property(bytes, bytes, (one, other) => {
      const [first, second] = [Buffer.from(one), Buffer.from(other)];
      const found = differences(first, second);
      let [from, there] = [0, 0];
      for (const { offset, lengths } of found) {
        expect(first.subarray(from, offset).equals(second.subarray(there, offset))).toBe(true);
        expect(Math.max(...lengths)).toBeGreaterThan(0);
        [from, there] = [offset + lengths[0], offset + lengths[1]];
      }
      expect(first.subarray(from).equals(second.subarray(there))).toBe(true);
    }),
  );
});
