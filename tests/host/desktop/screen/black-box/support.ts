/** What tests of the black box share: a screen that the test paints, and windows that it says. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Rect } from "../../../../../src/host/desktop/geometry";
import type { BoxOptions } from "../../../../../src/host/desktop/screen/black-box/calls";
import {
  areasEntry,
  Canvas,
  KIND,
  packedTexts,
  sizeEntry,
  tileEntriesIn,
} from "../../../../../src/host/desktop/screen/black-box/entries";
import { createExclusion } from "../../../../../src/host/desktop/screen/black-box/exclusion";
import type { Notice } from "../../../../../src/host/desktop/screen/black-box/notice";
import { type BoxedScreen, BoxRecorder } from "../../../../../src/host/desktop/screen/black-box/recorder";
import {
  createSealedFile,
  newRunKey,
  readSealedFile,
} from "../../../../../src/host/desktop/screen/black-box/sealed-file";
import {
  filesOf,
  newSegmentPath,
  segmentsIn,
} from "../../../../../src/host/desktop/screen/black-box/segments";
import type { TextReader } from "../../../../../src/host/desktop/screen/black-box/texts";
import { createVeils } from "../../../../../src/host/desktop/screen/black-box/veil";
import { createFrame, type Frame } from "../../../../../src/host/desktop/screen/child/frame";
import type { Looker } from "../../../../../src/host/desktop/screen/child/screen";
import type { ShownWindow, WindowWatch } from "../../../../../src/host/desktop/shown-windows";
import { until } from "../../../../support";

export const SIZE = { width: 200, height: 150 };
export const KEY = "ab".repeat(32);
export const [RED, GREEN, BLUE] = [0xff_0000, 0x00_ff00, 0x00_00ff];

/** A window in plain words. */
export const window = (id: number, title: string, place: Rect | null, more: Partial<ShownWindow> = {}) => ({
  ...{ id, title, program: "program", focused: false, place, owners: [`client ${id}`], dialogOf: null },
  ...more,
});

/** Windows that the test says; `fault` has them not listed. */
interface SaidWindows {
  fault: string;
  readonly watch: WindowWatch;
  set(next: readonly ShownWindow[]): void;
}

export function windowsOf(first: readonly ShownWindow[] = [], knowsMenus = true): SaidWindows {
  let isChanged = true;
  let windows = first;
  const state: SaidWindows = {
    fault: "",
    set(next) {
      windows = next;
      isChanged = true;
    },
    watch: {
      knowsMenus,
      changed: async () => isChanged || state.fault !== "",
      async list() {
        isChanged = false;
        if (state.fault) throw new Error(state.fault);
        return windows;
      },
      close() {},
    },
  };
  return state;
}

/** A screen that the test paints. */
export function paintedScreen({ width, height } = SIZE) {
  const lookers = new Set<Looker>();
  let frame: Frame = createFrame(width, height);
  let pixels = new Int32Array(width * height);
  const whole = () => ({ x: 0, y: 0, width: frame.width, height: frame.height });
  frame.update(pixels, [whole()]);
  const screen: BoxedScreen = {
    get frame() {
      return frame;
    },
    add: (looker) => lookers.add(looker),
    remove: (looker) => lookers.delete(looker),
    refresh: async () => {},
  };
  return {
    screen,
    paint(colour: number, area: Rect = whole()) {
      for (let y = area.y; y < area.y + area.height; y++)
        pixels.fill(colour, y * frame.width + area.x, y * frame.width + area.x + area.width);
      const tiles = frame.update(pixels, [area]);
      for (const looker of lookers) looker.changed(tiles, frame.changedParts);
      for (const looker of lookers) looker.push();
    },
    resize(to: { width: number; height: number }, colour: number) {
      frame = createFrame(to.width, to.height);
      pixels = new Int32Array(to.width * to.height).fill(colour);
      frame.update(pixels, [whole()]);
      for (const looker of lookers) looker.replaced();
    },
  };
}

const TOLD: Notice = { problem: null, begin: async () => {}, end: async () => {} };

const NO_TEXTS: TextReader = { problem: null, read: async () => [], forget() {}, close() {} };

/** A recorder of such a screen that writes to `folder`. */
export function recorderOf(
  folder: string,
  {
    painted = paintedScreen(),
    windows = windowsOf(),
    exclude = [] as readonly string[],
    texts = NO_TEXTS,
    notice = TOLD,
    options = {} as Partial<BoxOptions>,
  } = {},
) {
  const veils = createVeils({
    ...{ watch: windows.watch, isExcluded: createExclusion(exclude), hasPatterns: exclude.length > 0 },
    areaOf: (place) => place,
  });
  const recorder = new BoxRecorder({
    ...{ screen: painted.screen, veils, texts, notice },
    options: { folder, ...newRunKey(KEY), spanMs: 3_600_000, maxBytes: 64_000_000, exclude, ...options },
  });
  return {
    recorder,
    painted,
    windows,
    async [Symbol.asyncDispose]() {
      recorder.end();
      await recorder.over.catch(() => {});
    },
  };
}

/** The colour of a pixel. */
export const colourAt = (
  { pixels, width }: { readonly pixels: Uint8Array<ArrayBuffer>; readonly width: number },
  x: number,
  y: number,
) => (new Int32Array(pixels.buffer)[y * width + x] ?? 0) & 0xff_ffff;

/** What `look` answers once it throws no longer. */
export const soon = <T>(what: string, look: () => T) =>
  until(what, () => {
    try {
      return { found: look() };
    } catch {
      return undefined;
    }
  }).then(({ found }) => found);

/** Adds a segment of now to the black box of a host, of one colour, with a title. @returns a time of it. */
export function addSegment(configDir: string, titleText: string, start = Date.now() - 10_000) {
  const folder = join(configDir, "black-box");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(configDir, "black_box_key"), `${KEY}\n`, { mode: 0o600 });
  const path = newSegmentPath(folder, start);
  const [tiles, texts] = [
    createSealedFile(filesOf(path).tiles, newRunKey(KEY), "tiles"),
    createSealedFile(filesOf(path).texts, newRunKey(KEY), "texts"),
  ];
  const pixels = new Uint8Array(new Int32Array(16).fill(RED).buffer);
  tiles.append(
    Buffer.concat([
      sizeEntry(start, { width: 4, height: 4 }),
      areasEntry(start, [{ x: 0, y: 0, width: 4, height: 4 }], pixels),
    ]),
  );
  texts.append(packedTexts([{ at: start, windows: [{ title: titleText, program: "app", focused: true }] }]));
  tiles.close();
  texts.close();
  return new Date(start + 1_000).toISOString();
}

/** Each picture that the files of a folder have had, and all their texts. */
export function* contentOf(folder: string, key = KEY) {
  for (const { path } of segmentsIn(folder)) {
    const canvas = new Canvas();
    for (const record of readSealedFile(filesOf(path).tiles, key, "tiles"))
      for (const entry of tileEntriesIn(record)) {
        canvas.draw(entry);
        if (entry.kind === KIND.areas)
          yield { at: entry.at, pixels: Uint8Array.from(canvas.bytes), width: canvas.width };
      }
  }
}
