/**
 * MCP over HTTP (streamable HTTP): one message a request, of the revision 2026-07-28 or, without a session of its own, 2025-11-25.
 */
import {
  CLIENT_INFO_META_KEY,
  createMcpHandler,
  type Server,
  type ServerEventBus,
} from "@modelcontextprotocol/server";
import type { Caller } from "../../core/caller";
import { badInput, forbidden } from "../../lib/errors";
import { hasMoreValues } from "../../lib/json-size";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import { userOf } from "./grant";
import { agentName, type Peer } from "./server";

interface Message {
  readonly caller: Caller;
  readonly message: unknown;
}

/** The header with which a client of 2025-11-25 says which of them it is. */
const SESSION = "mcp-session-id";

/** Calls that a client of 2025-11-25 may cancel by another request. */
const MAX_CANCELLABLE = 1_024;

/**
 * The most values of a message beside the arguments of a tool: a client that introduces itself has some dozens. The library
 * names each value that is not as expected, with 240 bytes for two that were sent.
 */
const MAX_VALUES = 500;

/** How the library begins what it says of a request that it refuses. */
const REJECTED = "Rejected inbound request";

/**
 * @param serverFor makes the server of one message.
 * @param options.changes what clients may wait for; the lists of svc never change.
 */
export function createEndpoint<C>(
  serverFor: (context: C, peer: Pick<Peer, "agent" | "cancelled" | "session">) => Server,
  log: Pick<Log, "error">,
  { changes }: { readonly changes?: ServerEventBus } = {},
) {
  const running = new Map<string, AbortController>();
  interface McpSession {
    readonly context: C;
    readonly peer: Pick<Peer, "agent" | "cancelled" | "session">;
  }
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const held = authInfo?.extra?.held as McpSession | undefined;
      if (!held) throw new Error("a message without its client");
      return serverFor(held.context, held.peer);
    },
    {
      onerror(error) {
        // What a client sends is no error of svc: the client gets the reason, and the audit log a row.
        if (!error.message.startsWith(REJECTED)) log.error(`MCP: ${error.message}`);
      },
      ...(changes && { bus: changes }),
    },
  );

  return {
    /**
     * Answers a message.
     *
     * @param context what its server is made with.
     * @param ended is called when the answer is over.
     * @throws `forbidden` for a page of another origin; `bad_input` for what is no message.
     */
    async answer({ caller, message }: Message, context: C, ended: () => void = () => {}): Promise<Response> {
      const { headers = new Headers(), gone } = caller.request ?? {};
      if (Array.isArray(message)) throw badInput("body: expected one message, not a list");
      const { method, params, id } = Object(message);
      if (hasMoreValues(withoutArguments(message), MAX_VALUES))
        throw badInput(
          `body: expected at most ${MAX_VALUES} values, beside those in the arguments of a tool`,
        );
      if (method === "subscriptions/listen" && !changes) return unlistened(id);
      const session = sessionIn(headers);
      const user = userOf(caller.grant);
      const keyOf = (request: unknown) => JSON.stringify([user, session?.id, request]);
      if (method === "notifications/cancelled" && session)
        running.get(keyOf(Object(params).requestId))?.abort();
      const agent = agentIn(params) ?? session?.agent;
      const isCancellable =
        method === "tools/call" && session !== undefined && running.size < MAX_CANCELLABLE;
      const key = isCancellable ? keyOf(id) : undefined;
      const cancel = key === undefined ? undefined : new AbortController();
      if (key !== undefined && cancel) running.set(key, cancel);
      const over = () => {
        if (key !== undefined && running.get(key) === cancel) running.delete(key);
        ended();
      };
      const held: McpSession = {
        context,
        peer: { agent, session: session?.id, cancelled: () => cancel?.signal },
      };
      try {
        const request = new Request("http://svc/mcp", {
          method: "POST",
          headers: sentHeaders(headers),
          ...(gone && { signal: gone }),
        });
        const authInfo = { token: "", clientId: user, scopes: [], extra: { held } };
        const response = await handler.fetch(request, { parsedBody: message, authInfo });
        if (method === "initialize" && response.ok)
          response.headers.set(SESSION, newSession(agentName(Object(Object(params).clientInfo).name)));
        return untilOver(response, over);
      } catch (error) {
        over();
        throw error;
      }
    },
    close: () => handler.close(),
  };
}

/** A message without the values of the arguments of its tool, which svc checks itself. */
function withoutArguments(message: unknown): unknown {
  const { method, params, ...others } = fieldsOf(message);
  if (method !== "tools/call") return message;
  const { arguments: given, ...named } = fieldsOf(params);
  return [others, named, Object.keys(fieldsOf(given))];
}

/**
 * `value` where it has named fields. A text or a list would have one for each of its characters or items, of which a request may have a
 * million.
 */
const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && !Array.isArray(value) ? Object(value) : {};

/** The headers of a request that the protocol has a meaning for. */
function sentHeaders(headers: Headers): Headers {
  const kept = [...headers].filter(([name]) => /^(accept|content-type|mcp-.*|last-event-id)$/.test(name));
  return new Headers(kept);
}

/**
 * Refuses what a page of another origin sends: a browser says where a page is from, and any page may have a name of its own point
 * here.
 *
 * @param allowed origins beside the server's own.
 * @throws a `forbidden` failure.
 */
export function requireOrigin(headers: Headers | undefined, allowed: readonly string[]): void {
  const origin = headers?.get("origin") ?? null;
  if (origin === null || allowed.includes(origin)) return;
  const own = headers?.get("host")?.toLowerCase();
  if (URL.canParse(origin) && own !== undefined && new URL(origin).host === own) return;
  throw forbidden(`Origin: pages of ${printable(origin, 200)} may not ask: start svc with --allow-origin`);
}

/** What a client of 2026-07-28 calls itself. */
function agentIn(params: unknown): string | undefined {
  const info = Object(Object(Object(params)._meta)[CLIENT_INFO_META_KEY]);
  return info.name === undefined ? undefined : agentName(info.name);
}

/** The name in a session's id, so that no session is kept: it is the client's word anyway. */
function sessionIn(headers: Headers): { readonly id: string; readonly agent: string } | undefined {
  const id = headers.get(SESSION);
  const [, name] = /^[0-9a-f]{32}\.([A-Za-z0-9_-]{1,400})$/.exec(id ?? "") ?? [];
  if (id === null || name === undefined) return undefined;
  return { id, agent: agentName(Buffer.from(name, "base64url").toString()) };
}

const newSession = (agent: string): string =>
  `${Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("hex")}.${Buffer.from(decodeURIComponent(agent)).toString("base64url")}`;

/** The answer to who wants to wait for changes (JSON-RPC 2.0, section 5.1). */
const unlistened = (id: unknown) =>
  Response.json({
    jsonrpc: "2.0",
    id: typeof id === "string" || typeof id === "number" ? id : null,
    error: { code: -32_601, message: "subscriptions/listen: the tools of svc do not change" },
  });

/** `response`, and `over` once its body has ended or its client has gone. */
function untilOver(response: Response, over: () => void): Response {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  const reader = isStream ? response.body?.getReader() : undefined;
  if (!reader) {
    over();
    return response;
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      over();
    },
    cancel(reason) {
      over();
      return reader.cancel(reason);
    },
  });
  return new Response(body, response);
}
