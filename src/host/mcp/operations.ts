/** MCP over HTTP, as an operation. */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { field } from "../../core/fields";
import { operation } from "../../core/operation";
import { QUERY_FIELDS } from "./options";
import type { Choice } from "./toolsets";

interface Uses {
  mcp(): Promise<{
    answer(message: unknown, choice: Omit<Choice, "write">, caller: Caller): Promise<Response>;
  }>;
}

const takeMessage = operation({
  name: "mcp.message",
  summary: "Take a message of an agent (Model Context Protocol, 2026-07-28 or 2025-11-25)",
  scope: "any",
  acts: true,
  leftOut: { cli: "`svc mcp` speaks it over stdin and stdout", script: "it is for agents" },
  http: {
    method: "POST",
    path: "/mcp",
    body: "message",
    content: "application/json",
    stream: "text/event-stream",
    oauth: true,
  },
  example: { message: { jsonrpc: "2.0", id: 1, method: "ping" } },
  input: v.strictObject({
    message: field(v.unknown(), "A message of JSON-RPC 2.0"),
    ...QUERY_FIELDS,
  }),
  output: v.instance(Response),
  async run(service: Uses, { message, toolsets, tools, exclude_tools: exclude }, caller) {
    return (await service.mcp()).answer(message, { toolsets, tools, exclude }, caller);
  },
});

export const operations = [takeMessage];
