/**
 * What is in the records of the black box: pixels that changed, with their times, and what windows said.
 *
 * Times are milliseconds since 1970, in UTC.
 */
import type { Rect, Size } from "../../geometry";

/** `size`: another screen begins, which is black; its width and height. `areas`: pixels that changed. */
export const KIND = { size: 1, areas: 2 } as const;

/** An entry of a file with pixels. */
interface TileEntry {
  readonly kind: number;
  readonly at: number;
  readonly body: Buffer;
}

const HEAD_BYTES = 13;
const RECT_BYTES = 8;
/** Fast, and near the best for what a desktop shows. */
const LEVEL = 3;

/** The bytes of an entry. */
function entry(kind: number, at: number, ...body: readonly Uint8Array[]): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(kind, 0);
  head.writeDoubleLE(at, 1);
  head.writeUInt32LE(
    body.reduce((sum, { length }) => sum + length, 0),
    9,
  );
  return Buffer.concat([head, ...body]);
}

/** The entries of a record; what is broken ends it. */
export function* tileEntriesIn(record: Buffer): Generator<TileEntry> {
  for (let at = 0; at + HEAD_BYTES <= record.length; ) {
    const end = at + HEAD_BYTES + record.readUInt32LE(at + 9);
    if (end > record.length) return;
    const body = record.subarray(at + HEAD_BYTES, end);
    yield { kind: record.readUInt8(at), at: record.readDoubleLE(at + 1), body };
    at = end;
  }
}

export function sizeEntry(at: number, { width, height }: Size): Buffer {
  const size = Buffer.alloc(8);
  size.writeUInt32LE(width, 0);
  size.writeUInt32LE(height, 4);
  return entry(KIND.size, at, size);
}

/** @param pixels of the areas, one after the other, row by row: blue, green, red and a byte that is 0. */
export function areasEntry(at: number, areas: readonly Rect[], pixels: Uint8Array): Buffer {
  const places = Buffer.alloc(4 + RECT_BYTES * areas.length);
  places.writeUInt32LE(areas.length, 0);
  for (const [nth, { x, y, width, height }] of areas.entries()) {
    const from = 4 + RECT_BYTES * nth;
    for (const [side, value] of [x, y, width, height].entries()) places.writeUInt16LE(value, from + 2 * side);
  }
  return entry(KIND.areas, at, places, Bun.zstdCompressSync(pixels, { level: LEVEL }));
}

/** The picture that entries make, one after the other. */
export class Canvas {
  #width = 0;
  #height = 0;
  #pixels: Int32Array<ArrayBuffer> = new Int32Array();

  get width(): number {
    return this.#width;
  }

  get height(): number {
    return this.#height;
  }

  /** Blue, green, red and an unused byte for each pixel. */
  get bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#pixels.buffer);
  }

  /** @throws what the decompression says of pixels that are none. */
  draw({ kind, body }: Pick<TileEntry, "kind" | "body">): void {
    if (kind === KIND.size) {
      [this.#width, this.#height] = [body.readUInt32LE(0), body.readUInt32LE(4)];
      this.#pixels = new Int32Array(this.#width * this.#height);
    } else if (kind === KIND.areas) this.#drawAreas(body);
  }

  #drawAreas(body: Buffer): void {
    const count = body.readUInt32LE(0);
    const places = 4 + RECT_BYTES * count;
    const bytes = new Uint8Array(Bun.zstdDecompressSync(body.subarray(places)));
    const pixels = new Int32Array(bytes.buffer, 0, bytes.length >> 2);
    let from = 0;
    for (let nth = 0; nth < count; nth++) {
      const [x = 0, y = 0, width = 0, height = 0] = [0, 2, 4, 6].map((side) =>
        body.readUInt16LE(4 + RECT_BYTES * nth + side),
      );
      if (x + width > this.#width || y + height > this.#height) return;
      for (let row = y; row < y + height; row++, from += width)
        this.#pixels.set(pixels.subarray(from, from + width), row * this.#width + x);
    }
  }
}

/** A window as the black box keeps it. */
export interface BoxedWindow {
  readonly title: string;
  readonly program: string | null;
  readonly focused: boolean;
}

/** An entry of a file with texts. */
export type TextEntry =
  /** The windows that there are from then on. */
  | { readonly at: number; readonly windows: readonly BoxedWindow[] }
  /** What the window with the focus shows. */
  | {
      readonly at: number;
      readonly window: string;
      readonly program: string | null;
      readonly texts: readonly string[];
    }
  /** It records still; `gap`: it has ended. */
  | { readonly at: number; readonly gap: boolean };

/** Such entries as a file has them. */
export const packedTexts = (entries: readonly TextEntry[]): Uint8Array =>
  Bun.zstdCompressSync(JSON.stringify(entries), { level: LEVEL });

/** The entries in it: this program has written it, as its seal says. */
export const textEntriesIn = (packed: Uint8Array): TextEntry[] =>
  JSON.parse(Bun.zstdDecompressSync(new Uint8Array(packed)).toString());
