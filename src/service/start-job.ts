/**
 * The start of a job: its script file as a run, with the rights of the token that added it.
 */
import { type Caller, localCaller } from "../core/caller";
import { forbidden } from "../lib/errors";
import type { Job } from "../scheduler/job";
import type { Service } from "./interface";

/** @param hasEnded whether its token has expired: then it is not started, and the failure says so. */
export async function startJob(
  service: Service,
  { job_id, script_path, timeout_seconds, token, scopes, without, script }: Job,
  hasEnded: boolean,
  signal?: AbortSignal,
) {
  const base = localCaller(service, "scheduler", {
    signal,
    grant: { name: token, scopes, ...(without && { without }), ...(script !== null && { script }) },
  });
  const ending = token === null ? "" : ` token=${token}`;
  const announce = async (subject: string) => {
    if (hasEnded) throw forbidden(`its token ${token} has expired: \`svc token rotate ${token}\``);
    await base.announce(`job=${job_id} ${subject}${ending}`);
  };
  const caller: Caller = { ...base, announce };
  return (await service.executor()).startFile(script_path, caller, job_id, timeout_seconds);
}
