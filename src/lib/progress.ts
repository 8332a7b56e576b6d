/**
 * A progress bar on one line of a terminal.
 */

/** How often the bar is drawn at most, in milliseconds. */
const REDRAW_MS = 100;

const BAR_WIDTH = 24;

/** A bar that is drawn at the first `show`. */
export function createProgress() {
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    /** Draws the bar where stderr is a terminal. @param step.what what is counted: `rows verified`. */
    show({ what, done, total }: { what: string; done: number; total: number }): void {
      const now = performance.now();
      if (!process.stderr.isTTY || now - drawnAt < REDRAW_MS) return;
      drawnAt = now;
      const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
      const bar = "#".repeat(Math.round((percent / 100) * BAR_WIDTH)).padEnd(BAR_WIDTH);
      const counts = `${done.toLocaleString("en")} of ${total.toLocaleString("en")}`;
      process.stderr.write(`\r\x1b[K[${bar}] ${counts} ${what} (${percent}%)`);
    },
    /** Removes the line. */
    end(): void {
      if (drawnAt > 0) process.stderr.write("\r\x1b[K");
    },
  };
}
