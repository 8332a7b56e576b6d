/**
 * The start of a job: its script file as a run, with the rights of the token that added it.
 */
import { type Caller, localCaller } from "../core/caller";
import type { Job } from "../host/scheduler/job";
import type { Service } from "./interface";

/** @param refusal why it is not started: its token has expired, or is not known. */
export async function startJob(
  service: Service,
  { job_id, script_path, timeout_seconds, token, scopes, without, script }: Job,
  refusal: unknown,
  signal?: AbortSignal,
) {
  const base = localCaller(service, "scheduler", {
    signal,
    grant: { name: token, scopes, ...(without && { without }), ...(script !== null && { script }) },
  });
  const ending = token === null ? "" : ` token=${token}`;
  const announce = async (subject: string) => {
    if (refusal !== undefined) throw refusal;
    await base.announce(`job=${job_id} ${subject}${ending}`);
  };
  const caller: Caller = { ...base, announce };
  return (await service.executor()).startFile(script_path, caller, job_id, timeout_seconds);
}
