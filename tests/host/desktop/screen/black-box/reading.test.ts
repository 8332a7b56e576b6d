/** Looking for texts in the black box, and its spans. */
import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  areasEntry,
  packedTexts,
  sizeEntry,
  type TextEntry,
} from "../../../../../src/host/desktop/screen/black-box/entries";
import {
  findTexts,
  momentAt,
  spansIn,
  writeFilm,
} from "../../../../../src/host/desktop/screen/black-box/reading";
import { createSealedFile, newRunKey } from "../../../../../src/host/desktop/screen/black-box/sealed-file";
import { filesOf, newSegmentPath } from "../../../../../src/host/desktop/screen/black-box/segments";
import { temporaryFolder } from "../../../../support";
import { BLUE, colourAt, GREEN, KEY, RED } from "./support";

const NOON = 1_790_000_000_000;
const SECOND = 1_000;
const SIZE = { width: 64, height: 64 };

/** Writes a segment: its texts, and a picture of one colour for each time. */
function segment(
  folder: string,
  entries: readonly TextEntry[],
  pictures: ReadonlyArray<readonly [at: number, colour: number]> = [],
  key = KEY,
) {
  const path = newSegmentPath(folder, Math.min(...entries.map(({ at }) => at)));
  const [tiles, texts] = [
    createSealedFile(filesOf(path).tiles, newRunKey(key), "tiles"),
    createSealedFile(filesOf(path).texts, newRunKey(key), "texts"),
  ];
  tiles.append(sizeEntry(NOON, SIZE));
  for (const [at, colour] of pictures) {
    const pixels = new Int32Array(64 * 64).fill(colour);
    tiles.append(areasEntry(at, [{ x: 0, y: 0, ...SIZE }], new Uint8Array(pixels.buffer)));
  }
  for (const entry of entries) texts.append(packedTexts([entry]));
  tiles.close();
  texts.close();
  return path;
}

const title = (at: number, ...titles: string[]): TextEntry => ({
  at,
  windows: titles.map((one) => ({ title: one, program: "app", focused: false })),
});
const texts = (at: number, window: string, ...words: string[]): TextEntry => ({
  ...{ at, window, program: "app", texts: words },
});
const alive = (at: number): TextEntry => ({ at, gap: false });
const gap = (at: number): TextEntry => ({ at, gap: true });

const find = (folder: string, text: string, more: Partial<Parameters<typeof findTexts>[1]> = {}) =>
  findTexts({ folder, key: KEY }, { text, from: 0, to: Number.MAX_SAFE_INTEGER, most: 10, ...more });

const at = (seconds: number) => NOON + seconds * SECOND;

test("a title is found in any case, with the time from which and until which it was there", () => {
  using folder = temporaryFolder();
  segment(folder.path, [
    title(at(0), "Mail"),
    title(at(10), "Mail", "Error 0x80070005"),
    title(at(30), "Mail"),
  ]);
  expect(find(folder.path, "ERROR")).toEqual({
    found: [
      {
        ...{ kind: "title", from: at(10), to: at(30), window: "Error 0x80070005", program: "app" },
        text: "Error 0x80070005",
      },
    ],
    unread: 0,
    left_off: 0,
  });
});

test("a text is found by its line, once for as long as it was there", () => {
  using folder = temporaryFolder();
  segment(folder.path, [
    texts(at(0), "Shell", "first line\nfailed: 0x80070005 here\nlast"),
    texts(at(5), "Shell", "first line\nfailed: 0x80070005 here\nlast and more"),
    texts(at(9), "Shell", "nothing"),
    texts(at(20), "Shell", "failed: 0x80070005 here"),
  ]);
  const { found } = find(folder.path, "0x80070005");
  expect(found.map(({ kind, from, to, text }) => [kind, from, to, text])).toEqual([
    ["text", at(20), at(20), "failed: 0x80070005 here"],
    ["text", at(0), at(9), "failed: 0x80070005 here"],
  ]);
});

test("a text that stands is found until it goes: with its window, another reading, or the recording", () => {
  using folder = temporaryFolder();
  segment(folder.path, [
    title(at(0), "Shell", "Mail"),
    texts(at(1), "Shell", "failed: 0x80070005"),
    // It is written once while it stands.
    ...[20, 40, 60, 80].map((second) => alive(at(second))),
    title(at(90), "Mail"),
    texts(at(100), "Mail", "0x80070005 was seen"),
    ...[120, 140].map((second) => alive(at(second))),
  ]);
  segment(folder.path, [
    title(at(150), "Mail"),
    ...[170, 190].map((second) => alive(at(second))),
    texts(at(200), "Mail"),
    title(at(210), "Mail", "Shell"),
    texts(at(211), "Shell", "0x80070005 again"),
    ...[230, 250].map((second) => alive(at(second))),
    gap(at(260)),
  ]);
  const { found } = find(folder.path, "0x80070005");
  expect(found.map(({ from, to, window }) => [from, to, window])).toEqual([
    [at(211), at(260), "Shell"],
    [at(100), at(200), "Mail"],
    [at(1), at(90), "Shell"],
  ]);
  // Of a span in the middle of it, too.
  expect(find(folder.path, "failed", { from: at(30), to: at(50) }).found).toMatchObject([
    { from: at(1), to: at(40) },
  ]);
});

test("a text of a window that no list names stands until it is read anew", () => {
  using folder = temporaryFolder();
  segment(folder.path, [
    texts(at(0), "Unlisted", "error 5"),
    alive(at(20)),
    title(at(30), "Mail"),
    alive(at(40)),
    texts(at(50), "Unlisted", "fine"),
  ]);
  expect(find(folder.path, "error").found).toMatchObject([{ from: at(0), to: at(50) }]);
});

test("an answer has a largest size, whatever titles programs give their windows; what is left off is counted", () => {
  using folder = temporaryFolder();
  const long = (nth: number) => `${nth} 0x80070005 ${"x".repeat(100_000)}`;
  segment(
    folder.path,
    Array.from({ length: 1_500 }, (_, nth) => title(at(nth), long(nth))),
  );
  const answer = find(folder.path, "0x80070005", { most: 1_000 });
  expect(JSON.stringify(answer).length).toBeLessThan(150_000);
  expect(answer.found.length).toBeGreaterThan(100);
  expect(answer.found[0]?.text).toStartWith("1499 ");
  expect(answer.found.length + answer.left_off).toBe(1_500);
});

test("what goes on in the next segment is one find, and what was paused between is not", () => {
  using folder = temporaryFolder();
  segment(folder.path, [title(at(0), "Editor"), alive(at(20))]);
  segment(folder.path, [title(at(30), "Editor"), gap(at(40))]);
  segment(folder.path, [title(at(50), "Editor"), alive(at(60))]);
  expect(find(folder.path, "editor").found.map(({ from, to }) => [from, to])).toEqual([
    [at(50), at(60)],
    [at(0), at(40)],
  ]);
});

test("only so many are returned, of a span of time alone", () => {
  using folder = temporaryFolder();
  segment(
    folder.path,
    Array.from({ length: 20 }, (_, nth) => title(at(nth), `Page ${nth}`)),
  );
  expect(find(folder.path, "page", { most: 2 }).found.map(({ text }) => text)).toEqual([
    "Page 19",
    "Page 18",
  ]);
  const some = find(folder.path, "page", { from: at(3), to: at(4) });
  expect(some.found.map(({ text }) => text)).toEqual(["Page 4", "Page 3"]);
});

test("what was written with another key is counted and not read", () => {
  using folder = temporaryFolder();
  segment(folder.path, [title(at(0), "Old")], [], "cd".repeat(32));
  segment(folder.path, [title(at(10), "Older and new")]);
  expect(find(folder.path, "old")).toMatchObject({ found: [{ text: "Older and new" }], unread: 1 });
});

test("the picture of a moment is the last one before it", () => {
  using folder = temporaryFolder();
  segment(
    folder.path,
    [alive(at(0)), alive(at(20)), gap(at(40)), alive(at(50))],
    [
      [at(0), RED],
      [at(10), GREEN],
      [at(50), BLUE],
    ],
  );
  const place = { folder: folder.path, key: KEY };
  const colourOf = (seconds: number) => colourAt(momentAt(place, at(seconds)), 1, 1);
  expect([colourOf(0), colourOf(9.9), colourOf(10), colourOf(39)]).toEqual([RED, RED, GREEN, GREEN]);
  expect(momentAt(place, at(30)).since).toBe(at(10));
  expect(() => colourOf(45)).toThrow("paused");
  expect(colourOf(55)).toBe(BLUE);
  expect(() => colourOf(200)).toThrow("it ended at");
});

test("a segment that ends in the middle of a picture shows the one before", () => {
  using folder = temporaryFolder();
  const path = segment(
    folder.path,
    [alive(at(0)), alive(at(10))],
    [
      [at(0), RED],
      [at(10), GREEN],
    ],
  );
  const file = filesOf(path).tiles;
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.subarray(0, bytes.length - 3));
  expect(colourAt(momentAt({ folder: folder.path, key: KEY }, at(15)), 1, 1)).toBe(RED);
});

test("spans are what was recorded without a break of a minute", () => {
  using folder = temporaryFolder();
  segment(folder.path, [alive(at(0)), alive(at(20))]);
  segment(folder.path, [alive(at(40)), alive(at(60))]);
  segment(folder.path, [alive(at(300)), gap(at(310))]);
  expect(spansIn({ folder: folder.path, key: KEY })).toEqual([
    { from: at(0), to: at(60) },
    { from: at(300), to: at(310) },
  ]);
});

test("the film of a span has its pictures, with the time between them", async () => {
  using folder = temporaryFolder();
  const pictures = [0, 4, 8, 12].map(
    (seconds, nth) => [at(seconds), [RED, GREEN, BLUE, RED][nth] ?? 0] as const,
  );
  segment(folder.path, [alive(at(0)), alive(at(12))], pictures);
  const file = join(folder.path, "film.webm");
  const place = { folder: folder.path, key: KEY };
  const request = { file, fps: 2, maxBytes: 10_000_000 };
  const film = await writeFilm(place, { ...request, from: at(2), to: at(9) });
  expect(film).toMatchObject({ pictures: 3, width: 64, height: 64 });
  expect(film.seconds).toBeWithin(6, 9);
  expect(readFileSync(file).toString("hex", 0, 4)).toBe("1a45dfa3");
  await expect(writeFilm(place, { ...request, from: at(500), to: at(600) })).rejects.toThrow("nothing");
});

test("a segment that cannot be read takes nothing from the spans, or the film, of the others", async () => {
  using folder = temporaryFolder();
  segment(folder.path, [alive(at(0)), alive(at(5)), gap(at(10))], [[at(0), RED]]);
  segment(folder.path, [alive(at(100)), gap(at(110))], [[at(100), RED]], "cd".repeat(32));
  segment(folder.path, [alive(at(200)), alive(at(205)), gap(at(210))], [[at(200), GREEN]]);
  const place = { folder: folder.path, key: KEY };
  expect(spansIn(place)).toEqual([
    { from: at(0), to: at(10) },
    { from: at(200), to: at(210) },
  ]);
  const file = join(folder.path, "film.avi");
  const film = await writeFilm(place, { from: at(0), to: at(210), file, fps: 2, maxBytes: 1_000_000 });
  expect(film.pictures).toBe(2);
});

test("where no segment can be read, it is said why", async () => {
  using folder = temporaryFolder();
  segment(folder.path, [alive(at(0)), gap(at(10))], [[at(0), RED]], "cd".repeat(32));
  const place = { folder: folder.path, key: KEY };
  expect(() => spansIn(place)).toThrow("another key");
  const film = { from: at(0), to: at(10), file: join(folder.path, "f.avi"), fps: 2, maxBytes: 1_000_000 };
  expect(writeFilm(place, film)).rejects.toThrow("another key");
});
