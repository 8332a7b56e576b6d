/** MCP over stdin and stdout: one client, which has started this process. */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { type Caller, type CallerService, localCaller } from "../../core/caller";
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import type { Tools } from "./open";
import type { Offer } from "./toolsets";

/** Serves the client until it closes stdin, or `signal` is aborted. */
export async function serveClient(
  service: CallerService & { readonly log: Log },
  { serverFor, withdraw, close }: Pick<Tools, "serverFor" | "withdraw" | "close">,
  offer: Offer,
  signal: AbortSignal,
): Promise<void> {
  const caller: Caller = localCaller(service, "cli", { signal, warn: (text) => service.log.warn(text) });
  const append = async (agent: string, detail: string) => {
    const row = { event_type: "cli", host_id: null, viewer_id: null };
    await (await service.audit())?.append({
      ...row,
      detail: `mcp -> ${detail} token=local agent=${agent} via=mcp`,
    });
  };
  const rowsOf = (agent: string) => ({
    announce: (subject: string) => append(agent, `started ${subject}`),
    ended: (outcome: string, subject: string) =>
      append(agent, `${outcome} ${subject}`).catch((error) =>
        service.log.error(`a row of the audit log is missing: ${messageOf(error)}`),
      ),
  });
  const over = new Promise<void>((resolve) => {
    process.stdin.once("end", resolve).once("close", resolve);
    // Nobody reads any longer; stdin, which nobody reads here then, would not end.
    process.stdout.once("error", resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const session = crypto.randomUUID();
  const handle = serveStdio(() => serverFor({ caller, ...offer, rowsOf, session }), {
    onerror: (error) => service.log.error(`MCP: ${faultOf(error)}`),
  });
  await over;
  await handle.close();
  // The server would go on asking people for an agent that has gone.
  await withdraw();
  close();
}

/** What was wrong with a message, on one line; the library quotes all of a line that is none. */
const faultOf = (error: Error): string =>
  error instanceof SyntaxError || error.name === "ZodError"
    ? "a line on stdin is no message of JSON-RPC 2.0"
    : printable(error.message, MAX_FAULT);

/** In characters. */
const MAX_FAULT = 300;
