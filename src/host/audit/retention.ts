/**
 * The limit on rows: when there are more, the oldest are moved to an archive.
 */
import * as v from "valibot";
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";

/** What a prune did. */
export const PRUNED = v.object({
  deleted: v.number(),
  /** The path of the archive; null when there was nothing to remove. */
  archive: v.nullable(v.string()),
});

/** The rows that are in an archive: the oldest of the log. */
export const ARCHIVED_ROWS = v.strictObject({
  first_id: v.number(),
  last_id: v.number(),
  /** The hash of the last one. */
  last_hash: v.nullable(v.string()),
  rows: v.number(),
});

export type ArchivedRows = v.InferOutput<typeof ARCHIVED_ROWS>;

export type PruneResult = v.InferOutput<typeof PRUNED>;

/** The part of the limit that is kept, so that pruning is rare. */
const KEPT_PART = 0.9;

/** How long after an attempt that moved nothing the next one is made, in milliseconds. */
const PAUSE_MS = 60_000;

/** @param prune removes all but the newest `keep` rows. */
export function createLimit(prune: (keep: number) => Promise<PruneResult>, log: Log, signal: AbortSignal) {
  let pruning = false;
  let notBefore = 0;
  return {
    /** 0 for no limit. */
    maxRows: 0,
    /** Prunes when there are too many rows and no attempt is being made. Never throws. */
    async check(rows: number): Promise<void> {
      const { maxRows } = this;
      if (maxRows === 0 || rows <= maxRows || pruning || performance.now() < notBefore) return;
      pruning = true;
      try {
        const { deleted, archive } = await prune(Math.floor(maxRows * KEPT_PART));
        if (deleted > 0) log.info(`moved ${deleted} rows of the audit log to ${archive}`);
        // Rows that somebody deleted past svc are counted, and cannot be moved.
        else notBefore = performance.now() + PAUSE_MS;
      } catch (error) {
        if (signal.aborted) return;
        log.error(`the audit log has more than ${maxRows} rows and cannot be pruned: ${messageOf(error)}`);
        notBefore = performance.now() + PAUSE_MS;
      } finally {
        pruning = false;
      }
    },
  };
}
