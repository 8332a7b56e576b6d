/**
 * What a script has several hosts do, in the process that has connections to them: the server on the folder, where one runs.
 */
import { performOperation } from "../core/call";
import type { Caller } from "../core/caller";
import { OWNER } from "../core/rights";
import type { HostJob, HostResult } from "../desk/together/job";
import { runTogether } from "../desk/together/run-together";
import { unavailable } from "../lib/errors";
import { variablesFor, withoutVariables } from "../wire/job/variables";
import type { PlanFeatures } from "./features/plans";
import type { ServiceParts } from "./parts";

/** The answer of the server on the folder, which does no more than the run may do; of this process where none runs. */
export async function answerTogether(
  { configDir, isBeside, service }: Pick<ServiceParts, "configDir" | "isBeside" | "service">,
  input: Parameters<PlanFeatures["runTogether"]>[0],
  caller: Caller,
): ReturnType<PlanFeatures["runTogether"]> {
  if (isBeside) {
    const { askOwner } = await import("../client/owner");
    const { grant, signal, warn, progress } = caller;
    const listener = { signal, warn, progress, ...(grant !== OWNER && { grant }) };
    const asked = await askOwner(configDir, runTogether, input, listener);
    if (asked) return asked.answer;
  }
  return performOperation(service, runTogether, input, caller);
}

/** Runs a job of a script on its host, as a broadcast to that host alone. @throws why nothing was sent. */
export async function runOnHost(
  { runBroadcast }: Pick<PlanFeatures, "runBroadcast">,
  { target, actions, commands, variables, delivery_timeout_s, timeout_s, signal }: HostJob,
  { grant, scope }: Parameters<PlanFeatures["runOnHost"]>[1],
): Promise<HostResult> {
  const before = variablesFor([target.label], { variables });
  let found: HostResult | undefined;
  await runBroadcast({
    input: {
      actions: [...actions],
      delivery_timeout_s,
      timeout_s,
      canary: 0,
      stop_on_error: true,
      desktop: undefined,
    },
    before,
    on: target.label,
    hosts: [target],
    commands,
    scope,
    grant,
    signal,
    maxFailures: 1,
    maxParallel: 1,
    isPart: true,
    done(result, state) {
      found = { result: withoutVariables(result, before.count(0)), state };
      return undefined;
    },
  });
  if (found) return found;
  throw unavailable("the desk has no result of it");
}
