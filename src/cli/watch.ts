/**
 * `--watch`: the same again and again, on a terminal in the place of what was there.
 */
import * as v from "valibot";
import { between, field, flag, seconds } from "../core/fields";
import { atMost } from "../lib/at-most";
import { deadline } from "../lib/deadline";
import { terminated } from "../lib/signals";
import { HOST_MS } from "./follow";
import { unread } from "./output";
import type { GlobalFlags } from "./subcommand";

/** The fields of `--watch` and `--interval`. @param interval the default, in seconds. */
export const watchFields = (interval: number) => ({
  watch: flag("Repeat until Ctrl-C"),
  interval_s: field(
    v.optional(seconds(between(0.1, 86_400)), interval),
    "With --watch: time between two updates",
  ),
});

/** How often an event makes it do so again at most, in milliseconds. */
const REDRAW_MS = 300;

/** Which hosts have changed since the last time, by their labels; all of them where it is undefined. */
export type ChangedHosts = ReadonlySet<string> | undefined;

/**
 * Does `once` at each change, and every `intervalS` seconds, until Ctrl-C or until the reader of stdout has gone, which
 * aborts its signal. A change of one host waits where all are asked within {@link HOST_MS}.
 *
 * @param follow calls `changed` when the answer may be another; with a label, for that host alone. Never rejects.
 * @returns 0.
 */
export async function repeat(
  intervalS: number,
  { json }: GlobalFlags,
  once: (signal: AbortSignal, changed: ChangedHosts) => Promise<number>,
  follow: (signal: AbortSignal, changed: (label?: string) => void) => Promise<void>,
): Promise<number> {
  const ended = new AbortController();
  void Promise.race([terminated(), unread()]).then(() => ended.abort());
  const over = new Promise<void>((resolve) => ended.signal.addEventListener("abort", () => resolve()));
  const labels = new Set<string>();
  let isAll = true;
  /** When all are asked again, however often some of them change. */
  let due = 0;
  let noted = Promise.withResolvers<void>();
  /** Not for a host that is asked with all others soon: it limits its requests. */
  const isWanted = () => isAll || (labels.size > 0 && due - performance.now() >= HOST_MS);
  const soon = atMost(REDRAW_MS, () => {
    if (isWanted()) noted.resolve();
  });
  // After the first time: a host that refuses the token then does not get it twice.
  let isFollowed = false;
  const begin = () => {
    isFollowed = true;
    void follow(ended.signal, (label) => {
      if (label === undefined) isAll = true;
      else labels.add(label);
      soon.call();
    });
  };
  while (!ended.signal.aborted) {
    const changed = isAll ? undefined : new Set(labels);
    isAll = false;
    labels.clear();
    noted = Promise.withResolvers();
    const written = process.stdout.isTTY && !json ? cleared() : undefined;
    await Promise.race([once(ended.signal, changed), over]).finally(() => written?.release());
    if (!isFollowed && !ended.signal.aborted) begin();
    if (changed === undefined) due = performance.now() + intervalS * 1_000;
    // For what has changed while it asked all.
    soon.call();
    const isLate = await sleep(ended.signal, Math.max(0, due - performance.now()), noted.promise);
    isAll ||= isLate || performance.now() >= due;
  }
  soon.end();
  return 0;
}

/** Waits until something was noted. @returns whether `ms` milliseconds have passed instead. */
const sleep = (signal: AbortSignal, ms: number, noted: Promise<void>): Promise<boolean> =>
  deadline<boolean, boolean>(
    noted.then(() => false),
    { ms, late: () => true, signal, aborted: () => true },
  );

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
