/**
 * The MCP server of one request, or of one connection over stdio: the SDK's low-level `Server` with the tools of a choice. Making
 * one is cheap; the SDK's high-level server would convert every schema anew.
 */
import {
  CLIENT_INFO_META_KEY,
  type JSONRPCMessage,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
  type Transport,
} from "@modelcontextprotocol/server";
import type { Caller, CallRows } from "../../core/caller";
import { loadLate } from "../../core/late-table";
import type { Operation } from "../../core/operation";
import { parseTraceparent, type TraceContext } from "../../core/trace-context";
import { failureOf, MAX_MESSAGE, short } from "../../lib/errors";
import { sizeWithin } from "../../lib/json-size";
import { printable } from "../../lib/sanitize";
import { version } from "../../version";
import type { Calls } from "./calls";
import { UNTRUSTED_RULE } from "./content";

/** Who is at the other end. */
export interface Peer {
  readonly caller: Caller;
  readonly offered: readonly Operation[];
  /** The names of operations that it shall not have, inside lists of actions neither. */
  readonly without?: readonly string[];
  readonly notice?: string | undefined;
  /** What it says of itself with the request; undefined where the connection knows. */
  readonly agent?: string | undefined;
  rowsOf(agent: string, trace?: TraceContext): CallRows;
  /** What its session is called; undefined for a client that has none. */
  readonly session?: string | undefined;
  /** Aborted when the client has cancelled that request by another one. */
  cancelled?(id: string | number): AbortSignal | undefined;
}

/** The largest error of a message. */
const MAX_ERROR = { bytes: 2 * MAX_MESSAGE, depth: 16 };

/** For how long a client may keep the list of tools, in milliseconds: it changes with the token alone. */
const LIST_TTL_MS = 60_000;

/** What may be gone by the next moment is not kept by a client. */
const FRESH = { ttlMs: 0, cacheScope: "private" as const };

/** How much of an address that there is not is said again, in characters. */
const MAX_URI = 200;

const INFO = { name: "svc", title: "svc", version };

/** @param hosts the selection of `--on`. */
export const instructionsFor = (hosts: string | undefined): string =>
  [
    "Tools of a desktop host that svc makes operable from afar.",
    UNTRUSTED_RULE,
    "Look with `desktop_snapshot` first: `desktop_screenshot` is for what it does not show.",
    "A tool that proposes does nothing by itself: it answers with a digest, and `confirm` does it.",
    ...(hosts === undefined
      ? []
      : [`Tools with the argument \`on\` can ask other hosts: ${printable(hosts, 200)}.`]),
  ].join(" ");

/** The SDK's server; its errors are as short as those of svc. It would quote every value that is not as expected. */
class BriefServer extends Server {
  override connect(transport: Transport): Promise<void> {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => send(brief(message), options);
    return super.connect(transport);
  }
}

function brief(message: JSONRPCMessage): JSONRPCMessage {
  if (!("error" in message)) return message;
  const { code, message: text } = message.error;
  const isShort = text.length <= MAX_MESSAGE && sizeWithin(message.error, MAX_ERROR) !== undefined;
  return isShort ? message : { ...message, error: { code, message: short(text) } };
}

/** A server with the tools of `peer`. */
export function createToolServer(calls: Calls, peer: Peer, instructions: string): Server {
  const { caller, offered, without = [], notice } = peer;
  const server = new BriefServer(INFO, {
    capabilities: { tools: {}, resources: {} },
    instructions: notice === undefined ? instructions : `${instructions} ${notice}.`,
  });
  server.setRequestHandler("tools/list", async () => {
    await loadLate(offered);
    return {
      tools: calls.list(offered, caller.grant),
      ttlMs: LIST_TTL_MS,
      cacheScope: "private" as const,
    };
  });
  const askingOf = (mcpReq: ServerContext["mcpReq"]) => {
    const agent = peer.agent ?? agentName(nameIn(mcpReq) ?? server.getClientVersion()?.name);
    // SEP-414: as the header of the same name.
    const trace = parseTraceparent(mcpReq._meta?.traceparent) ?? caller.trace;
    const cancelled = peer.cancelled?.(mcpReq.id);
    const signal = cancelled ? AbortSignal.any([mcpReq.signal, cancelled]) : mcpReq.signal;
    const session = { key: peer.session ?? "", name: agent };
    return { caller, trace, rows: peer.rowsOf(agent, trace), agent, session, without, signal };
  };
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const { name, arguments: given = {} } = params;
    const asking = askingOf(mcpReq);
    if (!calls.has(offered, caller.grant, name)) {
      await asking.rows.ended("failed:404", `mcp ${printable(name, 80)}`);
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${printable(name, 80)}`);
    }
    return calls.call(offered, name, given, { ...asking, progress: progressSender(mcpReq) });
  });
  const listed = () => calls.resources(offered, caller.grant);
  server.setRequestHandler("resources/list", async () => ({ resources: listed().resources, ...FRESH }));
  server.setRequestHandler("resources/templates/list", async () => ({
    resourceTemplates: listed().resourceTemplates,
    ttlMs: LIST_TTL_MS,
    cacheScope: "private" as const,
  }));
  server.setRequestHandler("resources/read", async ({ params: { uri } }, { mcpReq }) => {
    try {
      const { contents, _meta } = await calls.readResource(offered, uri, askingOf(mcpReq));
      return { contents: [...contents], _meta, ...FRESH };
    } catch (error) {
      const failure = failureOf(error);
      const said = failure?.message ?? "internal error";
      if (failure?.code === "not_found") throw new ResourceNotFoundError(printable(uri, MAX_URI), said);
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, said);
    }
  });
  return server;
}

/** Sends how far a call is, to a client that wants to know. */
function progressSender({ _meta, notify }: ServerContext["mcpReq"]) {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let last = 0;
  return (done: number, total: number | undefined, message: string) => {
    // It has to grow with each message.
    if (done <= last) return;
    last = done;
    const params = { progressToken, progress: done, ...(total !== undefined && { total }), message };
    notify({ method: "notifications/progress", params }).catch(() => {});
  };
}

/** The name that a client of 2026-07-28 sends with each request. */
const nameIn = ({ envelope }: ServerContext["mcpReq"]): unknown =>
  Object(Object(envelope)[CLIENT_INFO_META_KEY]).name;

/** The longest name of a client, in characters. */
const MAX_AGENT = 60;

/** What a client calls itself, as rows show it: no blank, quote or `=`, so that it looks like nothing else of the row. */
export const agentName = (name: unknown): string =>
  printable(typeof name === "string" && name.isWellFormed() ? name : "unknown", MAX_AGENT).replace(
    /[\s"'=%]/g,
    encodeURIComponent,
  ) || "unknown";
