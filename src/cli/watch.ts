/**
 * `--watch`: the same again and again, on a terminal in the place of what was there.
 */
import type { Argv } from "yargs";
import { sleep } from "../lib/deadline";
import { badInput } from "../lib/errors";
import { terminated, unread } from "./command";

/** Adds `--watch`, and `--interval` with its default. */
export const watchable = <Flags>(argv: Argv<Flags>, seconds: number) =>
  argv
    .option("watch", { type: "boolean", default: false, describe: "Again and again, until Ctrl-C" })
    .option("interval", { type: "number", default: seconds, describe: "watch: seconds in between" });

export interface WatchFlags {
  readonly json: boolean;
  readonly watch: boolean;
  readonly interval: number;
}

/** Handed to each turn. */
export interface Turn {
  /** Aborted when there is to be no further one; what is under way then is not printed. */
  readonly signal: AbortSignal;
  /** Makes room: to be called before printing. */
  clear(): void;
}

/**
 * Does `once`, or with `--watch` does it until Ctrl-C or until nobody reads it any more.
 *
 * @param once gives the exit code.
 * @returns that exit code; 0 after watching.
 */
export async function watching(flags: WatchFlags, once: (turn: Turn) => Promise<number>): Promise<number> {
  const { watch, interval } = flags;
  if (!(interval >= 0.1 && interval <= 86_400)) {
    throw badInput(`interval: expected 0.1 to 86,400 seconds but found ${interval}`);
  }
  const { signal } = new AbortController();
  if (!watch) return once({ signal, clear() {} });
  const ended = new AbortController();
  void Promise.race([terminated(), unread()]).then(() => ended.abort());
  const onTerminal = process.stdout.isTTY && !flags.json;
  // Cursor home, erase to the end (ECMA-48).
  const clear = () => void (onTerminal && process.stdout.write("\u001b[H\u001b[2J"));
  while (!ended.signal.aborted) {
    await once({ signal: ended.signal, clear });
    await sleep(interval * 1_000, ended.signal).catch(() => {});
  }
  return 0;
}
