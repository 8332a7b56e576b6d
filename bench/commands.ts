/**
 * What a person waits for at a terminal: a picture, a click and a look for an image, beside a server and without one; and the text on the
 * screen, read for the first time and again, with the program tesseract and with tesseract-wasm. The baseline of each is a limit.
 */
import { spawnSync } from "bun";
import { englishData, writePackage } from "../tests/host/desktop/tesseract-wasm";
import { BINARY, type Figure, median, startDisplay, startServer, startSvc, temporaryFolder } from "./support";

const ROUNDS = 15;
const READS = 5;

/** How long each may take, in milliseconds. */
const BESIDE_MS = 45;
const ALONE_MS = 120;
const FIRST_READ_MS = 1_500;
const AGAIN_MS = 300;

const PROGRAMS = ["Xvfb", "xterm", "tesseract"];

/** A screen that a person works on: some windows of text. */
const LINES = Array.from(
  { length: 30 },
  (_, nth) => `line ${nth}: order ${4_711 + nth} was sent to Berlin, 12 pieces`,
);

export async function bench(): Promise<Figure[]> {
  const missing = PROGRAMS.filter((name) => Bun.which(name) === null);
  if (missing.length > 0)
    return [
      {
        name: "commands at a terminal",
        ratio: Number.NaN,
        goal: "<= 1",
        detail: `needs ${missing.join(", ")}`,
      },
    ];
  await using display = await startDisplay("1280x800", false);
  process.env.DISPLAY = display.name;
  using folder = temporaryFolder();
  const cut = `${folder.path}/cut.png`;
  const windows = [show(LINES, "90x30+20+20"), show(LINES.slice(0, 8), "60x8+500+560")];
  try {
    await Bun.sleep(2_000);
    run(folder.path, "screenshot", "--output", cut, "--region", "20,20,220,60");
    const commands: ReadonlyArray<readonly [string, readonly string[]]> = [
      ["screenshot", ["screenshot", "--output", `${folder.path}/all.png`]],
      ["click", ["desktop", "click-mouse", "1270", "790"]],
      ["locate", ["locate", cut]],
    ];
    const alone = commands.map(([name, words]) => figure(name, "alone", ALONE_MS, times(folder.path, words)));
    const served = await besideServer(folder.path, cut, commands);
    return [...served, ...alone, ...(await readingInWasm())];
  } finally {
    for (const window of windows) window.kill();
  }
}

/** @param cut where a picture of a part of the screen is written. */
async function besideServer(
  folder: string,
  cut: string,
  commands: ReadonlyArray<readonly [string, readonly string[]]>,
): Promise<Figure[]> {
  await using _svc = await startSvc(folder);
  // The first one starts the hands of the server.
  run(folder, "screenshot", "--output", cut, "--region", "20,20,220,60");
  const beside = commands.map(([name, words]) =>
    figure(name, "beside a server", BESIDE_MS, times(folder, words)),
  );
  return [...beside, ...(await reading(folder, "the text on a screen of 1280x800"))];
}

/** The same text on a host that has not the program, but its WebAssembly as data. */
async function readingInWasm(): Promise<Figure[]> {
  using folder = temporaryFolder();
  const file = `${folder.path}/tesseract-wasm.tgz`;
  await writePackage(file);
  run(folder.path, "data", "add", "ocr-wasm", file);
  run(folder.path, "data", "add", "ocr-eng", await englishData());
  // The server reads, and looks for the program there: it starts nothing else by its name.
  const PATH = folder.path;
  const serve = [BINARY, "serve", "--json", "--port", "0", "--config-dir", folder.path];
  await using _svc = await startServer(serve, { PATH });
  return await reading(folder.path, "the text on a screen of 1280x800 by tesseract-wasm");
}

/** What the screen says, read for the first time and again, beside a server; each first one by another text. */
async function reading(folder: string, name: string): Promise<Figure[]> {
  const [first, again]: [number[], number[]] = [[], []];
  for (let nth = 0; nth < READS; nth++) {
    const window = show([`number ${nth}`, ...LINES.map((line) => `${nth} ${line}`)], "90x32+20+20");
    await Bun.sleep(1_500);
    first.push(run(folder, "desktop", "read-text"));
    again.push(run(folder, "desktop", "read-text"));
    window.kill();
    await window.exited;
  }
  return [figure(name, "for the first time", FIRST_READ_MS, first), figure(name, "again", AGAIN_MS, again)];
}

function show(lines: readonly string[], geometry: string) {
  const font = ["-fa", "DejaVu Sans Mono", "-fs", "10", "-bg", "white", "-fg", "black"];
  const print = ["-e", "sh", "-c", 'printf "%s\\n" "$@"; exec sleep 600', "sh", ...lines];
  return Bun.spawn(["xterm", ...font, "-geometry", geometry, ...print], {
    env: { ...process.env },
    stdio: ["ignore", "ignore", "ignore"],
  });
}

/** How long a command takes, in milliseconds. @throws where it fails. */
function run(folder: string, ...words: readonly string[]): number {
  const began = performance.now();
  const { exitCode, stderr } = spawnSync([BINARY, ...words], {
    env: { ...process.env, SVC_CONFIG_DIR: folder },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const took = performance.now() - began;
  if (exitCode !== 0) throw new Error(`svc ${words.join(" ")} ended with ${exitCode}: ${stderr}`);
  return took;
}

const times = (folder: string, words: readonly string[]) =>
  Array.from({ length: ROUNDS }, () => run(folder, ...words));

const figure = (name: string, where: string, limit: number, found: readonly number[]): Figure => ({
  name: `${name}, ${where}`,
  ratio: median(found) / limit,
  goal: "<= 1",
  detail: `${median(found).toFixed(0)} / ${limit} ms, the longest ${Math.max(...found).toFixed(0)} ms`,
});
