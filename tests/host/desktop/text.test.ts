/** Text on the screen, read by tesseract from a real window, and the data of languages that a person adds. */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import * as v from "valibot";
import type { Picture } from "../../../src/host/desktop/backend";
import { decodePng } from "../../../src/host/desktop/images/decode";
import { boxesOf, gapNear } from "../../../src/host/desktop/text/blocks";
import { enlarged } from "../../../src/host/desktop/text/clean";
import { findPattern, findText, nearestText } from "../../../src/host/desktop/text/find";
import { groundsOf } from "../../../src/host/desktop/text/ground";
import { addLanguage, faultOf, listLanguages, removeLanguage } from "../../../src/host/desktop/text/language";
import { type Page, type PageOptions, pageOf } from "../../../src/host/desktop/text/page";
import { createPattern } from "../../../src/host/desktop/text/pattern";
import { createReader } from "../../../src/host/desktop/text/reader";
import { coreFile } from "../../../src/host/desktop/text/wasm-core";
import { focusByTitle } from "../../../src/host/desktop/windows";
import { silentLog } from "../../../src/lib/log";
import { Requester } from "../../../src/lib/slots";
import { runActions, temporaryFolder, testService, testWith, until } from "../../support";
import { desktopOn, forever, PROGRAMS, startDisplay } from "./support";

setDefaultTimeout(180_000);
const testReading = testWith(...PROGRAMS, "tesseract");

/** A terminal that shows lines of text, in a font as desktops have. */
function showing(env: NodeJS.ProcessEnv, ...lines: readonly string[]) {
  const font = ["-fa", "DejaVu Sans Mono", "-fs", "11", "-bg", "white", "-fg", "black"];
  const print = ["-e", "sh", "-c", 'printf "%s\\n" "$@"; exec sleep 600', "sh", ...lines];
  const child = Bun.spawn(["xterm", ...font, "-geometry", "60x10+100+80", ...print], {
    env,
    stdio: ["ignore", "ignore", "ignore"],
  });
  return {
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/** What tests that read share: a display with a window, and a service that sees it. */
async function reading(...lines: readonly string[]) {
  await using stack = new AsyncDisposableStack();
  const { env } = stack.use(await startDisplay({ managed: false, screens: ["800x400x24"] }));
  stack.use(showing(env, ...lines));
  const { desktop } = stack.use(desktopOn(env));
  const made = stack.use(testService());
  const service = { ...made.service, desktop: async () => desktop };
  const executor = await made.service.executor();
  Reflect.set(Reflect.get(executor, "parts"), "service", service);
  const own = stack.move();
  return {
    desktop,
    configDir: made.configDir,
    run: async (command: string, input: object) => {
      const { outcomes } = await runActions(made.service, [[command, input]]);
      return outcomes[0];
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

describe("reading:", () => {
  testReading("a text is awaited, found where it is, and read", async () => {
    await using screen = await reading("Customer number 4711", "Save changes");
    const waited = await screen.run("AC_wait_text", { text: "save  Changes", timeout: 60 });
    expect(waited).toMatchObject({ ok: true, result: { text: "Save changes" } });
    const located = await screen.run("AC_locate_text", { text: "4711" });
    const { x, y, width, height, confidence } = v.parse(v.record(v.string(), v.any()), located?.result);
    // The first line of a terminal at 100, 80, after 16 of its characters.
    expect(x).toBeWithin(220, 280);
    expect(y).toBeWithin(80, 105);
    expect(width).toBeWithin(25, 50);
    expect(height).toBeWithin(7, 25);
    expect(confidence).toBeWithin(80, 101);
    const read = await screen.run("AC_read_text", { region: [100, 80, 600, 200] });
    expect(read).toMatchObject({ ok: true, result: { text: "Customer number 4711\nSave changes" } });
  });

  testReading("a text that is not there, or not certain enough, is a failure that says so", async () => {
    await using screen = await reading("Customer number 4711");
    await screen.run("AC_wait_text", { text: "4711", timeout: 60 });
    expect(await screen.run("AC_locate_text", { text: "Delete" })).toMatchObject({
      ok: false,
      error: expect.stringMatching(
        /^the text "Delete" was not read on the screen: \d+ other words were; name a region, which is read better and faster$/,
      ),
    });
    const region = [100, 80, 600, 200];
    expect(await screen.run("AC_locate_text", { text: "numbers", region })).toMatchObject({
      error: 'the text "numbers" was not read on the screen: "number" was',
    });
    expect(await screen.run("AC_locate_text", { text: "4[0-9]{4}", match: "regex", region })).toMatchObject({
      error: 'a text that fits "4[0-9]{4}" was not read on the screen: 3 other words were',
    });
    expect(await screen.run("AC_locate_text", { text: "4[0-9]{3}", match: "regex", region })).toMatchObject({
      ok: true,
      result: { text: "4711" },
    });
    expect(await screen.run("AC_locate_text", { text: "number", region, nth: 2 })).toMatchObject({
      error: 'the text "number" was not read on the screen, number 2 of it: it is there once',
    });
    const unsure = await screen.run("AC_wait_text", { text: "4711", min_confidence: 100, timeout: 20 });
    expect(unsure?.error).toMatch(
      /^the text "4711" was not read within 20 s: it may be at \d+, \d+, with a confidence of [\d.]+, expected 100$/,
    );
  });

  testReading("a wait ends in time although a page takes longer to read", async () => {
    await using screen = await reading("Customer number 4711");
    expect(await screen.run("AC_wait_text", { text: "Delete", timeout: 0.05 })).toMatchObject({
      ok: false,
      error:
        'the text "Delete" was not read within 0.05 s: reading the screen takes longer; name a region, which is read better and faster',
    });
  });

  testWith(
    "Xvfb",
    "openbox",
    "yad",
    "tesseract",
  )(
    "labels and buttons of a form are read on a whole screen, also light letters on a dark ground, with the focus and without",
    async () => {
      await using display = await startDisplay();
      await using made = desktopOn(display.env);
      const form = (theme: string, ...flags: string[]) =>
        Bun.spawn(["yad", "--form", ...flags], {
          env: { ...display.env, GTK_THEME: theme },
          stdio: ["ignore", "ignore", "ignore"],
        });
      const light = [
        "--title=Order",
        "--field=Customer",
        "--field=Amount",
        "--button=Save:0",
        "--button=Cancel:1",
      ];
      const dark = ["--title=Address", "--field=Street", "--button=Discard:0"];
      const forms = [
        form("Adwaita", "--geometry=400x220+700+150", ...light),
        form("Adwaita:dark", "--geometry=400x200+150+450", ...dark),
      ];
      const wanted = ["Customer", "Amount", "Save", "Cancel", "Street", "Discard"];
      try {
        for (const title of ["Order", "Address"]) {
          const query = { title_substring: title, case_sensitive: true };
          await until(`the window ${title}`, () =>
            focusByTitle(made.desktop, query, forever).catch(() => undefined),
          );
          await until(
            `both forms to be read, ${title} with the focus`,
            async () => {
              const lines = await made.desktop.readLines(undefined, "eng", forever);
              return wanted.every((text) =>
                findText(lines, text, true).some(({ confidence }) => confidence >= 80),
              );
            },
            { seconds: 80 },
          );
        }
      } finally {
        for (const one of forms) one.kill();
        await Promise.all(forms.map(({ exited }) => exited));
      }
    },
  );

  testReading("a language without data is a failure that says how to add it", async () => {
    await using screen = await reading("Hallo");
    await screen.run("AC_wait_text", { text: "Hallo", timeout: 60 });
    const refused = screen.desktop.readLines(undefined, "xyz", forever);
    await expect(refused).rejects.toThrow(
      "tesseract has no data for xyz: install it (Debian: tesseract-ocr-xyz), or `svc data add ocr-xyz FILE`",
    );
  });

  testReading("a read that is cancelled ends at once, and the next one works", async () => {
    await using screen = await reading("Hallo Welt");
    const stop = new AbortController();
    const read = screen.desktop.readLines(undefined, "eng", new Requester(null, stop.signal));
    stop.abort();
    await expect(read).rejects.toThrow("cancelled");
    expect(await screen.desktop.readLines(undefined, "eng", forever)).toBeArray();
  });
});

describe("finding:", () => {
  const word = (text: string, x: number, confidence = 90) => ({
    ...{ text, x, y: 10, width: text.length * 10, height: 12 },
    confidence,
  });
  const line = [word("Save", 0), word("all", 50, 70), word("changes", 90)];

  test("words of one line are found together, with the confidence of the least certain", () => {
    expect(findText([line], " all  changes", false)).toEqual([
      {
        ...{ text: "all changes", x: 50, y: 10, width: 110, height: 12, confidence: 70 },
        ...{ center_x: 105, center_y: 16 },
      },
    ]);
    expect(findText([[word("Save", 0)], [word("changes", 0)]], "Save changes", false)).toEqual([]);
  });

  test("whole words are found, unless a part is asked for, which is found as its word, or a whole line", () => {
    expect(findText([line], "chang", false)).toEqual([]);
    expect(findText([line], "chang", false, "part")).toMatchObject([{ text: "changes" }]);
    expect(findText([[word("Booking", 0)], [word("(OK)…", 0)]], "ok", false)).toMatchObject([
      { text: "(OK)…" },
    ]);
    expect(findText([line], "Save all", false, "line")).toEqual([]);
    expect(findText([line], "save all changes", false, "line")).toHaveLength(1);
  });

  test("a word is found after a place where it is a part of another", () => {
    const numbers = [word("21", 0), word("1", 30), word("1", 50)];
    expect(findText([numbers], "1 1", false)).toMatchObject([{ x: 30, width: 30 }]);
  });

  test("a script without blanks has no words: a text is found in it, however the reader has parted it", () => {
    for (const parts of [["存储", "所有", "更改"], ["存储所有更改"], ["存", "储", "所", "有", "更", "改"]]) {
      const chinese = parts.map((text, at) => word(text, at * 50));
      expect(findText([chinese], "所有", false)).toHaveLength(1);
      expect(findText([chinese], "所 有更改", false)).toHaveLength(1);
      expect(findText([chinese], "存储所有更改", false, "line")).toMatchObject([{ text: "存储所有更改" }]);
    }
    expect(findText([[word("キャンセル", 0), word("OK", 60)]], "ok", false)).toMatchObject([{ text: "OK" }]);
    expect(findText([[word("キャンセル", 0), word("OK", 60)]], "キャンセル ok", false)).toHaveLength(1);
  });

  test("a letter is no whole word where a sign above or below it is missing", () => {
    expect(findText([[word("कि", 0)]], "क", false)).toEqual([]);
    expect(findText([[word("कि", 0)]], "कि", false)).toHaveLength(1);
  });

  test("a text is found as often as it is there; capitals matter where they are said to", () => {
    expect(findText([line, line], "SAVE", false)).toHaveLength(2);
    expect(findText([line], "SAVE", true)).toEqual([]);
  });
});

describe("patterns:", () => {
  const word = (text: string, x: number) => ({ text, x, y: 10, width: 10, height: 12, confidence: 90 });
  const lines = [
    [word("Order", 0), word("4711", 50), word("of", 90)],
    [word("Total:", 0), word("12.50", 50)],
  ];
  const found = (pattern: string, caseSensitive = false) =>
    findPattern(lines, createPattern(pattern, caseSensitive)).map(({ text }) => text);

  test("a pattern is found within a line, as the words that hold it, without regard to capitals unless they matter", () => {
    expect(found("order [0-9]{4}")).toEqual(["Order 4711"]);
    expect(found("order", true)).toEqual([]);
    expect(found("[0-9]+")).toEqual(["4711", "12.50", "12.50"]);
    expect(found("^.*$")).toEqual(["Order 4711 of", "Total: 12.50"]);
    expect(found("x*")).toEqual([]);
    expect(found("of Total")).toEqual([]);
  });

  test("what is no pattern of RE2, or one that repeats too much, is refused with what is wrong with it", () => {
    expect(() => createPattern("(a", false)).toThrow(
      "text: with match regex, expected a pattern as RE2 has them: missing closing )",
    );
    expect(() => createPattern("(?=a)", false)).toThrow("text: with match regex, expected a pattern as RE2");
    expect(() => createPattern("((x{10}){10}){10}y{1000}z{1000}", false)).toThrow("repeats too much");
    expect(() => createPattern("x".repeat(501), false)).toThrow("at most 500 characters");
  });
});

describe("missing:", () => {
  const line = ["Suomit", "orcer", "Booking"].map((text) => ({
    ...{ text, x: 0, y: 0, width: 9, height: 9, confidence: 90 },
  }));

  test("what was read in place of a text is the words that differ little, or that it is a part of", () => {
    expect(nearestText([line], "Submit order")).toBe("Suomit orcer");
    expect(nearestText([line], "OK")).toBe("Booking");
    expect(nearestText([line], "Password")).toBeUndefined();
  });
});

/** A picture of a scaled form, as the reader gets it. */
async function readOf(picture: Picture): Promise<string[]> {
  const lines = await createReader({ folder: "/nowhere", log: silentLog }).read(
    async (options) => pageOf(picture, 1, options),
    "eng",
    forever,
  );
  return lines.map((words) => words.map(({ text }) => text).join(" "));
}

testWith("tesseract")(
  "large letters of a scaled screen keep their stems, and frames around them are gone",
  async () => {
    const picture = decodePng(readFileSync(join(import.meta.dir, "scaled-form.png")), 1_000_000, "picture");
    const read = (await readOf(picture)).join("\n");
    for (const text of ["Customer", "City", "Berlin", "Quantity", "Gift wrap", "Submit order"]) {
      expect(read).toContain(text);
    }
  },
);

describe("a page that was read before:", () => {
  const picture = decodePng(readFileSync(join(import.meta.dir, "scaled-form.png")), 1_000_000, "picture");

  /** A reader, and what it was given to read. */
  function watched() {
    const reader = createReader({ folder: "/nowhere", log: silentLog });
    const pages: Page[] = [];
    return {
      pages,
      read: (seen: Picture, language = "eng") =>
        reader.read(
          async (options) => {
            const page = pageOf(seen, 1, options);
            pages.push(page);
            return page;
          },
          language,
          forever,
        ),
    };
  }

  testWith("tesseract")("nothing of it is read again, and the answer is the same", async () => {
    const { pages, read } = watched();
    const first = await read(picture);
    expect(await read(picture)).toEqual(first);
    expect(pages.map(({ sheets }) => sheets.length > 0)).toEqual([true, false]);
  });

  testWith("tesseract")("a block that has changed is read alone", async () => {
    const { pages, read } = watched();
    await read(picture);
    const changed = { ...picture, pixels: picture.pixels.slice() };
    // A mark in the lower right corner, with white around it.
    for (let y = picture.height - 16; y < picture.height - 8; y++) {
      const from = (y * picture.width + picture.width - 16) * 4;
      changed.pixels.fill(0, from, from + 32);
    }
    await read(changed);
    const [, again] = pages;
    expect(again?.sheets.flatMap(({ blocks }) => blocks).length).toBeLessThan(again?.blocks.length ?? 0);
  });

  testWith("tesseract")("another language is read anew", async () => {
    const { pages, read } = watched();
    await read(picture);
    await read(picture, "osd").catch(() => {});
    expect(pages[1]?.sheets.length).toBeGreaterThan(0);
  });
});

/** How far apart the lines of a {@link textBlock} begin, and its left and upper edge, in pixels. */
const [PITCH, EDGE] = [13, 20];

/** A picture of a block of text: what stands for letters, in lines with three white rows between them. */
function textBlock(lines: number): Picture {
  const [width, height] = [2 * EDGE + 30 * 12, 2 * EDGE + lines * PITCH];
  const pixels = new Uint8Array(width * height * 4).fill(255);
  for (let row = 0; row < lines * PITCH; row++) {
    if (row % PITCH >= 10) continue;
    for (let letter = 0; letter < 30; letter++) {
      const from = ((EDGE + row) * width + EDGE + letter * 12) * 4;
      pixels.fill(0, from, from + 16);
    }
  }
  return { width, height, pixels, redAt: 0 };
}

/** Where there are lines on a sheet: the first row of each and the one after the last, and the first column. */
function linesOn(base64: string) {
  const bytes = Buffer.from(base64, "base64");
  const [header = "", columns] = /^P5\n(\d+) \d+\n255\n/.exec(bytes.toString("latin1", 0, 32)) ?? [];
  const width = Number(columns);
  const found: Array<{ top: number; until: number; left: number }> = [];
  for (let at = header.length, row = 0; at < bytes.length; at += width, row++) {
    const left = bytes.subarray(at, at + width).findIndex((level) => level < 128);
    if (left < 0) continue;
    const last = found.at(-1);
    if (last?.until === row) last.until = row + 1;
    else found.push({ top: row, until: row + 1, left });
  }
  return found;
}

describe("a block that is larger than a sheet:", () => {
  test("it is on as many sheets as are read at the same time, with about as many whole lines on each", () => {
    const picture = textBlock(60);
    const { blocks, sheets } = pageOf(picture, 1, { known: [], sheets: 2 });
    expect(sheets.map((sheet) => sheet.blocks.map(({ key }) => key))).toEqual(
      [blocks, blocks].map((both) => both.map(({ key }) => key)),
    );
    const lines = sheets.map(({ base64 }) => linesOn(base64));
    expect(lines.flat().map(({ top, until }) => until - top)).toEqual(Array.from({ length: 60 }, () => 30));
    for (const some of lines) expect(some.length).toBeWithin(27, 34);
    expect(pageOf(picture, 1, { known: [], sheets: 1 }).sheets).toHaveLength(1);
  });

  test("its lines are where they are on the page, and it is not read again", async () => {
    using folder = temporaryFolder();
    writeFileSync(coreFile(folder.path), "");
    let sheets = 0;
    const wasm = {
      name: "a stand-in",
      pids: () => [],
      async stop() {},
      async read(base64: string) {
        sheets++;
        return linesOn(base64).map(({ top, until, left }, nth) => ({
          ...{ line: `${nth}`, text: "word", confidence: 90 },
          ...{ x: left, y: top, width: 90, height: until - top },
        }));
      },
    };
    const reader = createReader({ folder: folder.path, log: silentLog, program: () => null, wasm });
    const take = async ({ known }: PageOptions) => pageOf(textBlock(60), 1, { known, sheets: 2 });
    const read = await reader.read(take, "eng", forever);
    const places = read.map((words) => words.map(({ x, y, width, height }) => [x, y, width, height]));
    expect(places).toEqual(Array.from({ length: 60 }, (_, nth) => [[EDGE, EDGE + nth * PITCH, 30, 10]]));
    expect(await reader.read(take, "eng", forever)).toEqual(read);
    expect(sheets).toBe(2);
  });
});

test("each pixel of an enlarged picture is between those of the original around it", () => {
  const grey = { width: 2, height: 2, levels: Uint8Array.of(0, 200, 100, 100) };
  const { width, height, levels } = enlarged(grey, 2);
  expect([width, height]).toEqual([4, 4]);
  const rows = Array.from({ length: 4 }, (_, row) => [...levels.subarray(row * 4, row * 4 + 4)]);
  expect(rows).toEqual([
    [0, 50, 150, 200],
    [25, 63, 138, 175],
    [75, 88, 113, 125],
    [100, 100, 100, 100],
  ]);
});

test("the ground of a place is that around it, on a plain screen too", () => {
  for (const [left, right] of [
    [0, 255],
    [255, 0],
    [40, 200],
  ] as const) {
    const levels = Uint8Array.from({ length: 96 * 48 }, (_, at) => (at % 96 < 48 ? left : right));
    // One pixel that differs does not count.
    levels[10 * 96 + 10] = 120;
    const grounds = groundsOf({ width: 96, height: 48, levels });
    grounds.forEach((ground, square) => {
      expect(Math.abs(ground - (square % 12 < 6 ? left : right))).toBeLessThanOrEqual(1);
    });
  }
});

/** A white page, and what draws on it. */
function whitePage(wide: number, high: number) {
  const page = { width: wide, height: high, levels: new Uint8Array(wide * high).fill(255) };
  const draw = (top: number, height: number, left: number, width: number) => {
    for (let y = top; y < top + height; y++) page.levels.fill(0, y * wide + left, y * wide + left + width);
  };
  return { page, draw };
}

test("no block begins between the dot and the rest of a letter, nor between the bars of a sign", () => {
  const { page, draw } = whitePage(100, 120);
  draw(10, 6, 20, 6); // The dot of a large i, and the rest of it.
  draw(22, 34, 20, 6);
  draw(90, 3, 20, 12); // An equals sign.
  draw(98, 3, 20, 12);
  expect(boxesOf(page).map(({ top, height }) => [top, height])).toEqual([
    [10, 46],
    [90, 11],
  ]);
});

test("a line of large text is not cut between its letters and what is above them", () => {
  // The dots of a Ü, and the ring of an å: eleven rows and 84, 30 and 57, in letters of 110 pixels.
  for (const [mark, letter] of [
    [11, 84],
    [30, 57],
  ] as const) {
    const height = mark + 8 + letter;
    const { page, draw } = whitePage(300, height);
    draw(0, mark, 110, 12);
    draw(0, mark, 140, 12);
    for (const left of [0, 100, 200]) draw(mark + 8, letter, left, 14);
    for (let row = 0; row < height; row++) expect(gapNear(page, row)).toBeUndefined();
  }
});

test("a block is cut beside lines that are together", () => {
  const { page, draw } = whitePage(200, 20 * PITCH);
  for (let line = 0; line < 20; line++) draw(line * PITCH, 10, 0, 4);
  // From the first line to the tenth, something is between them.
  for (let line = 0; line < 9; line++) draw(line * PITCH + 10, 3, 100, 4);
  expect(gapNear(page, 10 * PITCH)).toEqual([10 * PITCH - 3, 10 * PITCH]);
});

test("each dark pixel of a page is in one block, unless it is alone in rows that are too low", () => {
  const box = fc.record({
    ...{ left: fc.nat(280), top: fc.nat(180) },
    ...{ width: fc.integer({ min: 1, max: 60 }), height: fc.integer({ min: 4, max: 40 }) },
  });
  fc.assert(
    fc.property(fc.array(box, { maxLength: 8 }), (drawn) => {
      const page = { width: 300, height: 200, levels: new Uint8Array(300 * 200).fill(255) };
      for (const { left, top, width, height } of drawn) {
        for (let y = top; y < Math.min(200, top + height); y++) {
          page.levels.fill(0, y * 300 + left, y * 300 + Math.min(300, left + width));
        }
      }
      const counts = new Uint8Array(page.levels.length);
      for (const { left, top, width, height } of boxesOf(page)) {
        for (let y = top; y < top + height; y++) {
          for (let x = left; x < left + width; x++) counts[y * 300 + x] = (counts[y * 300 + x] ?? 0) + 1;
        }
      }
      expect(Math.max(0, ...counts)).toBeLessThan(2);
      // What is drawn at the lower edge may be lower than text.
      const missed = page.levels.findIndex((level, at) => level === 0 && counts[at] === 0 && at < 300 * 196);
      expect(missed).toBe(-1);
    }),
  );
});

/** A part of a picture in the colours of a photographic negative. */
function negative({ pixels, width, ...rest }: Picture, right: number): Picture {
  const inverted = pixels.slice();
  for (let at = 0; at < pixels.length; at++) {
    if (at % 4 !== 3 && (at >> 2) % width < right) inverted[at] = 255 - (pixels[at] as number);
  }
  return { ...rest, width, pixels: inverted };
}

testWith("tesseract")(
  "a bold headline is read, dark on a light page and light on a dark panel of it",
  async () => {
    const picture = decodePng(readFileSync(join(import.meta.dir, "headline.png")), 1_000_000, "picture");
    for (const one of [picture, negative(picture, 440)]) {
      const read = (await readOf(one)).join("\n");
      for (const text of ["Order form", "Customer", "City"]) expect(read).toContain(text);
    }
  },
);

/** A file in the form of language data: a table of parts, of which the recogniser's is there. */
function languageData(parts = 24, { recogniser = 17, offset = 4 + 24 * 8 } = {}): Buffer {
  const bytes = Buffer.alloc(4 + parts * 8 + 100, 0xff);
  bytes.writeUInt32LE(parts, 0);
  if (recogniser < parts) bytes.writeBigInt64LE(BigInt(offset), 4 + recogniser * 8);
  return bytes;
}

describe("data of a language:", () => {
  test("it is copied privately, listed and removed", async () => {
    using folder = temporaryFolder();
    const [from, to] = [join(folder.path, "from"), join(folder.path, "ocr")];
    writeFileSync(from, languageData());
    expect(await listLanguages(to)).toEqual([]);
    const bytes = await addLanguage(to, "eng", from);
    const file = join(to, "eng.traineddata");
    expect(readFileSync(file).equals(readFileSync(from))).toBe(true);
    expect([statSync(file).mode & 0o777, statSync(to).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(await listLanguages(to)).toEqual([{ language: "eng", bytes }]);
    await removeLanguage(to, "eng");
    expect(existsSync(file)).toBe(false);
    await expect(removeLanguage(to, "eng")).rejects.toThrow("there is no data of ocr-eng");
  });

  test("what is no such data is refused, and what was there stays", async () => {
    using folder = temporaryFolder();
    const [from, to] = [join(folder.path, "from"), join(folder.path, "ocr")];
    writeFileSync(from, languageData());
    await addLanguage(to, "eng", from);
    const cut = languageData(24, { offset: 9_999 }).toString("latin1");
    const bad = [
      ["", "table"],
      ["not at all", "table"],
      [cut, "cut off"],
    ];
    for (const [bytes = "", fault] of bad) {
      writeFileSync(from, bytes, { encoding: "latin1" });
      await expect(addLanguage(to, "eng", from)).rejects.toThrow(fault);
    }
    await expect(addLanguage(to, "eng", join(folder.path, "missing"))).rejects.toThrow("ENOENT");
    await expect(addLanguage(to, "eng", folder.path)).rejects.toThrow("regular file");
    await expect(addLanguage(to, "eng", "/dev/zero")).rejects.toThrow("regular file");
    expect(readFileSync(join(to, "eng.traineddata")).equals(languageData())).toBe(true);
    expect(faultOf(languageData(24, { recogniser: 99 }))).toBe("it holds no recogniser");
  });

  testReading("what was added is what tesseract reads with", async () => {
    await using screen = await reading("Customer number 4711");
    await screen.run("AC_wait_text", { text: "4711", timeout: 60 });
    const list = Bun.spawn(["tesseract", "--list-langs"], { stdio: ["ignore", "pipe", "ignore"] });
    const [, installed = ""] = /"(.*)"/.exec(await list.stdout.text()) ?? [];
    const folder = join(screen.configDir, "ocr");
    // A name that the host does not have.
    await addLanguage(folder, "qqq", join(installed, "eng.traineddata"));
    const take = (options: PageOptions) => screen.desktop.page(undefined, options, forever);
    const lines = await createReader({ folder, log: silentLog }).read(take, "qqq", forever);
    expect(lines.flat().map(({ text }) => text)).toContain("4711");
  });
});
