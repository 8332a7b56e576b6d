/**
 * How long the next TLS key of a server that runs is announced.
 *
 * The promise: those who pin the present key have as long as was asked for to hear of the next one, whatever the time is set to meanwhile. `next.json` says
 * by the time of now when the key is used, for those who look, and for the next start.
 */
import type { ProcessClocks } from "../lib/age";
import { type NextKey, readNext, type TlsPlace, writeNext } from "./tls";

/** By how much the time in the file may be off before it is written anew, in milliseconds: a disk is not written to for less. */
const MAX_OFF_MS = 60_000;

/** The announcement of the next key, as a server follows it. */
export interface Announcement {
  /**
   * Looks at the file: what is announced there anew counts from now.
   *
   * @returns whether the key in it is to be used now.
   * @throws `unavailable` where it cannot be read.
   */
  isOver(): boolean;
}

/** Begins with the first look. */
export function createAnnouncement(
  place: TlsPlace,
  { now = Date.now, steady = () => performance.now() }: Pick<ProcessClocks, "now" | "steady"> = {},
): Announcement {
  let known: { readonly key: string; readonly from: string; readonly until: number } | undefined;
  return {
    isOver() {
      const next = readNext(place);
      if (!next) return false;
      const { key, from } = next;
      if (known?.key !== key || known.from !== from) {
        // Whoever announced it may have had another time.
        const leftMs = Math.min(Date.parse(from) - now(), next.overlap_s * 1_000);
        known = { key, from, until: steady() + leftMs };
      }
      const leftMs = known.until - steady();
      if (leftMs <= 0) return true;
      const right = now() + leftMs;
      if (Math.abs(Date.parse(from) - right) > MAX_OFF_MS)
        known = { ...known, from: keepTime(place, { ...next, from: new Date(right).toISOString() }, from) };
      return false;
    },
  };
}

/** @returns the time that is in the file then: that of `before` where it cannot be written, as on a full disk. It decides nothing here. */
function keepTime(place: TlsPlace, next: NextKey, before: string): string {
  try {
    writeNext(place, next);
    return next.from;
  } catch {
    return before;
  }
}
