/**
 * What MCP costs a call: `POST /mcp` with a read against the same operation over its own route, on one server, with the audit log on.
 */
import { type Figure, paired, startSvc, TOKEN, temporaryFolder } from "./support";

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
};

const CALL = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
  params: { name: "inspector_summary", arguments: {}, _meta: META },
});

export async function bench(): Promise<Figure[]> {
  using folder = temporaryFolder();
  await using svc = await startSvc(folder.path);
  const authorization = `Bearer ${TOKEN}`;
  const headers = {
    authorization,
    ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
    ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "inspector_summary" },
  };
  const { ratio, subject, baseline } = await paired(
    () => callsPerSecond(`${svc.url}/mcp?tools=inspector_summary`, { method: "POST", headers, body: CALL }),
    () => callsPerSecond(`${svc.url}/inspector/summary`, { headers: { authorization } }),
  );
  const detail = `${Math.round(subject)} / ${Math.round(baseline)} calls/s (goal over MCP: 1,000), 16 connections, each with its audit row`;
  return [{ name: "a read over MCP / over its own route", ratio, goal: ">= 0.2", detail }];
}

const SECONDS = 2;
const CONNECTIONS = 16;

/** wrk would need a script for a body, so both are asked by a loop of fetches. @throws when anything else than 200 comes back. */
async function callsPerSecond(url: string, init: RequestInit): Promise<number> {
  const started = performance.now();
  const end = started + SECONDS * 1_000;
  let answered = 0;
  const client = async () => {
    while (performance.now() < end) {
      const response = await fetch(url, init);
      const text = await response.text();
      if (response.status !== 200 || text.includes("isError")) throw new Error(`${url}: ${text}`);
      answered++;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  return answered / ((performance.now() - started) / 1_000);
}
