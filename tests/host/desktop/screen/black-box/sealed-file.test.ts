/** Files of records that nobody reads without the key, and that may end anywhere. */
import { expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import {
  createSealedFile,
  newRunKey,
  readSealedFile,
} from "../../../../../src/host/desktop/screen/black-box/sealed-file";
import { temporaryFolder } from "../../../../support";
import { KEY } from "./support";

const WORDS = ["the first words", "", "and the last ones, which nobody may read"];

function written(path: string, words: readonly string[] = WORDS) {
  const file = createSealedFile(path, newRunKey(KEY), "texts");
  for (const word of words) file.append(Buffer.from(word));
  file.close();
  return readFileSync(path);
}

const read = (path: string, key = KEY, purpose = "texts") =>
  Array.from(readSealedFile(path, key, purpose), (record) => record.toString());

test("records are read as they were written, by who has the key", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "a");
  written(path);
  expect(read(path)).toEqual(WORDS);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("nothing of a record can be read in the file, and nothing without the key", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "a");
  const bytes = written(path);
  for (const word of ["first", "words", "nobody"]) expect(bytes.includes(word)).toBe(false);
  expect(() => read(path, "cd".repeat(32))).toThrow("another key");
  expect(() => read(path, KEY, "tiles")).toThrow("another key");
});

test("a file that ends anywhere is read up to its last whole record", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "a");
  const bytes = written(path);
  fc.assert(
    fc.property(fc.nat({ max: bytes.length }), (length) => {
      writeFileSync(path, bytes.subarray(0, length));
      const found = read(path);
      expect(found).toEqual(WORDS.slice(0, found.length));
      if (length === bytes.length) expect(found).toHaveLength(WORDS.length);
    }),
  );
  writeFileSync(path, bytes.subarray(0, bytes.length - 1));
  expect(read(path)).toEqual(WORDS.slice(0, 2));
});

test("what was changed in a file is not read, and nothing after it", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "a");
  const bytes = written(path);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  writeFileSync(path, bytes);
  expect(read(path)).toEqual(WORDS.slice(0, 2));
});

test("the key of a run reads no file of another run", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "a");
  written(path);
  // As the key of a host, it makes other keys.
  expect(() => read(path, newRunKey(KEY).key)).toThrow("another key");
  expect(newRunKey(KEY).key).not.toBe(newRunKey(KEY).key);
});
