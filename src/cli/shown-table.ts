/** Tables as wide as the terminal; in full where they go to a file or another program. */
import { table } from "../lib/table";
import { terminalColumns } from "./output";

/** As `table`, for standard output. */
export const shownTable = (
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  none?: string,
): string => {
  const columns = terminalColumns();
  return table(headings, rows, none, columns, columns === undefined);
};
