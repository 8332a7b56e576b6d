/**
 * A progress bar on one line of a terminal.
 */
import { writeSync } from "node:fs";
import { orElse } from "./or-else";

/** How often the bar is drawn at most, in milliseconds. */
const REDRAW_MS = 100;

const BAR_WIDTH = 24;

/** What a terminal that has closed does not show is lost. */
const say = (text: string) => orElse(() => writeSync(2, text), undefined);

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
      say(`\r\x1b[K[${bar}] ${counts} ${what} (${percent}%)`);
    },
    /** Removes the line. */
    end(): void {
      if (drawnAt > 0) say("\r\x1b[K");
    },
  };
}
