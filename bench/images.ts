/**
 * Finding a picture on the screen: what is found and what is taken for it on 500 made-up scenes, beside pyautogui's way with
 * OpenCV; how long a search of a real screen takes; and what it costs everybody else.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { search } from "../src/host/desktop/images/search";
import { encodePng } from "../src/host/desktop/png";
import { makeScene, type Scene } from "../tests/host/desktop/scenes";
import {
  type Figure,
  healthDuring,
  median,
  p99,
  startDisplay,
  startSvc,
  TOKEN,
  temporaryFolder,
} from "./support";

/** Debian's, for which its packages are. */
const PYTHON = "/usr/bin/python3";
const SCENES = 500;
/** The last scene is of this size. */
const LARGE = { width: 1_920, height: 1_080 };
const SCREENS = [
  { size: "1920x1080", limitMs: 300 },
  { size: "3840x2160", limitMs: 1_000 },
];
const SEARCHES = 15;
const HEALTH_LIMIT_MS = 20;

export async function bench(): Promise<Figure[]> {
  const scenes = [...(await onScenes())];
  for (const screen of SCREENS) scenes.push(...(await onScreen(screen)));
  return scenes;
}

/** What one of the two found in a scene. */
interface Answer {
  readonly first: readonly number[] | null;
  readonly ms: number;
}

async function onScenes(): Promise<Figure[]> {
  const names = [
    "images found, against OpenCV",
    "wrong places, against OpenCV",
    "time for 1920 x 1080, against OpenCV",
  ];
  if (!(await canOpenCv())) {
    const goals = [">= 1", "<= 0", "<= 1"] as const;
    return names.map((name, nth) => ({
      ...{ name: `${SCENES} scenes: ${name}`, ratio: Number.NaN, goal: goals[nth] ?? "<= 1" },
      detail: "needs python3-opencv",
    }));
  }
  using folder = temporaryFolder();
  const scenes = Array.from({ length: SCENES }, (_, seed) => makeScene(seed));
  scenes.push(makeScene(SCENES + 1, LARGE));
  scenes.forEach(({ screen, image }, nth) => {
    writeFileSync(join(folder.path, `${nth}-screen.png`), encodePng(screen));
    writeFileSync(join(folder.path, `${nth}-image.png`), encodePng(image));
  });
  const own = scenes.map(find);
  const python = Bun.spawn(
    [PYTHON, join(import.meta.dir, "programs/match.py"), folder.path, `${scenes.length}`],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const lines = (await python.stdout.text()).trim().split("\n");
  const others = lines.map((line): Answer => JSON.parse(line));
  const [ours, theirs] = [count(own, scenes), count(others, scenes)];
  const [large, largeOther] = [own.at(-1)?.ms ?? 0, others.at(-1)?.ms ?? 0];
  return [
    {
      name: `${SCENES} scenes: ${names[0]}`,
      ...{ ratio: ours.found / theirs.found, goal: ">= 1" },
      detail: `${ours.found} / ${theirs.found} of ${ours.present}`,
    },
    {
      name: `${SCENES} scenes: ${names[1]}`,
      ...{ ratio: ours.wrong / Math.max(1, theirs.wrong), goal: "<= 0" },
      detail: `${ours.wrong} / ${theirs.wrong}: another widget that nearly is the one, or the one that is not there`,
    },
    {
      name: `${SCENES} scenes: ${names[2]}`,
      ...{ ratio: large / largeOther, goal: "<= 1" },
      detail: `${large.toFixed(0)} / ${largeOther.toFixed(0)} ms; of 320 x 240: ${median(own.map(({ ms }) => ms)).toFixed(1)} / ${median(others.map(({ ms }) => ms)).toFixed(1)} ms`,
    },
  ];
}

async function canOpenCv(): Promise<boolean> {
  if (Bun.which(PYTHON) === null) return false;
  return (
    (await Bun.spawn([PYTHON, "-c", "import cv2"], { stdio: ["ignore", "ignore", "ignore"] }).exited) === 0
  );
}

function find({ screen, image }: Scene): Answer {
  const started = performance.now();
  const { matches } = search(screen, image, {
    threshold: 0.9,
    all: false,
    near: false,
    end: Number.POSITIVE_INFINITY,
  });
  const ms = performance.now() - started;
  const [match] = matches;
  return { first: match ? [match.x, match.y] : null, ms };
}

function count(answers: readonly Answer[], scenes: readonly Scene[]) {
  const counts = { found: 0, wrong: 0, present: 0 };
  scenes.forEach(({ place }, nth) => {
    const [x, y] = answers[nth]?.first ?? [];
    if (place) counts.present++;
    if (x === undefined || y === undefined) return;
    // A match begins some pixels before its best place.
    const isRight = place && Math.abs(place.x - x) <= 1 && Math.abs(place.y - y) <= 1;
    if (isRight) counts.found++;
    else counts.wrong++;
  });
  return counts;
}

/** On a display full of text: the capture, the search and the request together. */
async function onScreen({ size, limitMs }: (typeof SCREENS)[number]): Promise<Figure[]> {
  const name = `POST /locate on ${size}, against ${limitMs} ms`;
  const healthName = `GET /health (p99) while images are looked for on ${size}, against ${HEALTH_LIMIT_MS} ms`;
  const missing = ["Xvfb", "xterm"].filter((program) => Bun.which(program) === null);
  if (missing.length > 0) {
    const detail = `needs ${missing.join(", ")}`;
    return [name, healthName].map((one) => ({ name: one, ratio: Number.NaN, goal: "<= 1", detail }));
  }
  await using display = await startDisplay(size);
  using configDir = temporaryFolder();
  process.env.DISPLAY = display.name;
  await using svc = await startSvc(configDir.path);
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const [width = 0, height = 0] = size.split("x").map(Number);
  const [x, y] = [Math.floor(width * 0.7), Math.floor(height * 0.6)];
  const shot = await fetch(`${svc.url}/screenshot?screen_region=${[x, y, x + 64, y + 40]}`, { headers });
  const { data } = (await shot.json()) as { data: string };
  const times: number[] = [];
  const work = async () => {
    for (let nth = 0; nth < SEARCHES; nth++) {
      const started = performance.now();
      const body = JSON.stringify({ image: data });
      const response = await fetch(`${svc.url}/locate`, {
        ...{ method: "POST", body, headers: { ...headers, "Content-Type": "application/json" } },
      });
      const { matches } = (await response.json()) as { matches: Array<{ x: number; y: number }> };
      if (matches[0]?.x !== x || matches[0].y !== y) throw new Error("the image was not found");
      times.push(performance.now() - started);
    }
  };
  const health = await healthDuring(svc, work());
  const took = median(times.slice(1));
  return [
    {
      ...{ name, ratio: took / limitMs, goal: "<= 1" },
      detail: `${took.toFixed(0)} / ${limitMs} ms, the longest ${Math.max(...times.slice(1)).toFixed(0)} ms`,
    },
    {
      ...{ name: healthName, ratio: p99(health) / HEALTH_LIMIT_MS, goal: "<= 1" },
      detail: `${p99(health).toFixed(1)} / ${HEALTH_LIMIT_MS} ms over ${health.length} requests`,
    },
  ];
}
