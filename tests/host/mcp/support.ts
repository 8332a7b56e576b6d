/** Agents for tests: the official client, over HTTP and over stdin and stdout. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import * as v from "valibot";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { addToken, tokenStore } from "../../../src/trust/named-tokens";
import { NEW_TOKEN } from "../../../src/trust/token-fields";
import { until } from "../../support";

/** The revisions that agents speak. */
export const ERAS = ["2025-11-25", "2026-07-28"] as const;
export type Era = (typeof ERAS)[number];

const optionsFor = (era: Era) =>
  era === "2025-11-25"
    ? {}
    : ({ versionNegotiation: { mode: "auto" } } as ConstructorParameters<typeof Client>[1]);

/** An agent that has connected. */
export type Agent = Awaited<ReturnType<typeof connectAgent>>;

/** @param query of the address, such as `?toolsets=all`. */
export function connectAgent(
  url: string,
  token: string,
  { query = "", name = "tester", era = "2025-11-25" }: { query?: string; name?: string; era?: Era } = {},
) {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp${query}`), { requestInit });
  return agentOver(transport, name, era);
}

/** An agent that has started `command`. */
export function startAgent(
  [command = "", ...args]: readonly string[],
  env: Record<string, string>,
  { name = "tester", era = "2025-11-25" as Era } = {},
) {
  return agentOver(new StdioClientTransport({ command, args, env, stderr: "ignore" }), name, era);
}

async function agentOver(
  transport: StreamableHTTPClientTransport | StdioClientTransport,
  name: string,
  era: Era,
) {
  const client = new Client({ name, version: "1" }, optionsFor(era));
  await client.connect(transport);
  const call = async (tool: string, given: Record<string, unknown> = {}, options: Options = {}) => {
    const {
      content,
      isError = false,
      structuredContent,
    } = await client.callTool({ name: tool, arguments: given }, options);
    const texts = content.flatMap((one) => (one.type === "text" ? [one.text] : []));
    return { content, isError, text: texts.join("\n"), structuredContent };
  };
  return {
    client,
    /** Of the process that was started. */
    pid: "pid" in transport ? (transport.pid ?? undefined) : undefined,
    call,
    /** The names of its tools. */
    async tools() {
      return (await client.listTools()).tools.map((tool) => tool.name);
    },
    /** Proposes a call, and returns its digest. */
    async propose(tool: string, given: Record<string, unknown> = {}) {
      const { text, isError } = await call(tool, given);
      const digest = /^Digest: ([0-9a-f]{64})$/m.exec(text)?.[1];
      if (isError || digest === undefined) throw new Error(text);
      return { digest, text };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

type Options = NonNullable<Parameters<Client["callTool"]>[1]>;

/** The JSON that an answer has between its marks. */
export function dataIn(text: string): unknown {
  const found = /^UNTRUSTED-(\w+) .*\n(.*)\nEND-\1$/m.exec(text)?.[2];
  if (found === undefined) throw new Error(`no data in ${text}`);
  return JSON.parse(found);
}

/** Makes a token on `configDir`. */
export async function makeToken(configDir: string, name: string, scope: string[]): Promise<string> {
  return addToken(tokenStore(configFiles(configDir), silentLog), v.parse(NEW_TOKEN, { name, scope }));
}

/** The details of the newest rows of the audit log, oldest first. */
export async function rowsOf(call: (path: string) => Promise<Response>): Promise<string[]> {
  const { rows } = (await (await call("/audit/list?limit=200")).json()) as {
    rows: Array<{ detail: string }>;
  };
  return rows.map(({ detail }) => detail).toReversed();
}

type Call = (path: string) => Promise<Response>;

interface Asked {
  readonly id: string;
  readonly state: string;
  readonly what: string;
  readonly detail: string;
  readonly digest: string;
}

/** The approvals that wait, and those that are over. */
export const approvalsOf = async (call: Call) =>
  ((await (await call("/approvals")).json()) as { approvals: Asked[] }).approvals;

/** The approval that waits, once there is one. */
export const asked = (call: Call): Promise<Asked> =>
  until("an approval that waits", async () =>
    (await approvalsOf(call)).find(({ state }) => state === "waiting"),
  );

/** The runs of a server, newest first. */
export const runsOf = async (call: Call) =>
  ((await (await call("/runs")).json()) as { runs: Array<{ status: string }> }).runs;
