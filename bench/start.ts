/**
 * What svc costs when it does nothing: the size of the binary, the time to start, and the memory it idles with.
 */
import { join } from "node:path";
import { fillLog } from "./audit";
import {
  BINARY,
  compileProgram,
  type Figure,
  mebibytes,
  median,
  ownBytes,
  paired,
  residentBytes,
  startServer,
  startSvc,
  TOKEN,
  temporaryFolder,
} from "./support";

/** What svc may add to the runtime, and how long it may take to be of use. */
const MAX_ADDED_BYTES = 16 * 1_048_576;
const MAX_READY_MS = 60;
const MAX_ASK_MS = 80;
const MAX_VERIFY_MS = 50;
const PLAN_HOSTS = 10;
const ROWS = 1_000_000;
const ROUNDS = 21;

export async function bench(): Promise<Figure[]> {
  using folder = temporaryFolder();
  const hello = await compileProgram("hello", folder.path);
  return [
    ...[addedSize(hello), await startTime(hello), ...(await usefulTimes())],
    ...[...(await verifyTimes(folder.path)), await idleMemory(folder.path)],
  ];
}

function addedSize(hello: string): Figure {
  const added = Bun.file(BINARY).size - Bun.file(hello).size;
  return {
    name: "what svc adds to a compiled hello-world / 16 MiB",
    ratio: added / MAX_ADDED_BYTES,
    isExact: true,
    goal: "<= 1",
    detail: `${mebibytes(added)} more / ${mebibytes(MAX_ADDED_BYTES)} allowed`,
  };
}

async function startTime(hello: string): Promise<Figure> {
  const { ratio, subject, baseline } = await paired(
    () => milliseconds([BINARY, "--version"]),
    () => milliseconds([hello]),
    ROUNDS,
  );
  const detail = `${subject.toFixed(1)} / ${baseline.toFixed(1)} ms`;
  return { name: "svc --version against a compiled hello-world", ratio, goal: "<= 1.2", detail };
}

/** Until a server with a long audit log answers, and a subcommand that asks it is done. */
async function usefulTimes(): Promise<Figure[]> {
  using folder = temporaryFolder();
  await fillLog(join(folder.path, "audit.db"), ROWS);
  const ready = async () => {
    const started = performance.now();
    await using _ = await startSvc(folder.path);
    return performance.now() - started;
  };
  const starts: number[] = [];
  for (let nth = 0; nth < ROUNDS; nth++) starts.push(await ready());
  await using _ = await startSvc(folder.path);
  const asks: number[] = [];
  const ask = [BINARY, "sessions", "list", "--config-dir", folder.path];
  for (let nth = 0; nth < ROUNDS; nth++) asks.push(await milliseconds(ask, { SVC_TOKEN: TOKEN }));
  return [
    within("svc serve ready, with an audit log of a million rows / 60 ms", starts, MAX_READY_MS),
    within("svc sessions list, asking the server of this host / 80 ms", asks, MAX_ASK_MS),
  ];
}

/** The whole of a command that verifies a receipt, on a machine without a server: of a run, and of a plan with those of its hosts. */
async function verifyTimes(folder: string): Promise<Figure[]> {
  const configDir = join(folder, "config");
  const receipts = await makeReceipts(configDir, folder);
  const figures: Figure[] = [];
  for (const [what, file] of Object.entries(receipts)) {
    const times: number[] = [];
    for (let nth = 0; nth < ROUNDS; nth++)
      times.push(await milliseconds([BINARY, "audit", "verify-run", file, "--config-dir", configDir]));
    figures.push(within(`svc audit verify-run, of ${what} / ${MAX_VERIFY_MS} ms`, times, MAX_VERIFY_MS));
  }
  return figures;
}

/** Runs something on a server of its own in `configDir`, as such and as a plan for {@link PLAN_HOSTS} hosts. @returns the files of the receipts. */
async function makeReceipts(configDir: string, folder: string): Promise<Record<string, string>> {
  await using server = await startSvc(configDir);
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return Object(await answer.json());
  };
  const save = async (what: "runs" | "plan", id: string) => {
    const file = join(folder, `${what}.json`);
    const command = [BINARY, what, "proof", id, "--output", file, "--config-dir", configDir];
    await milliseconds(command, { SVC_TOKEN: TOKEN });
    return file;
  };
  const actions = [["AC_sleep", { seconds: 0 }]];
  const { run_id } = await post("/execute", { actions });
  const run = await save("runs", run_id);
  const hosts = Array.from({ length: PLAN_HOSTS }, (_, nth) => [
    "AC_admin_add_host",
    { label: `host-${nth}`, base_url: server.url, token: TOKEN },
  ]);
  await post("/execute", { actions: hosts, stop_on_error: true });
  const { id, digest } = await post("/plans/new", { actions, on: "all" });
  await post(`/plans/${id}/apply`, { digest, wait: true });
  return { "a run": run, [`a plan with ${PLAN_HOSTS} hosts`]: await save("plan", id) };
}

const within = (name: string, times: readonly number[], most: number): Figure => ({
  name,
  ratio: times.map((time) => time / most),
  goal: "<= 1",
  detail: `${median(times).toFixed(1)} / ${most} ms`,
});

async function milliseconds(command: readonly string[], env: Record<string, string> = {}): Promise<number> {
  const started = performance.now();
  const child = Bun.spawn([...command], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed`);
  return performance.now() - started;
}

/**
 * After one request, so that what the first one loads is counted, and a pause, so that start-up garbage is not. Of what is resident,
 * most is the runtime's code, which processes share and the system may drop; what a process has of its own stands beside it.
 */
async function idleMemory(folder: string): Promise<Figure> {
  const bare = await compileProgram("bare", folder);
  // One for all rounds: the first start on a folder makes the keys of a host, which takes 3 MiB more, and is one of many.
  using configDir = temporaryFolder();
  const own = { svc: Number.NaN, bare: Number.NaN };
  const { ratio, subject, baseline } = await paired(
    async () => {
      await using server = await startSvc(configDir.path);
      const resident = await settled(server.url, server.pid);
      own.svc = ownBytes(server.pid);
      return resident;
    },
    async () => {
      await using server = await startServer([bare]);
      const resident = await settled(server.url, server.pid);
      own.bare = ownBytes(server.pid);
      return resident;
    },
    3,
  );
  const detail = `${mebibytes(subject)} / ${mebibytes(baseline)} resident; of their own ${mebibytes(own.svc)} / ${mebibytes(own.bare)}`;
  return { name: "idle svc serve against a compiled bare server", ratio, goal: "<= 1.5", detail };
}

async function settled(url: string, pid: number): Promise<number> {
  await (await fetch(`${url}/health`)).arrayBuffer();
  await Bun.sleep(2_000);
  return residentBytes(pid);
}
