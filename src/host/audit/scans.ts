/**
 * Scans that verify the log, in a child process; those of a large log in two, where there are processors for both.
 *
 * The promise: one scan at a time, as each occupies a processor or two. A scan answers all who ask before it begins, so that no
 * queue grows.
 */
import { availableParallelism } from "node:os";
import { share } from "../../lib/share";
import type { ChildRunner } from "./child";
import type { AuditFile } from "./file";
import { type RowScan, type VerifyOptions, withDamage } from "./verify";
import type { TreeScan } from "./witness/findings";
import type { AuditEvents } from "./worker";

/** Who asks for a verification. */
export interface VerifyCall extends VerifyOptions {
  /** Ends the wait; the scan ends when nobody waits for it. */
  readonly signal?: AbortSignal | undefined;
}

/** What a scan found. */
export interface LogScan extends RowScan {
  /** What it found of the tree; null where that was not verified. */
  readonly tree: TreeScan | null;
}

/** The fewest rows for which another process is worth its start. */
export const LARGE_LOG = 50_000;

/** @param closing ends the scans. @param rowCount how many rows there are. */
export function createScans(
  file: AuditFile,
  inChild: ChildRunner,
  closing: AbortSignal,
  rowCount: () => number,
) {
  let scanning: Promise<unknown> = Promise.resolve();
  /** The scan that has not begun yet. */
  let next: ReturnType<typeof beginScan> | undefined;

  const beginScan = () => {
    const heads = new Set<string>();
    const keys = new Set<string>();
    const listeners = new Set<AuditEvents["progress"]>();
    const progress: AuditEvents["progress"] = (done, total) => {
      for (const listener of listeners) listener(done, total);
    };
    const work = share(async (abandoned) => {
      await scanning;
      if (next === scan) next = undefined;
      const signal = AbortSignal.any([closing, abandoned]);
      signal.throwIfAborted();
      // A new log gets its high-water mark. One that cannot be opened here may still be readable.
      const unopened = await file.read(() => {}).catch((error) => error);
      file.requireThere();
      const isShared = rowCount() >= LARGE_LOG && availableParallelism() > 1;
      const ended = new AbortController();
      const structure = isShared
        ? inChild((audit) => audit.structure(file.path), AbortSignal.any([signal, ended.signal]))
        : null;
      // It is not waited for where the rows have a fault.
      structure?.catch(() => {});
      try {
        const { verdict, missing, tree } = await inChild(
          (audit) => audit.verify(file.path, [...heads], [...keys][0] ?? null, isShared),
          signal,
          progress,
        );
        const damage = verdict.ok ? await structure : null;
        return { verdict: withDamage(verdict, damage), missing: new Map(missing), tree };
      } catch (error) {
        throw unopened ?? error;
      } finally {
        ended.abort();
      }
    });
    scanning = work.ended;
    const scan = { heads, keys, listeners, work };
    return scan;
  };

  /**
   * What a scan finds that begins from now on.
   *
   * @param vkey the key of the log, where its tree is to be verified too.
   * @throws an `unavailable` failure when the log cannot be read.
   */
  return ({ noted, progress, signal }: VerifyCall, vkey?: string): Promise<LogScan> => {
    if (!next || next.work.signal.aborted) next = beginScan();
    const { heads, keys, listeners, work } = next;
    if (noted !== undefined) heads.add(noted);
    if (vkey !== undefined) keys.add(vkey);
    if (progress) listeners.add(progress);
    return work.join(signal);
  };
}
