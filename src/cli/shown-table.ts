/** Tables as wide as the terminal; in full where they go to a file or another program. */
import { table } from "../lib/table";

/** As `table`, for standard output. */
export const shownTable = (
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  none?: string,
): string => {
  const { isTTY, columns } = process.stdout;
  return table(headings, rows, none, isTTY ? columns : undefined, !isTTY);
};
