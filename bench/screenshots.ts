/**
 * What screenshots cost everybody else: how long `/health` takes while a hundred of them are taken, on a display of its
 * own that is full of text.
 */
import {
  type Figure,
  healthDuring,
  p99,
  type Server,
  startDisplay,
  startSvc,
  TOKEN,
  temporaryFolder,
} from "./support";

const NAME = "GET /health (p99) while 100 screenshots are taken, against 20 ms";
const LIMIT_MS = 20;
const CLIENTS = 2;
const SCREENSHOTS_EACH = 50;
const PROGRAMS = ["Xvfb", "xterm", "curl"];

export async function bench(): Promise<Figure[]> {
  const missing = PROGRAMS.filter((name) => Bun.which(name) === null);
  if (missing.length > 0) {
    return [{ name: NAME, ratio: Number.NaN, goal: "<= 1", detail: `needs ${missing.join(", ")}` }];
  }
  await using display = await startDisplay("1920x1080");
  using configDir = temporaryFolder();
  process.env.DISPLAY = display.name;
  await using svc = await startSvc(configDir.path);
  // The first one starts the child.
  await takeScreenshots(svc, 1);
  const idle = await healthDuring(svc, Bun.sleep(1_000));
  const started = performance.now();
  const clients = Array.from({ length: CLIENTS }, () => takeScreenshots(svc, SCREENSHOTS_EACH));
  const busy = await healthDuring(svc, Promise.all(clients));
  const seconds = (performance.now() - started) / 1_000;
  const detail = [
    `${p99(busy).toFixed(1)} / ${LIMIT_MS} ms over ${busy.length} requests (idle ${p99(idle).toFixed(1)} ms)`,
    `${((CLIENTS * SCREENSHOTS_EACH) / seconds).toFixed(0)} screenshots/s of 1920 x 1080`,
  ].join(", ");
  return [{ name: NAME, ratio: p99(busy) / LIMIT_MS, goal: "<= 1", detail }];
}

/** By another program, so that reading the pictures is not what `/health` waits for. */
async function takeScreenshots({ url }: Server, count: number): Promise<void> {
  const each = Array.from({ length: count }, () => ["-o", "/dev/null", `${url}/screenshot`]).flat();
  const child = Bun.spawn(["curl", "-sSf", "-H", `Authorization: Bearer ${TOKEN}`, ...each], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  if ((await child.exited) !== 0) throw new Error("curl: a screenshot failed");
}
