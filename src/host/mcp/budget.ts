/**
 * How much an agent may change: within a minute and within an hour, each token by itself, and all sessions of a person as one.
 *
 * The promise: within any hour and any minute there are at most as many changes of a token as its {@link Rate} says, also when svc
 * starts anew or runs several times. Where a person is asked, it is the question that counts, whatever the answer is.
 */
import { tooMany } from "../../lib/errors";
import { openDatabase } from "../../lib/sqlite";
import { DEFAULT_RATE, type Rate } from "./options";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** How long to wait for another process that counts, in milliseconds. */
const BUSY_MS = 1_000;

/** How much each user of an agent may change. */
export interface Budget {
  /** What is left, for the answer. */
  words(user: string): string;
  /** @throws a `too_many` failure where nothing is left. */
  require(user: string): void;
  /** Counts a change. @throws as `require`: another process may have counted one meanwhile. */
  spend(user: string): void;
  close(): void;
}

/**
 * @param path of the file in which changes are counted, which is opened when one is proposed.
 * @param options.now milliseconds since the epoch.
 */
export function createBudget(
  path: string,
  { rate = DEFAULT_RATE, now = Date.now }: { readonly rate?: Rate; readonly now?: () => number } = {},
): Budget {
  let opened: ReturnType<typeof openTable> | undefined;
  const table = () => {
    opened ??= openTable(path);
    return opened;
  };
  const left = (user: string) => {
    const all = table().times(user, now());
    const inMinute = all.filter((at) => at > now() - MINUTE_MS);
    return { all, hour: rate.hour - all.length, minute: rate.minute - inMinute.length, inMinute };
  };
  const budget = {
    words(user: string): string {
      const { hour, minute } = left(user);
      return `Changes left for this token: ${Math.max(0, minute)} of ${rate.minute} this minute, ${Math.max(0, hour)} of ${rate.hour} this hour.`;
    },
    require(user: string): void {
      const { all, hour, minute, inMinute } = left(user);
      if (hour > 0 && minute > 0) return;
      const [first = now(), spanMs] = hour > 0 ? [inMinute[0], MINUTE_MS] : [all[0], HOUR_MS];
      const waitS = Math.ceil((first + spanMs - now()) / 1_000);
      const limit = hour > 0 ? `${rate.minute} changes a minute` : `${rate.hour} changes an hour`;
      throw tooMany(`this token has made ${limit}, its limit over MCP: the next one in ${waitS} s`);
    },
    spend(user: string): void {
      table().atOnce(() => {
        budget.require(user);
        table().add(user, now());
      });
    },
    close: () => opened?.close(),
  };
  return budget;
}

/** The changes of the last hour. */
function openTable(path: string) {
  const db = openDatabase(path, {
    synchronous: "NORMAL",
    busyMs: BUSY_MS,
    prepare: (made) =>
      made.run("CREATE TABLE IF NOT EXISTS change (user TEXT NOT NULL, at INTEGER NOT NULL) STRICT"),
  });
  const select = db.query<{ at: number }, { user: string; after: number; before: number }>(
    "SELECT at FROM change WHERE user = $user AND at > $after AND at <= $before ORDER BY at",
  );
  const insert = db.query("INSERT INTO change (user, at) VALUES ($user, $at)");
  // What is later than now is of a clock that was wrong.
  const remove = db.query("DELETE FROM change WHERE at <= $after OR at > $before");
  const spanTo = (now: number) => ({ after: now - HOUR_MS, before: now + MINUTE_MS });
  return {
    /** Of the hour up to `now`, the first one first. */
    times: (user: string, now: number): number[] => select.all({ user, ...spanTo(now) }).map(({ at }) => at),
    add(user: string, now: number): void {
      remove.run(spanTo(now));
      insert.run({ user, at: now });
    },
    /** Calls `work` while no other process changes the table. */
    atOnce: (work: () => void): void => db.transaction(work).immediate(),
    close: () => db.close(),
  };
}
