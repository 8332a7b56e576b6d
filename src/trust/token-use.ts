/**
 * When tokens were last used, to the day: `{config_dir}/token_use.json`, which only the running server writes.
 *
 * The promise: no request waits for the file, and a token costs one write a day however often it is used. The file says also
 * when the owner's token was last used over the network, as only the owner's own commands need it.
 */
import * as v from "valibot";
import { messageOf } from "../lib/errors";
import { writeFileAtomic } from "../lib/files";
import { jsonFileOf } from "../lib/json-file";
import type { Log } from "../lib/log";

const DAY = v.pipe(v.string(), v.isoDate());

const TOKEN_USE = v.object({
  /** The day in UTC on which each was used last. */
  tokens: v.array(v.object({ name: v.string(), last_used: DAY })),
  /** The owner's token, from beyond loopback; null for never. */
  owner_from_elsewhere: v.nullable(DAY),
});

/** The days on which tokens were last used. */
interface UseDays {
  /** By name. */
  readonly days: Map<string, string>;
  /** The owner's token, from beyond loopback; null for never. */
  readonly ownerFromElsewhere: string | null;
}

/** How long what was used first today is collected, in milliseconds: at most one write in this time. */
const COLLECT_MS = 2_000;

/** The most names that are kept, also of tokens that are gone; those unused for longest are dropped. */
const MAX_NAMES = 20_000;

const DAY_MS = 86_400_000;

/** What is noted in `file`; nothing where it is missing or broken. Never throws. */
export function readTokenUse(file: string): UseDays {
  const noted = jsonFileOf(file, TOKEN_USE);
  const days = new Map(noted?.tokens.map(({ name, last_used }) => [name, last_used]));
  return { days, ownerFromElsewhere: noted?.owner_from_elsewhere ?? null };
}

/** Notes the use of tokens in `file`. */
export function noteTokenUse(file: string, log: Log) {
  const noted = readTokenUse(file);
  const { days } = noted;
  let fromElsewhere = noted.ownerFromElsewhere;
  let today = "";
  let todayEnds = 0;
  let timer: Timer | undefined;
  const write = () => {
    clearTimeout(timer);
    timer = undefined;
    for (const name of [...days.keys()].slice(0, -MAX_NAMES)) days.delete(name);
    const used = Array.from(days, ([name, last_used]) => ({ name, last_used }));
    const use: v.InferInput<typeof TOKEN_USE> = { tokens: used, owner_from_elsewhere: fromElsewhere };
    try {
      writeFileAtomic(file, `${JSON.stringify(use, null, 2)}\n`);
    } catch (error) {
      log.warn(`${file}: the use of tokens cannot be noted: ${messageOf(error)}`);
    }
  };
  return {
    /** @param name of a named token; null for the owner's, from beyond loopback. */
    note(name: string | null): void {
      const now = Date.now();
      if (now >= todayEnds || now < todayEnds - DAY_MS) {
        today = new Date(now).toISOString().slice(0, 10);
        todayEnds = Date.parse(today) + DAY_MS;
      }
      if ((name === null ? fromElsewhere : days.get(name)) === today) return;
      if (name === null) fromElsewhere = today;
      else {
        // The map is in the order of use.
        days.delete(name);
        days.set(name, today);
      }
      timer ??= setTimeout(write, COLLECT_MS);
    },
    /** Writes what is not in the file yet. Never throws. */
    flush(): void {
      if (timer) write();
    },
  };
}
