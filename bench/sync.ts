/**
 * Folder sync: a look at a large folder against `find`, `/health` while it looks, the rate over a session against the
 * library's own, and what a large file costs of which one percent changed.
 */
import { randomBytes } from "node:crypto";
import { closeSync, mkdirSync, openSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createSessions } from "../src/host/peers/sessions";
import { FolderSyncEngine } from "../src/host/sync/engine";
import { silentLog } from "../src/lib/log";
import { BINARY, type Figure, paired, startServer, TOKEN, temporaryFolder } from "./support";

const FOLDERS = 100;
const FILES_EACH = 1_000;
const TRANSFER_BYTES = 200_000_000;
const HEALTH_LIMIT_MS = 20;

/** The large file, how much of it changes, and in how many places. */
const LARGE_BYTES = 2 ** 30;
const CHANGED_SHARE = 0.01;
const CHANGED_PLACES = 16;

/** The counters of a session are read once a second. */
const COUNTED_MS = 1_500;

export async function bench(): Promise<Figure[]> {
  using home = temporaryFolder();
  const folder = join(home.path, "large");
  for (let at = 0; at < FOLDERS; at++) {
    mkdirSync(join(folder, `folder-${at}`), { recursive: true });
    for (let file = 0; file < FILES_EACH; file++)
      writeFileSync(join(folder, `folder-${at}`, `file-${file}.txt`), "x");
  }
  return [
    await look(folder),
    await healthWhileLooking(folder, home.path),
    await rate(home.path),
    ...(await changedParts(home.path)),
  ];
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
    goal: "<= 1.2",
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

/** A session of this process with itself; what it sends arrives in `home`. */
async function openSession(home: string) {
  const make = () =>
    createSessions({
      log: silentLog,
      ice: () => ({ servers: [], relayOnly: false }),
      identity: (role) => `bench-${role}`,
      knownHostId: () => null,
      inbox: async (sender) => ({
        ...{ folder: join(home, "inbox"), index: join(home, "inbox.db"), sender },
        ...{ quota: 0, maxFiles: 0, minFree: 0 },
      }),
      record: () => {},
    });
  const [here, there] = [make(), make()];
  const session = await here.connect((offer) => there.answer(offer), home);
  return {
    session,
    async [Symbol.asyncDispose]() {
      await Promise.all([here.stop(), there.stop()]);
    },
  };
}

async function rate(home: string): Promise<Figure> {
  const source = join(home, "source");
  writeFileSync(source, "");
  truncateSync(source, TRANSFER_BYTES);
  await using open = await openSession(home);
  const program = join(import.meta.dir, "programs", "peer-raw.ts");
  let copies = 0;
  const { ratio, subject, baseline } = await paired(
    async () => {
      const began = performance.now();
      // A new name each time: of a file that is there already, nothing would travel.
      await open.session.send({ path: source, name: `copy-${++copies}` });
      return TRANSFER_BYTES / 1e3 / (performance.now() - began);
    },
    async () =>
      Number(
        await Bun.spawn([process.execPath, program, `${TRANSFER_BYTES}`], { stdout: "pipe" }).stdout.text(),
      ),
    3,
  );
  return {
    name: "sync: file rate over loopback / the library's own",
    ratio,
    goal: ">= 0.9",
    detail: `${subject.toFixed(0)} MB/s / ${baseline.toFixed(0)} MB/s`,
  };
}

async function changedParts(home: string): Promise<Figure[]> {
  const source = join(home, "large-file");
  const file = openSync(source, "w");
  for (let at = 0; at < LARGE_BYTES; at += 2 ** 24) writeSync(file, randomBytes(2 ** 24), 0, 2 ** 24, at);
  await using open = await openSession(home);
  const { session } = open;
  /** How long a transfer takes, milliseconds, and how many bytes travel. */
  const sent = async (name: string) => {
    await Bun.sleep(COUNTED_MS);
    const before = session.record.bytes_sent;
    const began = performance.now();
    await session.send({ path: source, name });
    const ms = performance.now() - began;
    await Bun.sleep(COUNTED_MS);
    return { ms, bytes: session.record.bytes_sent - before };
  };
  const whole = await sent("large-file");
  const length = Math.round((LARGE_BYTES * CHANGED_SHARE) / CHANGED_PLACES);
  for (let place = 0; place < CHANGED_PLACES; place++)
    writeSync(
      file,
      randomBytes(length),
      0,
      length,
      Math.floor((LARGE_BYTES / CHANGED_PLACES) * (place + 0.5)),
    );
  closeSync(file);
  const changed = await sent("large-file");
  const seconds = ({ ms }: { ms: number }) => `${(ms / 1_000).toFixed(1)} s`;
  const mebibytes = ({ bytes }: { bytes: number }) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return [
    {
      name: "sync: bytes that travel of 1 GiB with 1 % changed / the whole",
      ratio: changed.bytes / whole.bytes,
      goal: "<= 0.02",
      detail: `${mebibytes(changed)} / ${mebibytes(whole)}`,
    },
    {
      name: "sync: time for 1 GiB with 1 % changed, over loopback / the whole",
      ratio: changed.ms / whole.ms,
      goal: "<= 0.2",
      detail: `${seconds(changed)} / ${seconds(whole)}`,
    },
  ];
}
