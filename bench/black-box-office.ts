/**
 * How much room the black box takes for office work: some minutes of it on 1920x1080, with the programs and steps of the desktop tasks, at the
 * pace of a person, by the compiled binary. An hour is scaled from them.
 *
 * A word a second is typed into mousepad and LibreOffice Writer, numbers into Calc, and links are followed in Chromium; each has all of the screen
 * while it is used, so that it changes whenever the person turns to another one.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { firstError, svc } from "./desktop-tasks/run-in";
import { prepare } from "./desktop-tasks/runner";
import { type Action, focus, keys, press, sleep, toWindow, wait, write } from "./desktop-tasks/task";
import { TASKS } from "./desktop-tasks/tasks";
import { startWorld, type World } from "./desktop-tasks/world";
import { BINARY, type Figure, mebibytes, median, startServer, TOKEN } from "./support";

const PROGRAMS = ["Xvfb", "openbox", "dbus-daemon", "mousepad", "localc", "lowriter", "chromium"];
const NAME = "black box: room that an hour of office work takes, against 100 MiB";
const MOST_BYTES = 100 * 1_048_576;
/** How often all four programs are used, 100 s in all each time. A figure each: more would take a quarter of an hour. */
const ROUNDS = 3;
/** After the last step: the black box writes some seconds later. */
const WRITTEN_MS = 6_000;
/** The tasks whose programs are opened, and the titles of their windows. */
const OPENED: ReadonlyArray<readonly [id: string, title: string]> = [
  ["T01", "note.txt"],
  ["T11", "a.odt"],
  ["S01", "s.ods"],
  ["B03", "Start"],
];
const WORDS =
  "The customer has asked for another offer before the end of the month, with the prices of last year and a delivery in two parts.";

export async function bench(): Promise<Figure[]> {
  const missing = PROGRAMS.filter((name) => Bun.which(name) === null);
  if (missing.length > 0)
    return [{ name: NAME, ratio: Number.NaN, goal: "<= 1", detail: `needs ${missing.join(", ")}` }];
  await using world = await startWorld(undefined, "1920x1080");
  const configDir = join(world.home, ".svc");
  const serve = [BINARY, "serve", "--json", "--port", "0", "--config-dir", configDir, "--rate-limit", "0"];
  const env = { ...world.env, SVC_TOKEN: TOKEN };
  await using _server = await startServer([...serve, "--black-box", "1h"], env);
  await openAll(world);
  const folder = join(configDir, "black-box");
  const hours: number[] = [];
  let steps = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const before = bytesIn(folder);
    const began = performance.now();
    for (const part of [writing("note.txt"), writing("a.odt"), counting(), browsing()]) {
      await perform(world, part);
      steps += part.length;
    }
    await Bun.sleep(WRITTEN_MS);
    hours.push(((bytesIn(folder) - before) * 3_600_000) / (performance.now() - began));
  }
  return [
    {
      name: NAME,
      ratio: hours.map((bytes) => bytes / MOST_BYTES),
      goal: "<= 1",
      detail: `${mebibytes(median(hours))} / 100 MiB, scaled from ${ROUNDS} rounds of some 100 s with ${steps} steps in all`,
    },
  ];
}

const bytesIn = (folder: string): number =>
  readdirSync(folder).reduce((sum, name) => sum + Bun.file(join(folder, name)).size, 0);

/** Opens the programs, each over all of the screen. */
async function openAll(world: World): Promise<void> {
  const tasks = OPENED.map(([id, title]) => ({ title, task: TASKS.find((one) => one.id === id) }));
  for (const { task, title } of tasks) {
    const why = task ? await prepare(task, world) : { why: "there is no such task" };
    if (why) throw new Error(`${title}: ${why.why}`);
    await perform(world, [["AC_maximize_window", { title_substring: title }], sleep(2)]);
  }
}

/** @throws what the first action says that failed. */
async function perform(world: World, actions: readonly Action[]): Promise<void> {
  const ended = await svc(world, ["execute", JSON.stringify(actions), "--stop-on-error"], 180);
  if (ended.code !== 0) throw new Error(firstError(ended));
}

const writing = (title: string): Action[] => [
  ...toWindow(title),
  ...WORDS.split(" ").flatMap((word) => [write(`${word} `), sleep(1)]),
  write("\n"),
  keys("ctrl", "s"),
  sleep(3),
];

const counting = (): Action[] => [
  ...toWindow("s.ods"),
  focus('textbox nth 1 window "s.ods" within toolbar "Formula Tool Bar"'),
  keys("ctrl", "a"),
  write("D2\n"),
  ...Array.from({ length: 10 }, (_, nth) => [write(`${nth * 37}\n`), sleep(2)] as const).flat(),
];

const browsing = (): Action[] => [
  ...toWindow("Start"),
  ...["Orders", "Orders"].flatMap((name) => [
    press(`link "${name}" window "Start"`),
    wait(`heading "${name}" window "${name}"`),
    sleep(5),
    ...toWindow(name),
    keys("alt", "left"),
    wait(`link "${name}" window "Start"`),
    sleep(3),
  ]),
];
