/**
 * Which hosts begin now.
 *
 * Promises. Nothing begins but while its plan runs. A host has one job of a plan at a time, in the order in which plans came to it;
 * a broadcast waits for no plan, and holds up none. Jobs that have waited for their host begin at a limited rate; while they wait, they take no place of another.
 */
import { createBuckets } from "../../lib/buckets";
import type { Dispatch } from "./dispatch";
import type { Hosts } from "./hosts";
import type { Entry, Run } from "./run";
import type { Shared } from "./shared";

export function createScheduler(
  { uses, queues, slots, stopping, complain }: Shared,
  hosts: Hosts,
  { start, write }: Dispatch,
) {
  const ratePerMinute = uses.startsPerMinute ?? 6_000;
  const mayStart = createBuckets({ ratePerMinute, burst: Math.max(1, Math.floor(ratePerMinute / 60)) });

  /** Whether to wait for the host, since it may yet come; or for the address book, to know that. */
  const mayCome = ({ run, label }: Entry): boolean => {
    try {
      return hosts.isExpected(label);
    } catch (error) {
      complain(run, error);
      return true;
    }
  };

  const beginOne = (run: Run): boolean => {
    if (stopping.aborted || !mayBegin(run)) return false;
    const entry = run.nextReady();
    if (!entry) return false;
    // The caller of a broadcast does not wait for plans.
    if (run.broadcast) start(entry);
    // It goes on when those before it have ended.
    else if (!queues.take(entry.label, entry)) waitBehind(entry);
    else if (mayCome(entry)) entry.phase = "awaited";
    else start(entry);
    return true;
  };
  const waitBehind = (entry: Entry): void => {
    const first = queues.first(entry.label);
    if (first?.state !== "waiting") return;
    if (entry.run.plan.spec.queue) void write(entry, "wait");
    // Whether the host is there has to be known now.
    else first.due = 0;
  };
  const mayBegin = (run: Run) =>
    !run.hasTooManyFailed() &&
    run.plan.state === "running" &&
    run.stopped === undefined &&
    !run.broadcast?.isLeft() &&
    Date.now() < (run.plan.expires ?? 0) &&
    run.hasRoom() &&
    slots.isFree();
  /** Tries hosts that were not there, and asks those whose answer was lost. */
  const tryAgain = (run: Run): void => {
    const now = performance.now();
    for (const entry of run.entries.values()) {
      if (entry.phase === "asking" || entry.due > now || !slots.isFree()) continue;
      if (entry.state === "planned" && entry.due > 0) {
        entry.due = 0;
        run.again(entry);
      }
      const isSent = entry.state === "sent" || entry.state === "running";
      if (!isSent && ((entry.state !== "waiting" && entry.phase !== "awaited") || !mayBegin(run))) continue;
      if (!queues.take(entry.label, entry) && !isSent) continue;
      if (!isSent && mayCome(entry)) continue;
      if (!isSent && hosts.isOffline(entry.label)) {
        if (entry.state === "planned") run.again(entry);
        // What came after it does not wait for ever.
        else if (queues.behind(entry.label).some(({ state }) => state === "planned")) start(entry);
        continue;
      }
      if (!isSent && mayStart("", now) > 0) continue;
      start(entry);
    }
  };

  return {
    /** Begins at the next host of the waves so far, if it is its turn there. @returns false where none may begin now. */
    beginOne,
    tryAgain,
  };
}
