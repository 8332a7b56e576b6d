/**
 * The sheets that the reader gets: blocks of a page that it has not read, as many sheets as are read at the same time.
 */
import { type Box, gapNear } from "./blocks";
import { enlarged } from "./clean";
import type { Grey } from "./shape";

/** A block of a page. */
export interface Block {
  /** Names what it looks like: two with the same key have the same pixels. */
  readonly key: string;
  /** Its corner, in pixels of the page. */
  readonly left: number;
  readonly top: number;
}

/**
 * Blocks below one another, in the order of the page and as far from its left edge as there: the reader takes a block that stands
 * elsewhere for other letters. A large block may be on several sheets, some of its lines on each.
 */
export interface Sheet {
  /** A PGM in base64. */
  readonly base64: string;
  /** The key of each, where its corner would be if all of it were here, and between which rows its lines are. */
  readonly blocks: ReadonlyArray<Block & { readonly from: number; readonly until: number }>;
}

/** A block of a page whose pixels are at hand. */
export interface CutBlock {
  readonly box: Box;
  readonly part: Grey;
  readonly key: string;
}

/** The white around each block of a sheet, in pixels of the screen. */
export const MARGIN = 10;
/** A sheet of less is not worth a process of its own, in pixels of the screen. */
const SMALL_SHEET = 60_000;

/** The lines of a block that are read together: these rows of it. */
interface Piece {
  readonly block: CutBlock;
  readonly from: number;
  readonly until: number;
}

const wholeOf = (block: CutBlock): Piece => ({ block, from: 0, until: block.part.height });

const widthOf = ({ part }: CutBlock) => part.width + 2 * MARGIN;
const areaOf = ({ block, from, until }: Piece) => widthOf(block) * (until - from + MARGIN);

/** How sheets are made. */
interface SheetsOptions {
  /** How many there are at most. */
  readonly most: number;
  /** How many times as large as the page they are. */
  readonly times: number;
  /** How many pixels of the page a pixel of a usual screen has. */
  readonly unit: number;
}

/** The sheets of these blocks, each with about as much to read. */
export function sheetsOf(blocks: readonly CutBlock[], { most, times, unit }: SheetsOptions): Sheet[] {
  const total = blocks.reduce((sum, block) => sum + areaOf(wholeOf(block)), 0);
  const count = Math.max(1, Math.min(most, Math.floor(total / SMALL_SHEET)));
  const ends = Array.from({ length: count - 1 }, (_, nth) => ((nth + 1) * total) / count);
  const sheets = Array.from({ length: count }, (): Piece[] => []);
  let area = 0;
  for (const block of blocks) {
    const rows = ends.map((end) => (end - area) / widthOf(block) - MARGIN);
    for (const piece of piecesOf(block, rows, unit)) {
      const middle = area + areaOf(piece) / 2;
      sheets[ends.filter((end) => end <= middle).length]?.push(piece);
      area += areaOf(piece);
    }
  }
  return sheets.filter((sheet) => sheet.length > 0).map((sheet) => sheetOf(sheet, times));
}

/** Cuts a block between two lines near where sheets would end. @param rows these places, as rows of the block; it may have none of them. */
function piecesOf(block: CutBlock, rows: readonly number[], unit: number): Piece[] {
  const { height } = block.part;
  const pieces: Piece[] = [];
  let from = 0;
  for (const row of rows) {
    const gap = row > from && row < height ? gapNear(block.part, row, unit) : undefined;
    if (!gap || gap[0] <= from) continue;
    pieces.push({ block, from, until: gap[0] });
    from = gap[1];
  }
  return [...pieces, { block, from, until: height }];
}

function sheetOf(pieces: readonly Piece[], times: number): Sheet {
  const boxes = pieces.map(({ block }) => block.box);
  const left = Math.min(...boxes.map((box) => box.left)) - MARGIN;
  const width = Math.max(...boxes.map((box) => box.left + box.width)) + MARGIN - left;
  const height = pieces.reduce((sum, { from, until }) => sum + until - from + MARGIN, MARGIN);
  const levels = new Uint8Array(width * height).fill(255);
  const blocks: Array<Sheet["blocks"][number]> = [];
  let top = MARGIN;
  for (const { block, from, until } of pieces) {
    const { part, box, key } = block;
    const column = box.left - left;
    const end = top + until - from;
    for (let y = from; y < until; y++) {
      const to = (top + y - from) * width + column;
      levels.set(part.levels.subarray(y * part.width, (y + 1) * part.width), to);
    }
    blocks.push({
      key,
      left: column * times,
      top: (top - from) * times,
      from: top * times,
      until: end * times,
    });
    top = end + MARGIN;
  }
  return { base64: pgmOf(enlarged({ width, height, levels }, times)), blocks };
}

/** https://netpbm.sourceforge.net/doc/pgm.html */
const pgmOf = ({ width, height, levels }: Grey): string =>
  Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), levels]).toString("base64");
