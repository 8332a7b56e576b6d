/**
 * Cells of a sheet of LibreOffice Calc by their addresses, as `cell "B200"`: a sheet says that it has 17 thousand million children, so
 * that they are neither listed nor searched, and its table is asked for the one cell.
 */
import type { Questions } from "./accessible";
import type { Locator } from "./locator";
import { folded } from "./names";
import type { Ref } from "./ref";
import type { Place, Search } from "./search";

const CELL = 56;
const TABLE = 55;
/** Sheets beside each other in one window: it may be split. */
const MAX_TABLES = 8;
const LETTERS = 26;

/**
 * Whether a window may hold a sheet: LibreOffice searches every cell of it, and answers nothing meanwhile. A window that has just opened
 * does not say yet that it is of Calc.
 */
export const holdsSheet = ({ program, window }: Pick<Place, "program" | "window">): boolean =>
  folded(program.name) === "soffice" && !/\b(?:Writer|Impress|Draw|Math|Base)$/.test(window);

/** Row and column, from 0, of an address such as `B200`; undefined for what is none. */
export function cellAddress(
  name: string | undefined,
): { readonly row: number; readonly column: number } | undefined {
  const [, letters, digits] = /^([A-Z]{1,3})([1-9]\d{0,6})$/.exec(name ?? "") ?? [];
  if (letters === undefined || digits === undefined) return undefined;
  const column = [...letters].reduce((sum, one) => sum * LETTERS + one.charCodeAt(0) - 64, 0);
  return { row: Number(digits) - 1, column: column - 1 };
}

/** The cells of a sheet that a locator names by address; undefined for a locator that names no address. */
export async function cellsByAddress(
  ask: Questions,
  below: Search["below"],
  place: Place,
  { name, exact = true }: Locator,
  roles: readonly number[] | undefined,
): Promise<Ref[] | undefined> {
  const address = exact ? cellAddress(name) : undefined;
  if (!address || !roles?.includes(CELL) || !holdsSheet(place)) return undefined;
  const tables =
    (await ask.role(place.ref)) === TABLE ? [place.ref] : await below(place, [TABLE], MAX_TABLES);
  const cells = await Promise.all(tables.map((table) => ask.cellAt(table, address.row, address.column)));
  return cells.filter((cell) => cell !== undefined);
}
