/** An agent over stdin and stdout: its operations run here, or at the server on the same `{config_dir}`, as those of the command line. */
import * as v from "valibot";
import { callOperation } from "../core/call";
import type { Caller } from "../core/caller";
import type { Operation } from "../core/operation";
import { cancelPlan, pausePlan, removePlan } from "../desk/plans/operations/change";
import { permitted, RUNNING } from "../desk/plans/operations/run";
import type { AskPerson, CallsParts } from "../host/mcp/calls";
import { createTools, type McpOptions } from "../host/mcp/open";
import { serveClient } from "../host/mcp/stdio";
import { type Choice, offerOf } from "../host/mcp/toolsets";
import { cancelRun, listRuns, showRun } from "../host/runs/operations/runs";
import type { RunView } from "../host/runs/types";
import { findRunningServer } from "../lib/running-server";
import type { Service } from "./interface";

/** Who asks a person, so that the owner may say yes: it is the owner's process, but not the owner. No token has this name. */
const ASKING = "(svc mcp)";

/** The operations of one run. The agent's own runs are runs of this process, which the server beside it does not have. */
const OF_A_RUN: readonly string[] = [showRun.name, cancelRun.name];

/** The operations of one plan that run nothing. */
const OF_A_PLAN: readonly string[] = [pausePlan.name, cancelPlan.name, removePlan.name];

/**
 * The input for the server, which is asked with the token of the owner and so finds plans that an agent may not see: with the whole id of
 * the plan that the agent means.
 *
 * @throws `not_found` for a plan that it may not see; `forbidden` for one that it may not have run.
 */
async function forServer(service: Service, { name }: Operation, input: unknown, caller: Caller) {
  const given = Object(input);
  if (RUNNING.includes(name)) return { ...given, id: (await permitted(service, given.id, caller)).plan.id };
  if (!OF_A_PLAN.includes(name)) return given;
  return { ...given, id: (await service.plans()).find(given.id, caller.grant).id };
}

async function knowsRun(service: Service, id: unknown): Promise<boolean> {
  const known = (await service.runs()).list().filter(({ run_id }) => run_id.startsWith(`${id}`));
  return known.length > 0;
}

/**
 * What the server has answered to the owner, as an agent may see it.
 *
 * @throws a `forbidden` failure for the outcomes of a run with commands that it may not use.
 */
async function ofAgent(service: Service, { name }: Operation, answer: unknown, { grant }: Caller) {
  if (name === showRun.name)
    (await service.executor()).permit(v.parse(showRun.output, answer).commands, grant);
  if (name !== listRuns.name) return answer;
  const { runs: kept } = v.parse(listRuns.output, answer);
  const isKept = ({ run_id }: RunView) => kept.some((one) => one.run_id === run_id);
  // A server that came later has not those that ended before.
  const runs = [...(await service.runs()).list().filter((own) => !isKept(own)), ...kept];
  return { runs, count: runs.length };
}

export async function openStdio(
  service: Service,
  { approve, on, rate }: Pick<McpOptions, "on" | "rate"> & { readonly approve: boolean },
) {
  const ask: AskPerson = async ({ caller, ...question }) => {
    const grant = { ...caller.grant, name: ASKING };
    return (await service.approvals()).ask({ ...question, caller: { ...caller, grant } });
  };
  const perform: CallsParts["perform"] = async (operation, input, caller) => {
    const { answeredBy, changes, uses } = operation;
    const hasServer = Boolean(findRunningServer(service.configDir));
    const isOwnRun = OF_A_RUN.includes(operation.name) && (await knowsRun(service, Object(input).run_id));
    const isHere = isOwnRun || (!hasServer && operation.name.startsWith("runs."));
    if (!isHere && (answeredBy === "server" || (answeredBy === "server or here" && hasServer))) {
      const given = await forServer(service, operation, input, caller);
      const { askServer } = await import("../client/owner");
      const asked = await askServer(service.configDir, operation, given, { signal: caller.signal });
      if (asked) return ofAgent(service, operation, asked.answer, caller);
    }
    const answer = await callOperation(service, operation, input, caller);
    // The change is in force when the agent has its answer.
    if (changes && !uses) await service.notifyServer();
    return answer;
  };
  const tools = await createTools(service, { on, rate, ask: approve ? ask : null }, perform);
  return {
    serve(choice: Choice, signal: AbortSignal) {
      const offer = offerOf(tools.operations, choice);
      if (offer.notice !== undefined) service.log.warn(offer.notice);
      return serveClient(service, tools, offer, signal);
    },
  };
}
