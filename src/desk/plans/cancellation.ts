/**
 * Cancelling at hosts: each that may have a job of a cancelled plan is asked to refuse or end it, until it answers.
 */
import { type Hosts, Unread } from "./hosts";
import { type Entry, jobOf, type Run } from "./run";
import { ASK, laterThan, type Shared } from "./shared";

export function createCancellation({ uses, stopping, complain }: Shared, hosts: Hosts) {
  /** Has hosts end what they may have, until each has answered. */
  const cancelAtHosts = ({ plan, entries }: Run): void => {
    if (plan.state !== "cancelled") return;
    const now = performance.now();
    for (const entry of entries.values())
      if (entry.way === "job" && (entry.cancel?.due ?? 0) <= now) void cancelAt(entry);
  };
  const cancelAt = async (entry: Entry): Promise<void> => {
    const { broadcast, plan } = entry.run;
    const options = { signal: stopping, client: broadcast ? broadcast.client : plan.token };
    const cancel = (entry.cancel ??= { due: 0, tries: 0 });
    let isDone: boolean | undefined = false;
    try {
      const found = hosts.targetOf(entry);
      if (found?.identity !== entry.identity) return;
      cancel.due = Number.POSITIVE_INFINITY;
      isDone = await uses.cancelJob?.(found, jobOf(entry), options);
    } catch (error) {
      if (error instanceof Unread) complain(entry.run, error);
    }
    if (isDone) entry.due = 0;
    else cancel.due = laterThan(ASK, cancel.tries++);
  };

  return { cancelAtHosts, cancelAt };
}
