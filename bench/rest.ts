/**
 * What the table, the gate and the metrics cost a request: svc against a bare Bun.serve that answers the same bytes. The
 * audit log is off here; what it costs is a figure of its own (audit.ts).
 */
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
} from "./support";

export async function bench(): Promise<Figure[]> {
  using folder = temporaryFolder();
  const bare = await compileProgram("bare", folder.path);
  await using svc = await startSvc(folder.path, "--no-audit");
  const authorization = `Bearer ${TOKEN}`;
  return [
    await against(bare, svc, { path: "/health", goal: ">= 0.6", headers: {} }),
    await against(bare, svc, { path: "/inspector/summary", goal: ">= 0.4", headers: { authorization } }),
  ];
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
  const { ratio, ...rates } = await paired(
    () => requestsPerSecond(svc.url + path, { headers }),
    () => requestsPerSecond(baseline.url + path, { headers }),
  );
  const detail = `${Math.round(rates.subject)} / ${Math.round(rates.baseline)} requests/s, 64 connections`;
  return { name: `GET ${path} against a bare Bun.serve`, ratio, goal, detail };
}

const SENT_BY_BUN = new Set(["date", "content-length"]);
