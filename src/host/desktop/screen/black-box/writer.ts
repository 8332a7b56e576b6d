/**
 * What the recorder has recorded, on its way to the files: it is written at most some seconds later, and can be taken back until then.
 */
import { ensurePrivateFolder } from "../../../../lib/files";
import type { Rect, Size } from "../../geometry";
import type { BoxOptions } from "./calls";
import { packedTexts, sizeEntry, type TextEntry } from "./entries";
import { createSealedFile, type SealedFile } from "./sealed-file";
import { dropSegments, filesOf, newSegmentPath } from "./segments";

/** How long a segment is, as a part of the span, and in milliseconds. */
const [SEGMENTS, LEAST_MS, MOST_MS] = [12, 10_000, 600_000];
/** How large one may be, as a part of all. */
const SIZES = 16;
/** How long what was recorded waits to be written, in milliseconds. */
const WRITE_MS = 1_500;
/** How long it can be taken back where windows are left out, in milliseconds. */
export const HOLD_MS = 2_000;

/** What waits to be written. */
type PendingWrite =
  | { readonly kind: "segment"; readonly at: number; readonly size: Size }
  | { readonly kind: "tiles"; readonly at: number; readonly entry: Buffer; readonly areas: readonly Rect[] }
  | { readonly kind: "text"; readonly at: number; readonly entry: TextEntry };

/** The files of a black box. */
export interface BoxWriter {
  /** Whether it is time for another segment, which begins with all of the screen. */
  isDue(at: number): boolean;
  /** Begins a segment; what is added belongs to it from now on. */
  begin(at: number, size: Size): void;
  addTiles(at: number, entry: Buffer, areas: readonly Rect[]): void;
  addText(entry: TextEntry): void;
  /** Takes back what can be. @returns the areas that are to be recorded anew. */
  takeBack(): readonly Rect[];
  /** Writes what may be written by now. @throws what the system says. */
  write(): void;
  /** Writes that it ends, and what may be written; the rest is lost. */
  close(at: number): void;
}

/**
 * @param clock the time, in milliseconds since 1970.
 * @param failed is told why nothing can be written any longer.
 */
export function createWriter(
  { folder, run, key, spanMs, maxBytes, exclude }: BoxOptions,
  clock: () => number,
  failed: (error: unknown) => void,
): BoxWriter {
  const holdMs = exclude.length > 0 ? HOLD_MS : 0;
  const segmentMs = Math.min(MOST_MS, Math.max(LEAST_MS, spanMs / SEGMENTS));
  const files = createFiles({ folder, run, key }, (writing) => {
    const oldest = Date.now() - spanMs;
    dropSegments(folder, { oldest, maxBytes: maxBytes * (1 - 1 / SIZES), writing });
  });
  let waiting: PendingWrite[] = [];
  let begun = Number.NEGATIVE_INFINITY;
  /** The bytes of the segment, also of what waits. */
  let bytes = 0;
  let timer: Timer | undefined;

  const add = (one: PendingWrite) => {
    waiting.push(one);
    timer ??= setTimeout(writeLater, WRITE_MS);
  };
  const write = () => {
    const until = clock() - holdMs;
    const first = waiting.findIndex(({ at }) => at > until);
    const ready = first < 0 ? waiting : waiting.slice(0, first);
    waiting = first < 0 ? [] : waiting.slice(first);
    files.write(ready);
  };
  const writeLater = () => {
    timer = undefined;
    try {
      write();
      if (waiting.length > 0) timer = setTimeout(writeLater, WRITE_MS);
    } catch (error) {
      failed(error);
    }
  };
  return {
    isDue: (at) => at - begun >= segmentMs || at < begun || bytes >= maxBytes / SIZES,
    begin(at, size) {
      [begun, bytes] = [at, 0];
      add({ kind: "segment", at, size });
    },
    addTiles(at, entry, areas) {
      bytes += entry.length;
      add({ kind: "tiles", at, entry, areas });
    },
    addText: (entry) => add({ kind: "text", at: entry.at, entry }),
    takeBack() {
      const taken = waiting;
      waiting = waiting.filter(({ kind }) => kind === "segment");
      return taken.flatMap((one) => (one.kind === "tiles" ? one.areas : []));
    },
    write,
    close(at) {
      clearTimeout(timer);
      timer = undefined;
      try {
        if (holdMs > 0) write();
        else files.write(waiting);
        if (files.isOpen) files.write([{ kind: "text", at, entry: { at, gap: true } }]);
      } finally {
        waiting = [];
        files.close();
      }
    },
  };
}

/** @param opened is told the path of each segment that begins, and makes room for it. */
function createFiles(
  { folder, run, key }: Pick<BoxOptions, "folder" | "run" | "key">,
  opened: (path: string) => void,
) {
  let tiles: SealedFile | undefined;
  let texts: SealedFile | undefined;
  const close = () => {
    tiles?.close();
    texts?.close();
    tiles = texts = undefined;
  };
  const open = (at: number) => {
    close();
    ensurePrivateFolder(folder);
    const path = newSegmentPath(folder, at);
    opened(path);
    const files = filesOf(path);
    tiles = createSealedFile(files.tiles, { run, key }, "tiles");
    texts = createSealedFile(files.texts, { run, key }, "texts");
  };
  return {
    get isOpen() {
      return tiles !== undefined;
    },
    write(all: readonly PendingWrite[]): void {
      let pixels: Buffer[] = [];
      let words: TextEntry[] = [];
      const end = () => {
        if (pixels.length > 0) tiles?.append(Buffer.concat(pixels));
        if (words.length > 0) texts?.append(packedTexts(words));
        [pixels, words] = [[], []];
      };
      for (const one of all) {
        if (one.kind === "segment") {
          end();
          open(one.at);
          pixels.push(sizeEntry(one.at, one.size));
        } else if (one.kind === "tiles") pixels.push(one.entry);
        else words.push(one.entry);
      }
      end();
    },
    close,
  };
}
