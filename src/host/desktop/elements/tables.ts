/** Tables of programs as rows of texts, by the names of their columns. */
import { notFound, tooLarge } from "../../../lib/errors";
import { jsonLine } from "../../../lib/sanitize";
import type { Questions } from "./accessible";
import type { TableText } from "./calls";
import type { Ref } from "./ref";
import { PASSWORD } from "./roles";
import { normalized } from "./said";

/** A table, as its program says it. */
export interface Table {
  readonly ref: Ref;
  readonly rows: number;
  readonly columns: number;
  /** The names of the first columns, some of them empty. */
  headers(count: number): Promise<readonly string[]>;
  /** What a cell says, which is not secret. */
  text(cell: Ref): Promise<string>;
}

type Ask = Pick<Questions, "role" | "cellAt">;

const MAX_COLUMNS = 50;
/** How much text the rows of an answer have, in characters: the whole of it is read on the event loop of svc. */
const MAX_TABLE_TEXT = 2_000_000;
const HEADERS: ReadonlySet<number> = new Set([10, 57]);

/** @param first the first row, from 1. */
export async function readTable(ask: Ask, table: Table, first: number, most: number): Promise<TableText> {
  const columns = await columnsOf(table);
  const rows: Array<Record<string, string>> = [];
  let text = MAX_TABLE_TEXT;
  for (let row = first - 1; row < Math.min(table.rows, first - 1 + most); row++) {
    const cells = await Promise.all(
      columns.map(async (_, column) => {
        const cell = await ask.cellAt(table.ref, row, column);
        const role = cell && (await ask.role(cell));
        return cell && { role, text: role === PASSWORD ? "" : await table.text(cell) };
      }),
    );
    // Browsers count the headers as a row.
    if (cells.every((cell) => cell?.role !== undefined && HEADERS.has(cell.role))) continue;
    text -= columns.reduce((sum, name, column) => sum + name.length + (cells[column]?.text.length ?? 0), 0);
    if (text < 0)
      throw tooLarge(
        `${rows.length + 1} rows of the table have more than ${MAX_TABLE_TEXT} characters: read fewer`,
      );
    rows.push(Object.fromEntries(columns.map((name, column) => [name, cells[column]?.text ?? ""])));
  }
  return { columns, rows, total: table.rows };
}

/** The names of the columns, each once; those without one are numbered from 1. */
async function columnsOf({ columns, headers }: Table): Promise<string[]> {
  const names = await headers(Math.min(columns, MAX_COLUMNS));
  return names.map((name, at) =>
    name === "" || names.indexOf(name) < at ? `${name} ${at + 1}`.trim() : name,
  );
}

/** The cell in a row and column, from 1, or a column by its name. @throws `not_found`. */
export async function cellOf(ask: Ask, table: Table, row: number, column: number | string): Promise<Ref> {
  const at = typeof column === "number" ? column - 1 : await columnNamed(table, column);
  if (row > table.rows || at >= table.columns)
    throw notFound(`there is no such cell: the table has ${table.rows} rows and ${table.columns} columns`);
  const cell = await ask.cellAt(table.ref, row - 1, at);
  if (!cell) throw notFound("the program has no such cell");
  return cell;
}

async function columnNamed(table: Table, name: string): Promise<number> {
  const columns = await columnsOf(table);
  const at = columns.indexOf(normalized(name));
  if (at >= 0) return at;
  const known = columns.slice(0, 10).map((one) => jsonLine(one));
  throw notFound(`there is no column ${jsonLine(name)}: there are ${known.join(", ")}`);
}
