/** An agent over stdin and stdout: its operations run here, or at the server on the same `{config_dir}`, as those of the command line. */
import { callOperation } from "../core/call";
import { OWNER } from "../core/rights";
import { findRunningServer } from "../lib/running-server";
import type { AskPerson, CallsParts } from "../mcp/calls";
import { createTools, type McpOptions } from "../mcp/open";
import { serveClient } from "../mcp/stdio";
import { type Choice, chosen } from "../mcp/toolsets";
import { permitted, RUNNING } from "../plans/operations";
import type { Service } from "./interface";

/** Who asks a person, so that the owner may say yes: it is the owner's process, but not the owner. No token has this name. */
const ASKING = "(svc mcp)";

export async function openStdio(
  service: Service,
  { approve, on }: Pick<McpOptions, "on"> & { readonly approve: boolean },
) {
  const ask: AskPerson = async ({ caller, ...question }) => {
    const grant = { ...caller.grant, name: ASKING };
    return (await service.approvals()).ask({ ...question, caller: { ...caller, grant } });
  };
  const perform: CallsParts["perform"] = async (operation, input, caller) => {
    const { answeredBy, changes, uses } = operation;
    if (answeredBy === "server" || (answeredBy && findRunningServer(service.configDir))) {
      // The server is asked with the token of the owner, which may do more than an agent.
      if (RUNNING.includes(operation.name)) await permitted(service, Object(input).id, caller, OWNER);
      const { callLocalServer } = await import("../client/local-server");
      return callLocalServer(service.configDir, operation, Object(input), caller.signal);
    }
    const answer = await callOperation(service, operation, input, caller);
    // The change is in force when the agent has its answer.
    if (changes && !uses) await service.notifyServer();
    return answer;
  };
  const tools = await createTools(service, { on, ask: approve ? ask : null }, perform);
  return {
    serve: (choice: Choice, signal: AbortSignal) =>
      serveClient(service, tools, chosen(tools.operations, choice), signal),
  };
}
