/**
 * Looks every minute whether screens of hosts differ from the others, and says so once one has for a while.
 *
 * Promise: `host.odd` and `host.alike` take turns for each host. A host that does not answer is neither, until that has lasted as long.
 */
import type { Publish } from "../../../core/events";
import { sleep } from "../../../lib/deadline";
import { messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { printable } from "../../../lib/sanitize";
import { hostAlike, hostOdd } from "./events";
import type { OddHost } from "./rows";

/** The time from one look to the next, in milliseconds. */
const EVERY_MS = 60_000;

/** How many hosts there are of each kind. */
export interface OddCounts {
  /** That have stood out for long enough. */
  readonly odd: number;
  readonly alike: number;
  /** That did not answer, or that nobody can tell of. */
  readonly unknown: number;
  /** For how long one has stood out by now, in seconds: the longest. */
  readonly longest_s: number;
}

/** A watch of screens. */
export interface OddWatch {
  start(): void;
  stop(): Promise<void>;
  /** Null before the first look. */
  counts(): OddCounts | null;
}

interface WatchParts {
  /** How long a host has to stand out, in milliseconds. */
  readonly afterMs: number;
  /** Asks all of them. @throws what keeps it from that. */
  look(signal: AbortSignal): Promise<readonly OddHost[]>;
  readonly publish: Publish;
  readonly log: Log;
  readonly everyMs?: number;
  /** The monotonic clock, in milliseconds. */
  now?(): number;
}

interface Outlier {
  readonly since: number;
  readonly sinceText: string;
  /** When it was seen so last. */
  seen: number;
  isSaid: boolean;
}

export function createOddWatch(parts: WatchParts): OddWatch {
  const { look, log, everyMs = EVERY_MS } = parts;
  const notes = createNotes(parts);
  const end = new AbortController();
  let running: Promise<void> | undefined;
  let trouble = "";

  const run = async () => {
    while (!end.signal.aborted) {
      const began = performance.now();
      try {
        notes.take(await look(end.signal));
        trouble = "";
      } catch (error) {
        const message = printable(messageOf(error), 500);
        if (!end.signal.aborted && message !== trouble) log.warn(`the screens are not compared: ${message}`);
        trouble = message;
      }
      await sleep(Math.max(0, everyMs - (performance.now() - began)), end.signal).catch(() => {});
    }
  };
  return {
    start() {
      running ??= run();
    },
    async stop() {
      end.abort();
      await running;
    },
    counts: notes.counts,
  };
}

/** Remembers what looks have found. */
function createNotes({
  afterMs,
  publish,
  log,
  everyMs = EVERY_MS,
  now = () => performance.now(),
}: WatchParts) {
  const standing = new Map<string, Outlier>();
  let rows: readonly OddHost[] | undefined;

  const end = (label: string, compared: boolean) => {
    if (standing.get(label)?.isSaid) publish(hostAlike, { label, compared });
    standing.delete(label);
  };
  const noteOdd = ({ label, tag, score, why }: OddHost, at: number) => {
    const known = standing.get(label) ?? {
      since: at,
      sinceText: new Date().toISOString(),
      isSaid: false,
      seen: at,
    };
    standing.set(label, known);
    known.seen = at;
    if (known.isSaid || at - known.since < afterMs) return;
    known.isSaid = true;
    publish(hostOdd, {
      label,
      tag: tag ?? "",
      score: score ?? 0,
      why: printable(why ?? "", 500),
      since: known.sinceText,
    });
    log.info(`the screen of ${printable(label, 130)} stands out: ${printable(why ?? "", 500)}`);
  };
  return {
    take(found: readonly OddHost[]): void {
      const at = now();
      rows = found;
      for (const row of found) {
        if (row.state === "odd") noteOdd(row, at);
        else if (row.state === "alike") end(row.label, true);
      }
      for (const [label, { seen }] of [...standing])
        if (at - seen > Math.max(afterMs, 2 * everyMs)) end(label, false);
    },
    counts(): OddCounts | null {
      if (!rows) return null;
      const said = [...standing.values()].filter(({ isSaid }) => isSaid);
      const alike = rows.filter(({ state }) => state === "alike").length;
      const unknown = rows.filter(({ state }) => state !== "alike" && state !== "odd").length;
      const longest = Math.max(0, ...said.map(({ since }) => now() - since));
      return { odd: said.length, alike, unknown, longest_s: Math.round(longest / 1_000) };
    },
  };
}
