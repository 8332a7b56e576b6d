/**
 * When the newest word of its desk was signed that a host has taken, so that nobody repeats an older one.
 *
 * The promise: a desk whose clock was ahead is heard again once that is right. What it signed later than the host took it counts as
 * signed then.
 */

/** How far ahead the clock of this host may have been when it took a word, in milliseconds. */
const AHEAD_MS = 86_400_000;

/**
 * Whether a word of the desk is older than the newest one that was taken.
 *
 * @param signed ISO 8601 in UTC, as is `newest`, which is empty where none was taken. One that is to come by days was kept by a clock
 *   that was ahead, or by an earlier svc, and says nothing.
 */
export const isOlder = (signed: string, newest: string): boolean =>
  signed < newest && Date.parse(newest) - Date.now() < AHEAD_MS;

/** The time that is kept of a word which is taken now, ISO 8601. @param signed as in {@link isOlder}. */
export function keptTime(signed: string): string {
  const taken = new Date().toISOString();
  return signed < taken ? signed : taken;
}
