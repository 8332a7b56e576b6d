/**
 * Actions about plans and broadcasts of a run in a process beside the server, which alone runs them: what they need besides the question.
 */
import * as v from "valibot";
import { askOwner, type Listener } from "../client/owner";
import { performOperation } from "../core/call";
import type { Caller } from "../core/caller";
import type { Operation } from "../core/operation";
import { allows } from "../core/rights";
import { BROADCAST } from "../desk/fleet/operations/broadcast-input";
import { broadcastExecute, type Delivery, withFilesHere } from "../desk/fleet/operations/fleet";
import { followPlan, isOver } from "../desk/plans/operations/follow";
import { showPlan } from "../desk/plans/operations/look";
import { newPlan, pathInRun } from "../desk/plans/operations/make";
import { applyPlan, requireGood, resumePlan, retryPlan } from "../desk/plans/operations/run";
import type { Plan } from "../desk/plans/operations/text";
import { findRunningServer } from "../lib/running-server";
import type { Service } from "./interface";

/** The input with what an action has from its run, which the server does not know: the path of its script. */
export const fromRun = <T extends object>({ name }: Operation, input: T, caller: Caller): T =>
  name === newPlan.name ? { path: pathInRun(caller), ...input } : input;

/**
 * The answer of the server on the folder to an action that runs a plan or a broadcast.
 *
 * @returns undefined for any other action, and where no server runs.
 * @throws what the server answers with; `conflict` for a plan that was waited for and is not as it should be.
 */
export async function askOfDesk(
  service: Service,
  { name }: Operation,
  input: unknown,
  caller: Caller,
  listener: Listener,
): Promise<{ readonly answer: unknown } | undefined> {
  if (!findRunningServer(service.configDir)) return undefined;
  if (name === broadcastExecute.name)
    return askForBroadcast(service, v.parse(BROADCAST, input), caller, listener);
  const running = [applyPlan, resumePlan, retryPlan].find((one) => one.name === name);
  return running && askForPlan(service, running, Object(input), caller, listener);
}

/** The files are those of this process: the server may see others under their paths. */
async function askForBroadcast(
  service: Service,
  input: v.InferOutput<typeof BROADCAST>,
  caller: Caller,
  listener: Listener,
) {
  const { retry, output } = input;
  // The server refuses that.
  if ((retry ?? output) !== undefined && !allows(caller.grant, "admin")) return undefined;
  const answer = await withFilesHere(service, input, async (asked, done) => {
    const progress: NonNullable<Listener["progress"]> = (step) => {
      done(step.item as Delivery);
      caller.progress?.(step);
    };
    const answered = await askOwner(service.configDir, broadcastExecute, asked, { ...listener, progress });
    // The server has ended since it was found.
    const here = { ...caller, progress };
    return answered
      ? answered.answer
      : performOperation(service, broadcastExecute, v.parse(BROADCAST, asked), here);
  });
  return { answer };
}

/** A plan that is waited for is followed, so that it may outlast this server. */
async function askForPlan(
  service: Service,
  operation: Operation,
  input: { readonly wait: boolean },
  caller: Caller,
  listener: Listener,
) {
  const { configDir } = service;
  const asked = await askOwner(configDir, operation, { ...input, wait: false }, listener);
  if (!asked || !input.wait) return asked;
  const begun = v.parse(operation.output, asked.answer) as Plan;
  const show = async (only?: ["none"]) => {
    const look = { id: begun.id, only };
    const shown = await askOwner(configDir, showPlan, look, listener);
    return v.parse(
      showPlan.output,
      shown ? shown.answer : await performOperation(service, showPlan, look, caller),
    );
  };
  const isServed = () => findRunningServer(configDir) !== null;
  const plan = isOver(begun) ? begun : await followPlan(begun.id, { show, isServed }, caller);
  requireGood(plan);
  return { answer: v.parse(operation.output, plan) };
}
