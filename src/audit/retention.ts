/**
 * The limit on rows: once there are more, the oldest are moved away, one attempt at a time.
 */
import { messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import type { Pruned } from "./prune";

/** What part of the limit is kept, so that pruning is seldom. */
const KEPT_PART = 0.9;

/** How long after an attempt that failed the next one comes. */
const PAUSE_MS = 60_000;

export interface Limit {
  /** @param maxRows 0 for no limit. */
  set(maxRows: number): void;
  /** Begins to prune if `rows` are too many. */
  check(rows: number): void;
}

/** @param prune removes all but the newest `keep` rows. */
export function createLimit(prune: (keep: number) => Promise<Pruned>, log: Log, signal: AbortSignal): Limit {
  let maxRows = 0;
  let pruning = false;
  let notBefore = 0;

  const run = async () => {
    pruning = true;
    try {
      const { deleted, archive } = await prune(Math.floor(maxRows * KEPT_PART));
      if (deleted > 0) log.info(`moved ${deleted} rows of the audit log to ${archive}`);
    } catch (error) {
      if (signal.aborted) return;
      log.error(`the audit log has more than ${maxRows} rows and cannot be pruned: ${messageOf(error)}`);
      notBefore = performance.now() + PAUSE_MS;
    } finally {
      pruning = false;
    }
  };

  return {
    set(limit) {
      maxRows = limit;
    },
    check(rows) {
      if (maxRows > 0 && rows > maxRows && !pruning && performance.now() >= notBefore) void run();
    },
  };
}
