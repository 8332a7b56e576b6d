/**
 * The black box on a display of 1920x1080: what it costs while nothing changes and while one line of a terminal changes each second, and what is
 * lost when its process is killed.
 *
 * A server without it runs beside the one with it, on the same display: what the latter takes more is the black box. Its memory is what
 * the desktop's child process has written to.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { processorMs } from "./screens/rivals";
import {
  BINARY,
  type Figure,
  mebibytes,
  ownBytes,
  type Server,
  startDisplay,
  startSvc,
  TOKEN,
  temporaryFolder,
} from "./support";

const PROGRAMS = ["Xvfb", "xterm"];
const MEASURED_MS = 30_000;
/** How long the first picture and what a start costs are waited for, in milliseconds. */
const SETTLED_MS = 8_000;
const MOST_BYTES = 64 * 1_048_576;
const [MOST_RESTING, MOST_CHANGING, MOST_LOST_S] = [0.003, 0.01, 5];
/** How often a server is killed. */
const KILLS = 3;

export async function bench(): Promise<Figure[]> {
  const missing = PROGRAMS.filter((name) => Bun.which(name) === null);
  if (missing.length > 0)
    return [
      { name: "the black box", ratio: Number.NaN, goal: "<= 1", detail: `needs ${missing.join(", ")}` },
    ];
  await using display = await startDisplay("1920x1080", false);
  process.env.DISPLAY = display.name;
  using folder = temporaryFolder();
  const [plainDir, boxDir] = [join(folder.path, "plain"), join(folder.path, "box")];
  await using plain = await startSvc(plainDir);
  await using box = await startSvc(boxDir, "--black-box", "1h");
  await Bun.sleep(SETTLED_MS);
  const resting = await shareOf(box, plain);
  using _lines = openLines(display.name);
  await Bun.sleep(SETTLED_MS);
  const before = bytesIn(join(boxDir, "black-box"));
  const changing = await shareOf(box, plain);
  const anHour = ((bytesIn(join(boxDir, "black-box")) - before) * 3_600_000) / MEASURED_MS;
  const memory = Math.max(...childrenOf(box.pid).map(ownBytes));
  return [
    share("while nothing changes", resting, MOST_RESTING),
    share("while a line changes each second", changing, MOST_CHANGING),
    {
      name: "black box: memory of the process that records, against 64 MiB",
      ratio: memory / MOST_BYTES,
      goal: "<= 1",
      detail: `${mebibytes(memory)} / 64 MiB; an hour of such lines takes ${mebibytes(anHour)}`,
    },
    await lost(join(folder.path, "killed")),
  ];
}

const share = (name: string, found: number, most: number): Figure => ({
  name: `black box: processor time ${name}, against ${most * 100} % of one`,
  ratio: found / most,
  goal: "<= 1",
  detail: `${(found * 100).toFixed(2)} / ${most * 100} %`,
});

/** How much of a processor one server takes more than another. */
async function shareOf(box: Server, plain: Server): Promise<number> {
  const took = () => processorMs(box.pid) - processorMs(plain.pid);
  const before = took();
  await Bun.sleep(MEASURED_MS);
  return Math.max(0, took() - before) / MEASURED_MS;
}

/** A terminal that prints a line each second; it ends with the scope. */
function openLines(display: string): Disposable {
  const print = "while :; do date; sleep 1; done";
  const child = Bun.spawn(["xterm", "-geometry", "120x40+50+50", "-e", "sh", "-c", print], {
    env: { ...process.env, DISPLAY: display },
    stdio: ["ignore", "ignore", "ignore"],
  });
  return { [Symbol.dispose]: () => child.kill() };
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);

const bytesIn = (folder: string): number =>
  readdirSync(folder).reduce((sum, name) => sum + Bun.file(join(folder, name)).size, 0);

/** Resolves when it has the first picture. */
async function untilKept({ url }: Server): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  while (!(await fetch(`${url}/black-box/spans`, { headers })).ok) await Bun.sleep(100);
}

/** How old the last picture is that a server has left which was killed while lines came. */
async function lost(configDir: string): Promise<Figure> {
  const ages: number[] = [];
  for (let nth = 0; nth < KILLS; nth++) {
    const server = await startSvc(configDir, "--black-box", "1h");
    await untilKept(server);
    await Bun.sleep(SETTLED_MS + nth * 777);
    process.kill(server.pid, "SIGKILL");
    const at = Date.now();
    await server[Symbol.asyncDispose]();
    const child = Bun.spawn(
      [BINARY, "screen", "at", new Date(at).toISOString(), "--json", "--config-dir", configDir],
      { env: { ...process.env, SVC_TOKEN: TOKEN }, stdio: ["ignore", "pipe", "inherit"] },
    );
    const { since }: { since: string } = JSON.parse(await child.stdout.text());
    ages.push((at - Date.parse(since)) / 1_000);
  }
  const oldest = Math.max(...ages);
  return {
    name: "black box: what is lost when svc is killed, against 5 s",
    ratio: oldest / MOST_LOST_S,
    goal: "<= 1",
    detail: `${oldest.toFixed(1)} / ${MOST_LOST_S} s, of ${KILLS} kills`,
  };
}
