/**
 * Tables on a terminal.
 */
import { printable } from "./sanitize";

/**
 * `rows` as lines of aligned columns, two spaces apart; `-` for an empty cell. Control characters in a cell are shown as
 * escapes.
 *
 * @param none in place of a table without rows.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  none?: string,
): string {
  if (rows.length === 0 && none !== undefined) return none;
  // Nothing follows the last column, which has the errors.
  const room = (column: number) => (column === headings.length - 1 ? 120 : 60);
  const lines = [
    headings,
    ...rows.map((row) => row.map((cell, column) => printable(cell, room(column)) || "-")),
  ];
  const widths = headings.map((_, column) =>
    Math.max(...lines.map((line) => Bun.stringWidth(line[column] ?? ""))),
  );
  const padded = (cell: string, column: number) => pad(cell, widths[column] ?? 0);
  return lines.map((line) => line.map(padded).join("  ").trimEnd()).join("\n");
}

const pad = (cell: string, width: number) => cell + " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));
