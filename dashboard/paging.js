/**
 * Pages of a log that grows while it is read, newest row first: a page begins below an id.
 */
import { button } from "./dom.js";

/**
 * @param {number} size rows of a page
 * @param {() => void} turned called to show the chosen page
 */
export function paging(size, turned) {
  /** The id below which each page begins, the shown page last; null for the newest rows. @type {Array<number | null>} */
  let pages = [null];
  let lowest = 0;
  const newer = button("Newer", () => turnTo(pages.slice(0, Math.max(1, pages.length - 1))), {
    disabled: true,
  });
  const older = button(
    "Older",
    () => {
      // A second press before the page is loaded would only repeat it.
      if (pages.at(-1) !== lowest) turnTo([...pages, lowest]);
    },
    { disabled: true },
  );

  /** @param {Array<number | null>} to */
  function turnTo(to) {
    pages = to;
    turned();
  }

  return {
    buttons: [newer, older],
    /** Shows the newest rows. */
    toNewest: () => turnTo([null]),
    /** Shows the rows below an id; the page before has the newest. @param {number} id */
    toBelow: (id) => turnTo([null, id]),
    /** The query of the page. */
    query() {
      const before = pages.at(-1);
      return new URLSearchParams({ limit: String(size), ...(before && { before_id: String(before) }) });
    },
    /** Call with the rows of the page. @param {ReadonlyArray<{ id: number }>} rows @param {boolean} [isCut] whether some were left out */
    shown(rows, isCut = false) {
      lowest = rows.at(-1)?.id ?? 0;
      newer.disabled = pages.length === 1;
      older.disabled = rows.length < size && !isCut;
    },
  };
}
