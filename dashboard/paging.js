/**
 * Turning the pages of a log that is read from its newest row on, and grows meanwhile: a page begins below an id.
 */
import { button } from "./dom.js";

/**
 * @param {number} size rows of a page
 * @param {() => void} turned shows the page that was turned to
 */
export function paging(size, turned) {
  /** Where each page begins, the last one being shown; null for the newest rows. @type {Array<number | null>} */
  let pages = [null];
  let lowest = 0;
  const newer = button("Newer", () => turnTo(pages.slice(0, Math.max(1, pages.length - 1))), {
    disabled: true,
  });
  const older = button(
    "Older",
    () => {
      // Pressed again before the page is there, it would be the same page once more.
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
    /** Shows the rows below an id; the newest are the page before. @param {number} id */
    toBelow: (id) => turnTo([null, id]),
    /** What to ask for. */
    query() {
      const before = pages.at(-1);
      return new URLSearchParams({ limit: String(size), ...(before && { before_id: String(before) }) });
    },
    /** Is told the rows of the page that is shown. @param {ReadonlyArray<{ id: number }>} rows */
    shown(rows) {
      lowest = rows.at(-1)?.id ?? 0;
      newer.disabled = pages.length === 1;
      older.disabled = rows.length < size;
    },
  };
}
