/**
 * The page *Hosts* of a desk with 10,000 hosts in Chromium, a tenth of them off: how long until it shows them, how long a key in its
 * search takes until the picture shows what was found (as Chromium's own Event Timing measures it), how many elements it has and what it
 * keeps in memory; and its frames while it is scrolled, and while the tags of a thousand hosts change each second. The hosts are
 * simulated in another process on the same processors, and dial the desk.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { identityOf, labelOf } from "./programs/sim-seed";
import { BINARY, type Figure, mebibytes, median, startServer, TOKEN, temporaryFolder } from "./support";

const SEED = "fleet-page";
const HOSTS = 10_000;
const DEAD = "10%";
const ROUNDS = 5;

/** What is allowed, in milliseconds, and how many elements. */
const PAINT_MS = 1_000;
const KEY_MS = 50;
const ELEMENTS = 1_500;
/** Bytes of the page's own heap. */
const HEAP = 150 * 1_048_576;
/** The longest time between two frames, in milliseconds: somebody who looks sees one that is longer. */
const FRAME_MS = 50;
/** Frames a second of a screen. */
const RATE = 60;
/** How long frames are counted, in milliseconds. */
const COUNTED_MS = 4_000;
/** Hosts whose tags change each second: an event each. */
const CHANGED = 1_000;

/** What is typed: each key finds other hosts. */
const TYPED = "tag:floor-3 up sim-1";

export async function bench(): Promise<Figure[]> {
  const executablePath = Bun.which("chromium");
  if (process.platform !== "linux" || executablePath === null) return [];
  using folder = deskOf(HOSTS);
  await using desk = await startDesk(folder.path);
  await using _fleet = await simulated(folder.path, desk.url);
  const dead = Number.parseInt(DEAD, 10) / 100;
  await untilLinked(desk.url, HOSTS * (1 - dead));
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    const paints: number[] = [];
    const keys: number[] = [];
    const heaps: number[] = [];
    const rates: number[] = [];
    const stutters: number[] = [];
    const elements: number[] = [];
    // The first is to warm up.
    for (let round = 0; round <= ROUNDS; round++) {
      const context = await browser.newContext({
        ignoreHTTPSErrors: true,
        bypassCSP: true,
        viewport: { width: 1280, height: 900 },
      });
      await context.addInitScript(`sessionStorage.setItem("svc-token", ${JSON.stringify(TOKEN)}); ${WATCH}`);
      const page = await context.newPage();
      const seen = await look(page, `${desk.url}/dashboard#hosts`);
      if (round > 0) {
        elements.push(seen.elements);
        paints.push(seen.paint);
        keys.push(seen.key);
        heaps.push(seen.heap);
        rates.push(await scrolled(page));
        stutters.push(await changing(page, desk.url));
      }
      await context.close();
    }
    return [
      {
        name: "10,000 hosts are on their page",
        ratio: paints.map((ms) => ms / PAINT_MS),
        goal: "<= 1",
        detail: `${median(paints).toFixed(0)} / ${PAINT_MS} ms allowed, from the address to the first line`,
      },
      {
        name: "a key in the search of 10,000 hosts (the slowest)",
        ratio: keys.map((ms) => ms / KEY_MS),
        goal: "<= 1",
        detail: `${median(keys).toFixed(0)} / ${KEY_MS} ms allowed, from the key to the picture`,
      },
      {
        name: "elements of the page with 10,000 hosts",
        ratio: elements.map((count) => count / ELEMENTS),
        goal: "<= 1",
        detail: `${median(elements)} / ${ELEMENTS} allowed`,
      },
      {
        name: "heap of the page with 10,000 hosts",
        ratio: heaps.map((bytes) => bytes / HEAP),
        goal: "<= 1",
        detail: `${mebibytes(median(heaps))} / ${mebibytes(HEAP)} allowed, after a collection`,
      },
      {
        name: "frames a second while 10,000 hosts are scrolled",
        ratio: rates.map((rate) => rate / RATE),
        goal: ">= 0.95",
        detail: `${median(rates).toFixed(1)} / ${RATE}, without a graphics processor`,
      },
      {
        name: "the slowest frame in a hundred while 1,000 hosts change each second",
        ratio: stutters.map((ms) => ms / FRAME_MS),
        goal: "<= 1",
        detail: `${median(stutters).toFixed(0)} / ${FRAME_MS} ms allowed, over ${COUNTED_MS / 1_000} s`,
      },
    ];
  } finally {
    await browser.close();
  }
}

/** Notes when the first line was painted, and how long each key took, from when the page begins. */
const WATCH = `
  globalThis.firstLine = 0;
  globalThis.slowest = 0;
  new PerformanceObserver((list) => {
    for (const { name, duration } of list.getEntries())
      if (name === "keydown" || name === "input" || name === "keypress") slowest = Math.max(slowest, duration);
  }).observe({ type: "event", durationThreshold: 16, buffered: true });
  const look = () => {
    if (document.querySelector(".hosts-space .host-line")) requestAnimationFrame(() => (firstLine = performance.now()));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
`;

async function look(page: Page, address: string) {
  await page.goto(address);
  await page.waitForFunction("firstLine > 0");
  const paint = await page.evaluate<number>("firstLine");
  const elements = await page.evaluate<number>("document.querySelectorAll('*').length");
  await page.keyboard.press("/");
  for (const key of TYPED) {
    await page.keyboard.type(key);
    // As fast as somebody types who types fast.
    await page.waitForTimeout(60);
  }
  await page.waitForFunction(`document.querySelector('[role="grid"]').getAttribute("aria-rowcount") < 500`);
  // Chromium tells of an event once its picture is there.
  await page.waitForTimeout(200);
  const key = await page.evaluate<number>("slowest");
  return { paint, elements, key, heap: await heapOf(page) };
}

/** The page's heap after a collection, in bytes. */
async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}

/** Resolves to the times between two frames. */
const FRAMES = `new Promise((resolve) => {
  const gaps = [];
  const begun = performance.now();
  let last = 0;
  const next = (now) => {
    if (last > 0) gaps.push(now - last);
    last = now;
    if (now - begun < ${COUNTED_MS}) requestAnimationFrame(next);
    else resolve(gaps);
  };
  requestAnimationFrame(next);
})`;

/** Times between two frames of the page, in milliseconds, while `work` goes on. */
async function framesDuring(page: Page, work: (signal: AbortSignal) => Promise<unknown>): Promise<number[]> {
  const worked = work(AbortSignal.timeout(COUNTED_MS));
  const frames = await page.evaluate<number[]>(FRAMES);
  await worked;
  return frames;
}

/** Frames a second while the wheel turns. */
async function scrolled(page: Page): Promise<number> {
  await page.locator('input[type="search"]').first().fill("");
  await page.waitForFunction(`document.querySelector('[role="grid"]').getAttribute("aria-rowcount") > 9000`);
  await page.locator(".hosts-space").hover({ position: { x: 200, y: 100 } });
  const gaps = await framesDuring(page, async (signal) => {
    while (!signal.aborted) await page.mouse.wheel(0, 240);
  });
  return (1_000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0);
}

/** The time between two frames that one in a hundred exceeds, in milliseconds, while the tags of hosts change. */
async function changing(page: Page, desk: string): Promise<number> {
  let nth = 0;
  const gaps = await framesDuring(page, async (signal) => {
    while (!signal.aborted) {
      const next = Bun.sleep(1_000);
      const from = nth * CHANGED;
      const on = Array.from({ length: CHANGED }, (_, at) => labelOf((from + at) % HOSTS)).join(",");
      await change(desk, { on, add: [`round-${nth % 7}`], remove: [`round-${(nth + 6) % 7}`] });
      nth++;
      await next;
    }
  });
  return gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length * 0.99)] ?? Number.NaN;
}

/** @throws where the desk refuses it. */
async function change(desk: string, body: object): Promise<void> {
  const answer = await fetch(`${desk}/admin/hosts/tags`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    tls: { rejectUnauthorized: false },
  });
  if (!answer.ok) throw new Error(await answer.text());
  await answer.arrayBuffer();
}

/** The folder of a desk that those hosts have joined. */
function deskOf(count: number) {
  const folder = temporaryFolder();
  const hosts = Array.from({ length: count }, (_, nth) => {
    const { publicKey: host_key, hostId: host_id } = identityOf(SEED, nth);
    const member = { host_id, host_key, nonce: "0".repeat(22) };
    return { label: labelOf(nth), base_url: `link:${host_id}`, tags: ["lab", `floor-${nth % 10}`], member };
  });
  writeFileSync(join(folder.path, "admin_hosts.json"), JSON.stringify({ hosts }), { mode: 0o600 });
  return folder;
}

function startDesk(configDir: string) {
  const limits = ["--max-connections", "15000", "--max-client-connections", "12000"];
  const flags = ["--hub", "--tls", "--port", "0", "--rate-limit", "0", ...limits];
  return startServer([BINARY, "serve", "--json", "--config-dir", configDir, ...flags], { SVC_TOKEN: TOKEN });
}

function simulated(configDir: string, url: string) {
  const pin = Bun.spawnSync([BINARY, "pin", "--config-dir", configDir]).stdout.toString().trim();
  const where = ["--hub", url.replace("https:", "wss:"), "--pin", pin, "--dead", DEAD];
  const sim = join(import.meta.dir, "programs", "sim.ts");
  return startServer([
    process.execPath,
    sim,
    "--carrier",
    "link",
    "--hosts",
    `${HOSTS}`,
    "--seed",
    SEED,
    ...where,
  ]);
}

/** @throws when they are not within three minutes. */
async function untilLinked(url: string, count: number): Promise<void> {
  const deadline = performance.now() + 180_000;
  for (;;) {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(`${url}/link/state`, { headers, tls: { rejectUnauthorized: false } });
    const { hub } = (await answer.json()) as { hub: { links: number } };
    if (hub.links >= count) return;
    if (performance.now() > deadline) throw new Error(`expected ${count} links but found ${hub.links}`);
    await Bun.sleep(200);
  }
}
