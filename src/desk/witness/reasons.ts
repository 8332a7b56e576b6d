/** Why a look at the log of a host found nothing, for a person: what is to be done, or where the fault may be. */
import type { RemoteError } from "../../client/carrier";
import { Failure } from "../../lib/errors";

/** Whether other hosts answer this desk. */
export type Others = "unknown" | "answer" | "silent";

export function reasonOf(error: RemoteError | Failure, others: Others): string {
  const company =
    others === "answer"
      ? "; other hosts answer this desk"
      : others === "silent"
        ? "; no other host answers this desk either: its own network may be at fault"
        : "";
  if (error instanceof Failure) return error.message;
  const { refusal, fault, sent, message } = error;
  if (refusal?.status === 404)
    return "the host keeps no log to witness: update its svc, or run it without --no-audit";
  if (fault === "answer") return message;
  const isBusy = fault === "timeout" && sent;
  return `${message}${isBusy ? " (the host takes requests: it may be flooded)" : ""}${company}`;
}
