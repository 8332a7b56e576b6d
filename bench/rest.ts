/**
 * What the table, the gate and the metrics cost a request: svc against a bare Bun.serve that answers the same bytes, with 16, 64 or
 * 256 connections, whichever is worst. The
 * audit log is off here; what it costs is a figure of its own (audit.ts). And what 10,000 named tokens cost: the same requests
 * with the last of them, against a server that has that one alone.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { entryOf } from "../src/trust/rotation";
import { newToken } from "../src/trust/token";
import {
  compileProgram,
  type Figure,
  type Goal,
  type Load,
  paired,
  requestsPerSecond,
  type Server,
  startServer,
  startSvc,
  TOKEN,
  temporaryFolder,
  worst,
} from "./support";

export async function bench(): Promise<Figure[]> {
  using folder = temporaryFolder();
  const bare = await compileProgram("bare", folder.path);
  await using svc = await startSvc(folder.path, "--no-audit");
  const authorization = `Bearer ${TOKEN}`;
  return [
    await against(bare, svc, { path: "/health", goal: ">= 0.75", headers: {} }),
    await against(bare, svc, { path: "/inspector/summary", goal: ">= 0.5", headers: { authorization } }),
    await against(bare, svc, { path: "/sessions", goal: ">= 0.5", headers: { authorization } }),
    await against(bare, svc, { path: "/commands", goal: ">= 0.5", headers: { authorization } }),
    await withManyTokens(folder.path),
  ];
}

async function withManyTokens(folder: string): Promise<Figure> {
  const tokens = Array.from({ length: 10_000 }, newToken);
  const [last = ""] = tokens.slice(-1);
  await using many = await startSvc(configWith(join(folder, "many"), tokens), "--no-audit");
  await using one = await startSvc(configWith(join(folder, "one"), [last]), "--no-audit");
  const headers = { authorization: `Bearer ${last}` };
  const { ratio, subject, baseline } = await paired(
    () => requestsPerSecond(`${many.url}/inspector/summary`, { headers }),
    () => requestsPerSecond(`${one.url}/inspector/summary`, { headers }),
  );
  const detail = `${Math.round(subject)} / ${Math.round(baseline)} requests/s, 64 connections`;
  return { name: "GET /inspector/summary with 10,000 tokens / with one", ratio, goal: ">= 0.9", detail };
}

/** A configuration folder with these named tokens. */
function configWith(configDir: string, tokens: readonly string[]): string {
  mkdirSync(configDir, { mode: 0o700 });
  const created = new Date().toISOString();
  const records = tokens.map((token, nth) => {
    return { name: `t${nth}`, allows: ["read"], created, ...entryOf(token, 90 * 86_400), generated: true };
  });
  writeFileSync(join(configDir, "tokens.json"), JSON.stringify({ tokens: records }), { mode: 0o600 });
  return configDir;
}

async function against(
  bare: string,
  svc: Server,
  { path, goal, headers }: { path: string; goal: Goal } & Required<Pick<Load, "headers">>,
): Promise<Figure> {
  const answer = await fetch(svc.url + path, { headers: { ...headers } });
  const sent = Object.fromEntries([...answer.headers].filter(([name]) => !SENT_BY_BUN.has(name)));
  const env = { BARE_BODY: await answer.text(), BARE_HEADERS: JSON.stringify(sent) };
  await using baseline = await startServer([bare], env);
  const { connections, ratio, ...rates } = await worst((connections, rounds) =>
    paired(
      () => requestsPerSecond(svc.url + path, { headers, connections, seconds: 1 }),
      () => requestsPerSecond(baseline.url + path, { headers, connections, seconds: 1 }),
      rounds,
    ),
  );
  const detail = `${Math.round(rates.subject)} / ${Math.round(rates.baseline)} requests/s, ${connections} connections`;
  return { name: `GET ${path} against a bare Bun.serve`, ratio, goal, detail };
}

const SENT_BY_BUN = new Set(["date", "content-length"]);
