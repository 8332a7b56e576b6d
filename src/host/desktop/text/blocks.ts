/**
 * The blocks of a page: what stands together, with white around it. Each is read by itself, and once, however often it is looked at.
 *
 * They come of cutting the page along its white rows and columns in turns, as long as one is found (recursive X-Y cut: Nagy and Seth,
 * Hierarchical representation of optically scanned documents, 1984).
 */
import type { Grey } from "./shape";

/** A part of a page, in its pixels. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** What is darker may belong to a letter. */
export const INK = 245;
/** Lines of text are cut apart by so many white rows: more than between an i and its dot. */
const ROWS = 4;
/** Columns are cut apart by so many white ones: more than between the words of a line. */
const COLUMNS = 40;
/** What is lower is no text. */
const LOWEST = 4;
/** Rows nearer to one another than this part of the higher one belong together. */
const NEAR = 0.35;
/** How often a part is cut: a page is rows of columns of rows of columns. */
const DEPTH = 4;
/** How far from where a block should be cut a white row may be, in pixels of the screen: a line of large text. */
const REACH = 48;
/** Between two lines of text are so many white rows at least. */
const BETWEEN = 2;
/**
 * Rows lower than this part of the highest stroke near them are no line, but the dots or accents of one: a ring is up to half as high as the
 * letter below it, and a line of low letters more than half as high as a bracket.
 */
const STROKE = 0.55;

/** @param unit how many pixels of the page a pixel of a usual screen has. @returns the blocks, from top to bottom. */
export function boxesOf(page: Grey, unit = 1): Box[] {
  const whole = { left: 0, top: 0, width: page.width, height: page.height };
  return cut(page, whole, unit, 0)
    .filter(({ height }) => height >= LOWEST * unit)
    .toSorted((a, b) => a.top - b.top || a.left - b.left);
}

function cut(page: Grey, box: Box, unit: number, depth: number): Box[] {
  const byRows = depth % 2 === 0;
  const runs = byRows
    ? joined(runsOf(inkedRows(page, box), ROWS * unit), unit).map(([from, until]) => ({
        ...box,
        top: box.top + from,
        height: until - from,
      }))
    : runsOf(inkedColumns(page, box), COLUMNS * unit).map(([from, until]) => ({
        ...box,
        left: box.left + from,
        width: until - from,
      }));
  return depth === DEPTH - 1 ? runs : runs.flatMap((run) => cut(page, run, unit, depth + 1));
}

type Run = readonly [from: number, until: number];

/** Where there is ink, between gaps of at least so many without. */
function runsOf(inked: Uint8Array, gap: number): Run[] {
  const runs: Run[] = [];
  let [from, last] = [-1, -1];
  for (let at = 0; at < inked.length; at++) {
    if (inked[at] === 0) continue;
    if (from >= 0 && at - last > gap) {
      runs.push([from, last + 1]);
      from = at;
    }
    if (from < 0) from = at;
    last = at;
  }
  if (from >= 0) runs.push([from, last + 1]);
  return runs;
}

/** Without what is cut through a sign: between the dot and the rest of a large i, or the bars of an equals sign, are white rows too. */
function joined(runs: readonly Run[], unit: number): Run[] {
  const all: Run[] = [];
  for (const run of runs) {
    const last = all.at(-1);
    if (last && belongsTo(last, run, unit)) all.splice(-1, 1, [last[0], run[1]]);
    else all.push(run);
  }
  return all;
}

function belongsTo([from, until]: Run, [next, end]: Run, unit: number): boolean {
  const heights = [until - from, end - next];
  const gap = next - until;
  if (gap <= NEAR * Math.max(...heights)) return true;
  return Math.min(...heights) < LOWEST * unit && gap <= 2 * ROWS * unit;
}

/**
 * Where a block may be cut into parts that are read by themselves: the most white rows in a row near `row`, which are between two lines
 * rather than within one.
 *
 * @returns these rows; undefined where none are near.
 */
export function gapNear(block: Grey, row: number, unit = 1): Run | undefined {
  const { width, height } = block;
  const reach = REACH * unit;
  const runs = runsOf(inkedRows(block, { left: 0, top: 0, width, height }), BETWEEN * unit);
  const gaps = runs.slice(1).map(([from], nth): Run => [runs[nth]?.[1] ?? from, from]);
  const distance = ([from, until]: Run) => Math.abs((from + until) / 2 - row);
  const isBetweenLines = ([from, until]: Run) => {
    const near = runs.filter((run) => run[1] >= from - reach && run[0] <= until + reach);
    const lowest = STROKE * Math.max(...near.map((run) => strokeOf(block, run)));
    return near.every((run) => (run[1] !== from && run[0] !== until) || run[1] - run[0] >= lowest);
  };
  return gaps
    .filter((gap) => distance(gap) <= reach)
    .toSorted((a, b) => b[1] - b[0] - (a[1] - a[0]) || distance(a) - distance(b))
    .find(isBetweenLines);
}

/**
 * How many pixels of ink are below one another in these rows, at most. It tells how high letters are, also where lines have no white row
 * between them.
 */
function strokeOf({ width, levels }: Grey, [from, until]: Run): number {
  const strokes = new Uint32Array(width);
  let highest = 0;
  for (let y = from; y < until; y++) {
    for (let x = 0; x < width; x++) {
      const stroke = (levels[y * width + x] as number) < INK ? (strokes[x] as number) + 1 : 0;
      strokes[x] = stroke;
      if (stroke > highest) highest = stroke;
    }
  }
  return highest;
}

function inkedRows({ width: wide, levels }: Grey, { left, top, width, height }: Box): Uint8Array {
  const inked = new Uint8Array(height);
  for (let y = 0; y < height; y++) {
    const start = (top + y) * wide + left;
    for (let at = start; at < start + width; at++) {
      if ((levels[at] as number) >= INK) continue;
      inked[y] = 1;
      break;
    }
  }
  return inked;
}

function inkedColumns({ width: wide, levels }: Grey, { left, top, width, height }: Box): Uint8Array {
  const inked = new Uint8Array(width);
  for (let y = 0; y < height; y++) {
    const start = (top + y) * wide + left;
    for (let x = 0; x < width; x++) if ((levels[start + x] as number) < INK) inked[x] = 1;
  }
  return inked;
}
