/**
 * A job for a host that knows none, and runs what it is sent: once, and where its answer is lost, nobody knows.
 */
import type { RemoteError } from "../client/carrier";
import { deliver } from "../fleet/deliver";
import type { Delivered } from "../fleet/results";
import { readContent } from "./job/content";
import type { DeliverOptions, Job, JobResult, JobState, Target } from "./job/job";

/** @returns null for one with files, which such a host does not take: nothing was sent. @throws what `sent` throws. */
export async function executeJob(
  target: Target,
  { content, delivery_timeout_s, timeout_s }: Job,
  { signal, client, sent }: DeliverOptions,
): Promise<JobResult | null> {
  const { files, scope, actions, commands, stop_on_error } = readContent(content);
  if (Object.keys(files).length > 0) return null;
  let fault: RemoteError | undefined;
  const result = await deliver(target, {
    ...{ actions, commands, stop_on_error, scope: scope ?? undefined, delivery_timeout_s, timeout_s },
    ...{ signal, client, sent: () => sent("execute") },
    failed(error) {
      fault = error;
    },
  });
  return { state: stateOf(result, fault), result };
}

/** @param fault why there is no report. */
function stateOf({ status }: Delivered, fault: RemoteError | undefined): JobState {
  if (!fault) return status === "ok" || status === "timeout" ? status : "failed";
  if (fault.fault === "unauthorized" || isRefusal(fault)) return "refused";
  if (hasDoneNothing(fault)) return "offline";
  return fault.fault === "timeout" ? "timeout" : "unknown";
}

/** Whether the host refused it for good. */
export const isRefusal = ({ refusal }: RemoteError): boolean =>
  refusal !== undefined && refusal.status >= 400 && refusal.status < 500 && refusal.status !== 429;

/** Whether the host has not taken it: what is too much for now may come again. */
export const hasDoneNothing = (error: RemoteError): boolean =>
  !error.sent ||
  error.fault === "unauthorized" ||
  isRefusal(error) ||
  [429, 503].includes(error.refusal?.status ?? 0);
