/** What the signature of a screen has, and what it has not. */
import { expect, test } from "bun:test";
import * as v from "valibot";
import { createFrame } from "../../../../../src/host/desktop/screen/child/frame";
import { linesOf } from "../../../../../src/host/desktop/screen/signature/lines";
import { takeSignature } from "../../../../../src/host/desktop/screen/signature/take";
import { BLOCKS, LEFT_OUT, MOST_LINES, MOST_TEXT, SIGNATURE } from "../../../../../src/wire/screen/signature";
import { window, windowsOf } from "../black-box/support";

const PLACE = { x: 0, y: 0, width: 40, height: 40 };
const OTHER = { x: 80, y: 10, width: 50, height: 40 };
const NO_LIST = { windows: async () => [] };

type Windows = ReturnType<typeof windowsOf>;

/** Takes one of a white screen with these windows, whose texts are as they are said. */
async function taken(
  windows: Windows,
  exclude: readonly string[] = [],
  texts: readonly string[] = [],
  { problem = null, meanwhile = () => {} }: { problem?: string | null; meanwhile?: () => void } = {},
) {
  const frame = createFrame(160, 160);
  frame.update(new Int32Array(160 * 160).fill(0xff_ffff), [{ x: 0, y: 0, width: 160, height: 160 }]);
  const made = await takeSignature({
    backend: { ...NO_LIST, watchWindows: async () => windows.watch },
    screen: { frame, refresh: async () => {}, areaOf: (place) => place },
    exclude,
    texts: {
      problem,
      async read(focused) {
        meanwhile();
        return focused ? [{ window: focused.title, program: focused.program, texts }] : [];
      },
      forget() {},
      close() {},
    },
  });
  return v.parse(SIGNATURE, made);
}

const planesOf = (picture: string | null) => Buffer.from(picture ?? "", "base64");

test("it has the titles, the one with the focus first, its lines, and the picture", async () => {
  const windows = windowsOf([
    window(1, "Notes", OTHER),
    window(2, "Till\u202e 7", PLACE, { focused: true, program: "till" }),
  ]);
  const made = await taken(windows, [], ["Total\n  12.50   EUR ", "Total"]);
  expect(made.windows).toEqual([
    { title: "Till\\u202e 7", program: "till", focused: true },
    { title: "Notes", program: "program", focused: false },
  ]);
  expect(made.texts).toEqual(["Total", "12.50 EUR"]);
  expect([made.no_windows, made.no_texts, made.no_picture]).toEqual([null, null, null]);
  expect(planesOf(made.picture)[0]).toBe(255);
});

test("what is left out is in none of it, and its blocks are not known", async () => {
  const windows = windowsOf([window(1, "My bank", PLACE), window(2, "Notes", OTHER, { focused: true })]);
  const made = await taken(windows, ["*bank*"], ["a note"]);
  expect(made.windows.map(({ title }) => title)).toEqual(["Notes"]);
  const planes = planesOf(made.picture);
  expect([planes[3 * BLOCKS], planes[0]]).toEqual([LEFT_OUT, 0]);
  expect(planes[3 * BLOCKS + 15]).not.toBe(LEFT_OUT);
  expect(made.texts).toEqual(["a note"]);
});

test("of a window that is to be left out and comes meanwhile, nothing is told: no text, and no picture", async () => {
  const windows = windowsOf([window(2, "Notes", OTHER, { focused: true })]);
  const meanwhile = () =>
    windows.set([window(2, "My bank", OTHER, { focused: true }), window(3, "Till", PLACE)]);
  const made = await taken(windows, ["*bank*"], ["a secret"], { meanwhile });
  expect(JSON.stringify(made)).not.toContain("secret");
  expect([made.texts, made.picture]).toEqual([[], null]);
  expect(made.no_texts).toContain("left out");
  expect(made.windows.map(({ title }) => title)).toEqual(["Till"]);
});

test("where the windows cannot be listed there is a picture, unless one may have to be left out", async () => {
  const windows = windowsOf();
  windows.fault = "no window manager";
  const made = await taken(windows, []);
  expect(made).toMatchObject({ windows: [], no_windows: expect.stringContaining("no window manager") });
  expect(made.picture).not.toBeNull();
  const hidden = await taken(windows, ["*bank*"]);
  expect(hidden).toMatchObject({ picture: null, no_picture: expect.stringContaining("no window manager") });
});

test("why no texts are read is said", async () => {
  const made = await taken(windowsOf([]), [], [], { problem: "no accessibility bus runs" });
  expect(made).toMatchObject({ texts: [], no_texts: "no accessibility bus runs" });
});

test("two screens with more lines than a signature holds keep the same ones, in any order", () => {
  const word = (nth: number) => `${"abcdefghij"[nth % 10]}${"klmnopqrst"[Math.floor(nth / 10) % 10]}`;
  const lines = Array.from({ length: 100 }, (_, nth) => `The words of line ${word(nth)} ${"x".repeat(60)}`);
  const [one, other] = [linesOf(lines, []), linesOf(lines.toReversed(), [])];
  expect(one.length).toBeLessThan(MOST_LINES);
  expect(one.join("").length).toBeLessThanOrEqual(MOST_TEXT);
  expect(other).toEqual(one);
});
