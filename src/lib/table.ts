/**
 * Tables on a terminal.
 */
import { printable } from "./sanitize";
import { timeText } from "./time-text";

/** The most of a cell, in characters; nothing follows the last column, which has the errors. */
const MAX_CELL = 60;
const MAX_LAST = 500;

/** The same where a program reads the table. */
const MAX_WHOLE = 10_000;

/** No column becomes narrower than this, in columns of the terminal: a line that is longer then is broken by the terminal. */
const LEAST = 12;

/**
 * `rows` as lines of aligned columns, two spaces apart; `-` for an empty cell. Control characters in a cell are shown as
 * escapes, a time to the second.
 *
 * @param none in place of a table without rows.
 * @param width of the terminal: the widest columns are cut until a line fits (default: none are).
 * @param isWhole whether long cells are not cut, as for a program that looks for something in them.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  none?: string,
  width: number = Number.POSITIVE_INFINITY,
  isWhole = false,
): string {
  if (rows.length === 0 && none !== undefined) return none;
  const most = (column: number) =>
    isWhole ? MAX_WHOLE : column === headings.length - 1 ? MAX_LAST : MAX_CELL;
  const lines = [
    headings,
    ...rows.map((row) => row.map((cell, column) => printable(timeText(cell), most(column)) || "-")),
  ];
  const [, ...cells] = lines;
  const isTime = headings.map((_, column) => cells.some((line) => SHOWN_TIME.test(line[column] ?? "")));
  const wanted = headings.map((_, column) =>
    Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))),
  );
  const room = width - 2 * (headings.length - 1);
  // Of a time, the end says most: it is cut where nothing else is left.
  const widths = fitted(
    fitted(wanted, room, (column) => !isTime[column]),
    room,
  );
  const shown = (cell: string, column: number) => pad(cut(cell, widths[column] ?? 0), widths[column] ?? 0);
  return lines.map((line) => line.map(shown).join("  ").trimEnd()).join("\n");
}

const SHOWN_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** `widths` of which the widest that may be cut are less, so that all together have `room`. */
function fitted(
  widths: readonly number[],
  room: number,
  mayCut: (column: number) => boolean = () => true,
): number[] {
  const less = [...widths];
  let over = less.reduce((sum, one) => sum + one, 0) - room;
  while (over > 0) {
    const widest = Math.max(...less.filter((_, column) => mayCut(column)));
    if (widest <= LEAST) break;
    less[less.findLastIndex((one, column) => one === widest && mayCut(column))] = widest - 1;
    over--;
  }
  return less;
}

/** The beginning of a cell that is as wide, with `…` where something is missing. */
function cut(cell: string, width: number): string {
  if (Bun.stringWidth(cell) <= width) return cell;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(cell)) {
    if (Bun.stringWidth(kept + segment) >= width) break;
    kept += segment;
  }
  return `${kept}…`;
}

const pad = (cell: string, width: number) => cell + " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));
