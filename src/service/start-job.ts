/**
 * The start of a job: its script file as a run, with the rights of the token that added it.
 */
import { type Caller, localCaller } from "../core/caller";
import type { Job } from "../host/scheduler/job";
import type { Service } from "./interface";

/** @param refusal why it is not started: its token has expired, or is not known. */
export async function startJob(service: Service, job: Job, refusal: unknown, signal?: AbortSignal) {
  const { job_id, script_path, token, scopes, without, script } = job;
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
  const { timeout_seconds: timeout_s, stop_on_error, variables, desktop } = job;
  const given = {
    ...(timeout_s !== undefined && { timeout_s }),
    ...(stop_on_error !== null && { stop_on_error }),
    ...(variables && { variables }),
    ...(desktop !== undefined && { desktop }),
  };
  return (await service.executor()).startFile(script_path, caller, job_id, given, { stop_on_error: true });
}
