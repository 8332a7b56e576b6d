/**
 * Putting on record what is asked for again and again: once, and again when it still goes on after a while.
 */
import type { Caller } from "./caller";

/** How long one row is good for, in milliseconds: an hour of looking leaves six. */
const EVERY_MS = 600_000;
/** How many callers are remembered; beyond that, some leave a row more. */
const MAX_REMEMBERED = 1_000;

/** Resolves when what `subject` says is on record for this caller: with a row of now, or of before. @throws as `announce` does. */
export type ThrottledAudit = (
  caller: Pick<Caller, "client" | "grant" | "announce">,
  subject: string,
) => Promise<void>;

export function createThrottledAudit(everyMs = EVERY_MS): ThrottledAudit {
  const rows = new Map<string, number>();
  return async ({ client, grant, announce }, subject) => {
    const key = JSON.stringify([grant.name, client, subject]);
    const before = rows.get(key);
    if (before !== undefined && performance.now() - before < everyMs) return;
    await announce(subject);
    if (rows.size >= MAX_REMEMBERED) rows.clear();
    rows.set(key, performance.now());
  };
}
