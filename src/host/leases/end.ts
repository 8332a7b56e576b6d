/**
 * The end of a lease, whatever brings it.
 *
 * The promise: it ends once, and from then on nothing of it begins; keys and buttons are released before what takes longer to end.
 */
import { NEW } from "../../core/desktop-request";
import { cancelled, forbidden, messageOf } from "../../lib/errors";
import { leaseEnded } from "./events";
import { aboutText, type Entry, type LeasePlace, type LeasesParts, viewOf } from "./parts";

/** How often it looks whether the process that asked is still there, in milliseconds. */
const LOOK_MS = 1_000;

/** Ends it once its token has ended. */
export function endWithToken(parts: LeasesParts, entry: Entry): void {
  const { name } = entry.asker.caller.grant;
  // A process of the owner has a name that no token has.
  if (name === null || name.startsWith("(")) return;
  const revoked = parts.untilRevoked(name);
  const lost = () => void endLease(parts, entry, "its token has ended");
  revoked.addEventListener("abort", lost);
  entry.ends.push(() => revoked.removeEventListener("abort", lost));
  if (revoked.aborted) lost();
}

/** Ends it once its desktop has ended. */
export function endWithDesktop(parts: LeasesParts, entry: Entry, { lost }: LeasePlace): void {
  if (!lost) return;
  const end = () => void endLease(parts, entry, `its desktop has ended: ${messageOf(lost.reason)}`);
  lost.addEventListener("abort", end);
  entry.ends.push(() => lost.removeEventListener("abort", end));
  if (lost.aborted) end();
}

/** Ends it once the process that asked has ended, where that can be seen. */
export function endWithAsker(parts: LeasesParts, entry: Entry): void {
  const { isThere } = entry.asker;
  if (!isThere) return;
  const look = () => {
    if (!isThere()) void endLease(parts, entry, "the process of the agent has ended");
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  entry.ends.push(() => clearInterval(timer));
}

/**
 * Takes these values off the clipboard at the end, where the desktop outlives the lease: whoever may see its screen may read that, and the
 * lease, whose answers have none of them, is over then.
 */
export function endWithClipboard({ terms, place, ends }: Entry, values: readonly string[]): void {
  if (terms.desktop === NEW || !place || values.length === 0) return;
  const { desktop } = place;
  // The last of all: nothing waits for it.
  ends.unshift(async () => {
    const text = await desktop.clipboard();
    // Not what a person has copied since.
    if (values.some((value) => text.includes(value))) await desktop.setClipboard("");
  });
}

/** Ends it for what the agent did that it does not allow. @returns the failure. */
export function refuse(parts: LeasesParts, entry: Entry, what: string) {
  void endLease(parts, entry, `the agent ${what}`);
  return forbidden(`the lease ${entry.id} has ended: the agent ${what}`);
}

/** Resolves once everything that ends with it has ended. Never throws. */
export function endLease(parts: LeasesParts, entry: Entry, reason: string): Promise<void> {
  entry.over ??= endNow(parts, entry, reason);
  return entry.over;
}

async function endNow(parts: LeasesParts, entry: Entry, reason: string): Promise<void> {
  const { id, control, ends } = entry;
  const isWaiting = entry.state === "waiting";
  entry.state = "ended";
  entry.reason = reason;
  entry.endedAt = new Date().toISOString();
  entry.until = undefined;
  entry.hands = undefined;
  entry.filled.clear();
  control.abort(cancelled(`the lease ${id} has ended: ${reason}`));
  const warn = (error: unknown) =>
    parts.log.warn(`the lease ${id} did not end as it should: ${messageOf(error)}`);
  if (isWaiting)
    await parts
      .approvals()
      .then((all) => all.withdraw(id))
      .catch(warn);
  for (const end of ends.reverse()) await Promise.try(end).catch(warn);
  parts.publish(leaseEnded, viewOf(entry));
  entry.settled.resolve();
  await parts
    .record(`lease.ended ${aboutText(entry)} used=${entry.used} reason=${JSON.stringify(reason)}`)
    .catch(warn);
}

/** Why it ends where nothing is left of its actions. */
export const usedUp = ({ terms: { actions } }: Entry) => `its ${actions} actions are used up`;
