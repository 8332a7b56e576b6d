/**
 * `--watch`: the same again and again, on a terminal in the place of what was there.
 */
import { setTimeout as delay } from "node:timers/promises";
import * as v from "valibot";
import { between, field, flag, seconds } from "../core/fields";
import { terminated } from "../lib/signals";
import { type GlobalFlags, unread } from "./subcommand";

/** The fields of `--watch` and `--interval`. @param interval the default, in seconds. */
export const watchFields = (interval: number) => ({
  watch: flag("Repeat until Ctrl-C"),
  interval_s: field(
    v.optional(seconds(between(0.1, 86_400)), interval),
    "With --watch: time between two updates",
  ),
});

/**
 * Does `once` every `intervalS` seconds until Ctrl-C or until the reader of stdout has gone, which aborts its signal.
 *
 * @returns 0.
 */
export async function repeat(
  intervalS: number,
  { json }: GlobalFlags,
  once: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const ended = new AbortController();
  void Promise.race([terminated(), unread()]).then(() => ended.abort());
  const over = new Promise<void>((resolve) => ended.signal.addEventListener("abort", () => resolve()));
  while (!ended.signal.aborted) {
    const written = process.stdout.isTTY && !json ? cleared() : undefined;
    await Promise.race([once(ended.signal), over]).finally(() => written?.release());
    await delay(intervalS * 1_000, undefined, { signal: ended.signal }).catch(() => {});
  }
  return 0;
}

/** Clears the terminal when the first line is written, so that the old answer stays until the new one is here. */
function cleared(): { release(): void } {
  const { stdout } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = ((...args: Parameters<typeof write>) => {
    stdout.write = write;
    // Cursor home, erase to the end (ECMA-48).
    write("\u001b[H\u001b[2J");
    return write(...args);
  }) as typeof stdout.write;
  return {
    release() {
      stdout.write = write;
    },
  };
}
