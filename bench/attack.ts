/**
 * What an attacker can cost. Without a token: a server with 3,000 connections that ask for its largest asset and never read.
 * With one: 30 callers that ask for long work and go.
 */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fillLog } from "./audit";
import {
  type Figure,
  healthDuring,
  mebibytes,
  p99,
  paired,
  residentBytes,
  type Server,
  startSvc,
  TOKEN,
  temporaryFolder,
} from "./support";

const READERS = 3_000;
const ALLOWED_BYTES = 64 * 1_048_576;
const HEALTH_P99_MS = 50;
/** How long the readers are looked at: within the ten seconds that they are kept. */
const OBSERVED_MS = 5_000;

export async function bench(): Promise<Figure[]> {
  if (process.platform !== "linux") return [];
  return [...(await slowReaders()), await abandonedPolls(), await abandonedVerifications()];
}

async function slowReaders(): Promise<Figure[]> {
  using folder = temporaryFolder();
  await using svc = await startSvc(folder.path);
  const asset = `${svc.url}/docs/swagger-ui-bundle.js`;
  // What the first answer needs is not what the readers cost.
  await (await fetch(asset, { headers: { "accept-encoding": "identity" } })).arrayBuffer();
  const before = residentBytes(svc.pid);
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, residentBytes(svc.pid));
  }, 50);
  const program = join(import.meta.dir, "programs", "readers.ts");
  const readers = Bun.spawn([process.execPath, program, asset, String(READERS)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const opened = readers.stdout.getReader().read();
  const times = await healthDuring(
    svc,
    opened.then(() => Bun.sleep(OBSERVED_MS)),
  );
  clearInterval(watch);
  readers.kill();
  await readers.exited;
  return [
    {
      name: `memory for ${READERS} readers that never read, of 1.4 MB each`,
      ratio: (most - before) / ALLOWED_BYTES,
      goal: "<= 1",
      detail: `${mebibytes(most - before)} more / ${mebibytes(ALLOWED_BYTES)} allowed`,
    },
    {
      name: "p99 of /health under these readers",
      ratio: p99(times) / HEALTH_P99_MS,
      goal: "<= 1",
      detail: `${p99(times).toFixed(1)} / ${HEALTH_P99_MS} ms over ${times.length} requests`,
    },
  ];
}

const CALLERS = 30;
const HOSTS = 300;
const FREE_MS = 2_000;
const ROWS = 1_000_000;

/** Asks for `paths` with the token, and goes after `afterMs`. Resolves to the moment at which it went. */
async function abandon({ url }: Server, paths: readonly string[], afterMs: number): Promise<number> {
  const client = new AbortController();
  const init = { headers: { authorization: `Bearer ${TOKEN}` }, signal: client.signal };
  const asked = paths.map((path) => fetch(url + path, init).catch(() => null));
  await Bun.sleep(afterMs);
  const went = performance.now();
  client.abort();
  await Promise.all(asked);
  return went;
}

/** How long the connections of 30 polls, no two the same, stay open when nobody waits for them. */
async function abandonedPolls(): Promise<Figure> {
  using folder = temporaryFolder();
  const hole = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const hosts = Array.from({ length: HOSTS }, (_, nth) => ({
    label: `hole-${nth}`,
    base_url: `http://127.0.0.1:${hole.port}`,
    token: TOKEN,
    tags: [],
  }));
  writeFileSync(join(folder.path, "admin_hosts.json"), JSON.stringify({ hosts }), { mode: 0o600 });
  await using svc = await startSvc(folder.path);
  await fetch(`${svc.url}/admin/hosts`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const descriptors = () => readdirSync(`/proc/${svc.pid}/fd`).length;
  const before = descriptors();
  const paths = Array.from(
    { length: CALLERS },
    (_, nth) => `/admin/poll?timeout_s=60&concurrency=${HOSTS + nth}`,
  );
  const went = await abandon(svc, paths, 5_000);
  const most = descriptors();
  while (descriptors() > before + 10) await Bun.sleep(20);
  const tookMs = performance.now() - went;
  hole.stop(true);
  return {
    name: `until ${CALLERS} abandoned polls of ${HOSTS} hosts that never answer hold no descriptor`,
    ratio: tookMs / FREE_MS,
    goal: "<= 1",
    detail: `${Math.round(tookMs)} / ${FREE_MS} ms, ${most - before} descriptors when they were abandoned`,
  };
}

/** How long a verification takes when 30 others were abandoned just before, each with another head, beside one alone. */
async function abandonedVerifications(): Promise<Figure> {
  using folder = temporaryFolder();
  await fillLog(join(folder.path, "audit.db"), ROWS);
  await using svc = await startSvc(folder.path, "--audit-max-rows", "0");
  const verify = async () => {
    const started = performance.now();
    await (await fetch(`${svc.url}/audit/verify`, { headers: { authorization: `Bearer ${TOKEN}` } })).json();
    return performance.now() - started;
  };
  const heads = Array.from(
    { length: CALLERS },
    (_, nth) => `/audit/verify?noted=${nth + 1}:${"0".repeat(64)}`,
  );
  const { ratio, subject, baseline } = await paired(
    async () => {
      await abandon(svc, heads, 300);
      return verify();
    },
    verify,
    3,
  );
  return {
    name: `a verification of a million rows after ${CALLERS} abandoned ones / one alone`,
    ratio,
    goal: "<= 2",
    detail: `${Math.round(subject)} / ${Math.round(baseline)} ms`,
  };
}
