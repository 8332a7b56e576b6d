/**
 * How often jobs start on behalf of each named token.
 */
import type { Log } from "../../lib/log";

/**
 * How often the jobs of one named token start in a minute of the clock, which is as often as it may send requests
 * (`--rate-limit`): each start leaves an audit row.
 */
const TOKEN_STARTS = 120;

/** A function that counts a start of a job of a token. It returns false when the token has had {@link TOKEN_STARTS} in this minute. */
export function createTokenStarts(log: Log): (token: string | null, now: number) => boolean {
  const starts = new Map<string, number>();
  let current = 0;
  return (token, now) => {
    if (token === null) return true;
    const minute = Math.floor(now / 60_000);
    if (minute !== current) starts.clear();
    current = minute;
    const had = (starts.get(token) ?? 0) + 1;
    starts.set(token, had);
    if (had === TOKEN_STARTS + 1)
      log.warn(
        `the jobs of the token ${token} have started ${TOKEN_STARTS} times in this minute: its further runs are skipped until the next`,
      );
    return had <= TOKEN_STARTS;
  };
}
