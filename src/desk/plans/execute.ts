/**
 * A job for a host with an older svc, which runs whatever it gets: it is sent once. Where the answer is lost, the result is unknown.
 */
import type { RemoteError } from "../../client/carrier";
import { readContent } from "../../wire/job/content";
import type { Delivery } from "../../wire/job/delivery";
import type { DeliverOptions, Job, JobResult, JobState, Target } from "../../wire/job/job";
import { deliver } from "./action-list";

/** It may not be sent: its plan does not run any more. */
export class UnsentError extends Error {}

/**
 * @returns null for a job with files, which such a host does not take: then nothing was sent.
 * @throws {@link UnsentError}, and what `sent` throws.
 */
export async function executeJob(
  target: Target,
  { content, delivery_timeout_s, timeout_s }: Job,
  { signal, client, room, sent, maySend = () => true }: DeliverOptions,
): Promise<JobResult | null> {
  const { files, scope, actions, commands, stop_on_error, desktop } = readContent(content);
  if (Object.keys(files).length > 0) return null;
  let fault: RemoteError | undefined;
  const requireSending = () => {
    if (!maySend()) throw new UnsentError();
  };
  const result = await deliver(target, {
    actions,
    commands,
    stop_on_error,
    desktop,
    scope: scope ?? undefined,
    delivery_timeout_s,
    timeout_s,
    signal,
    client,
    room,
    async sent() {
      requireSending();
      await sent("execute");
      requireSending();
    },
    failed(error) {
      fault = error;
    },
  });
  return { state: stateOf(result, fault), result };
}

/** @param fault why there is no report. */
function stateOf({ status, delivered }: Delivery, fault: RemoteError | undefined): JobState {
  if (!fault) return status === "ok" || status === "timeout" ? status : "failed";
  if (fault.fault === "unauthorized" || isRefusal(fault)) return "refused";
  if (!delivered || hasDoneNothing(fault)) return "offline";
  return fault.fault === "timeout" ? "timeout" : "unknown";
}

/** Whether the host refused it for good. */
export const isRefusal = ({ refusal }: RemoteError): boolean =>
  refusal !== undefined && refusal.status >= 400 && refusal.status < 500 && refusal.status !== 429;

/** Whether the host has done nothing: one that is too busy may take the job later. */
export const hasDoneNothing = (error: RemoteError): boolean =>
  !error.sent ||
  error.fault === "unauthorized" ||
  isRefusal(error) ||
  [429, 503].includes(error.refusal?.status ?? 0);
