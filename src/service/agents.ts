/** An agent over stdin and stdout: its operations run here, or at the server on the same `{config_dir}`, with the rights of the agent. */
import { askOwner } from "../client/owner";
import { callOperation } from "../core/call";
import { localCaller } from "../core/caller";
import { currentLease, endLease } from "../host/leases/operations";
import type { AskPerson, CallsParts } from "../host/mcp/agent-call";
import type { AgentLeases } from "../host/mcp/leased";
import { createTools, type McpOptions } from "../host/mcp/open";
import { serveClient } from "../host/mcp/stdio";
import { type Choice, offerOf } from "../host/mcp/toolsets";
import { messageOf } from "../lib/errors";
import { findRunningServer } from "../lib/running-server";
import { answerFor } from "./answer";
import type { Service } from "./interface";

/** Who asks a person, so that the owner may say yes: it is the owner's process, but not the owner. No token has this name. */
const ASKING = "(svc mcp)";

/** Whether it is about runs of this process: all, where no server runs. A server that came later does not have those before. */
async function isOwnRun(service: Service, name: string, input: unknown): Promise<boolean> {
  if (!name.startsWith("runs.")) return false;
  if (!findRunningServer(service.configDir)) return true;
  const { run_id } = Object(input);
  return (
    run_id !== undefined && (await service.runs()).list().some((own) => own.run_id.startsWith(`${run_id}`))
  );
}

/** The leases of this process, which the server has: none where it has never asked for one. */
function createLeasesElsewhere(service: Service) {
  const holder = `(svc mcp ${process.pid}-${crypto.randomUUID().slice(0, 8)})`;
  let hasAsked = false;
  const current: AgentLeases["current"] = async (caller) => {
    if (!hasAsked) return undefined;
    const { grant, signal } = caller;
    const asked = await askOwner(service.configDir, currentLease, { holder }, { grant, signal });
    return asked?.answer.lease ?? undefined;
  };
  return {
    holder,
    current,
    asks() {
      hasAsked = true;
    },
    /** Ends the one that the agent has, as it has gone. Never throws. */
    async giveBack() {
      try {
        const lease = await current(localCaller(service, "cli"));
        if (lease && lease.state !== "ended")
          await askOwner(service.configDir, endLease, { id: lease.id, holder });
      } catch (error) {
        service.log.warn(`the lease of the agent was not given back: ${messageOf(error)}`);
      }
    },
  };
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
    const isOwn = await isOwnRun(service, operation.name, input);
    return (isOwn ? callOperation : answerFor)(service, operation, input, caller);
  };
  const leases = createLeasesElsewhere(service);
  const tools = await createTools(service, { on, rate, ask: approve ? ask : null }, perform, leases);
  return {
    async serve(choice: Choice, signal: AbortSignal) {
      const offer = offerOf(tools.operations, choice);
      if (offer.notice !== undefined) service.log.warn(offer.notice);
      await serveClient(service, tools, offer, signal);
      await leases.giveBack();
    },
  };
}
