/**
 * Folder sync: a look at a large folder against `find`, `/health` while it looks, and the rate over a session against the
 * library's own.
 */
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { silentLog } from "../src/lib/log";
import { createSessions } from "../src/peers/sessions";
import { FolderSyncEngine } from "../src/sync/engine";
import { BINARY, type Figure, paired, startServer, TOKEN, temporaryFolder } from "./support";

const FOLDERS = 100;
const FILES_EACH = 1_000;
const TRANSFER_BYTES = 200_000_000;
const HEALTH_LIMIT_MS = 20;

export async function bench(): Promise<Figure[]> {
  using home = temporaryFolder();
  const folder = join(home.path, "large");
  for (let at = 0; at < FOLDERS; at++) {
    mkdirSync(join(folder, `folder-${at}`), { recursive: true });
    for (let file = 0; file < FILES_EACH; file++)
      writeFileSync(join(folder, `folder-${at}`, `file-${file}.txt`), "x");
  }
  return [await look(folder), await healthWhileLooking(folder, home.path), await rate(home.path)];
}

async function look(folder: string): Promise<Figure> {
  const engine = new FolderSyncEngine({ watch_dir: folder, include_subdirs: true, sender: async () => {} });
  await engine.prepare();
  const timed = async (work: () => Promise<unknown>) => {
    const began = performance.now();
    await work();
    return performance.now() - began;
  };
  const { ratio, subject, baseline } = await paired(
    () => timed(() => engine.tick()),
    () => timed(() => Bun.spawn(["find", folder, "-printf", "%T@ %s %p\\n"], { stdout: "ignore" }).exited),
  );
  return {
    name: "sync: a scan of 100,000 unchanged files / find",
    ratio,
    goal: "<= 2",
    detail: `${subject.toFixed(0)} ms / ${baseline.toFixed(0)} ms`,
  };
}

async function healthWhileLooking(folder: string, home: string): Promise<Figure> {
  const configDir = join(home, "config");
  mkdirSync(configDir, { mode: 0o700 });
  const hosts = [{ label: "nobody", base_url: "http://127.0.0.1:1", token: TOKEN, tags: [] }];
  writeFileSync(join(configDir, "admin_hosts.json"), JSON.stringify({ hosts }));
  await using server = await startServer(
    [BINARY, "serve", "--port", "0", "--json", "--config-dir", configDir],
    { SVC_TOKEN: TOKEN },
  );
  const started = await fetch(`${server.url}/sync/start`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ dir: folder, to: "nobody", include_subdirs: true, interval_s: 0.25 }),
  });
  if (!started.ok) throw new Error(await started.text());
  const times: number[] = [];
  const end = performance.now() + 5_000;
  while (performance.now() < end) {
    const began = performance.now();
    await (await fetch(`${server.url}/health`)).text();
    times.push(performance.now() - began);
    await Bun.sleep(2);
  }
  const p99 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
  return {
    name: "sync: p99 of /health while it scans every 0.25 s / 20 ms",
    ratio: p99 / HEALTH_LIMIT_MS,
    goal: "<= 1",
    detail: `${p99.toFixed(1)} ms, ${times.length} requests`,
  };
}

async function rate(home: string): Promise<Figure> {
  const source = join(home, "source");
  writeFileSync(source, "");
  truncateSync(source, TRANSFER_BYTES);
  const make = () =>
    createSessions({
      log: silentLog,
      ice: () => ({ servers: [], relayOnly: false }),
      identity: (role) => `bench-${role}`,
      knownHostId: () => null,
      inbox: async (sender) => ({
        folder: join(home, "inbox"),
        index: join(home, "inbox.db"),
        sender,
        quota: 0,
        maxFiles: 0,
        minFree: 0,
      }),
      record: () => {},
    });
  const [here, there] = [make(), make()];
  const session = await here.connect((offer) => there.answer(offer), home);
  const program = join(import.meta.dir, "programs", "peer-raw.ts");
  const { ratio, subject, baseline } = await paired(
    async () => {
      const began = performance.now();
      await session.send({ path: source, name: "copy" });
      return TRANSFER_BYTES / 1e3 / (performance.now() - began);
    },
    async () =>
      Number(
        await Bun.spawn([process.execPath, program, `${TRANSFER_BYTES}`], { stdout: "pipe" }).stdout.text(),
      ),
    3,
  );
  await Promise.all([here.stop(), there.stop()]);
  return {
    name: "sync: file rate over loopback / the library's own",
    ratio,
    goal: ">= 0.7",
    detail: `${subject.toFixed(0)} MB/s / ${baseline.toFixed(0)} MB/s`,
  };
}
