/** The black box of a real display: what is kept, what is left out, and what is left after `kill -9`. */
import { expect, setDefaultTimeout } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { decodePng } from "../../../../../src/host/desktop/images/decode";
import { configFiles } from "../../../../../src/lib/paths";
import { post, SOURCE, serveSource, testWith, until } from "../../../../support";
import { openTerminal, PROGRAMS, startDisplay } from "../../support";
import { contentOf } from "./support";

setDefaultTimeout(120_000);
const test = testWith(...PROGRAMS);

type Call = (path: string, init?: RequestInit) => Promise<Response>;

/** The background of the terminals of these tests. */
const TERMINAL = 0x123456;

/** How many pixels of a picture have a colour. */
function countOf(base64: string, colour: number): number {
  const { pixels, redAt } = decodePng(Buffer.from(base64, "base64"), 10_000_000, "picture");
  let count = 0;
  for (let at = 0; at < pixels.length; at += 4) {
    const [red, green, blue] = [pixels[at + redAt], pixels[at + 1], pixels[at + 2 - redAt]];
    if (red === colour >> 16 && green === ((colour >> 8) & 0xff) && blue === (colour & 0xff)) count++;
  }
  return count;
}

/** The picture of a time (default: now); undefined where there is none. */
async function pictureAt(call: Call, time = new Date().toISOString()) {
  const answer = await call(`/screen/at?time=${time}`);
  return answer.ok ? ((await answer.json()) as { width: number; height: number; data: string }) : undefined;
}

const shows = async (call: Call) => {
  const picture = await pictureAt(call);
  return picture && countOf(picture.data, TERMINAL) > 1_000 && picture;
};

const find = async (call: Call, text: string) =>
  (await (await call("/black-box/find", post({ text }))).json()) as {
    found: Array<{ kind: string; window: string; program: string }>;
  };

test("what the display showed is there, with titles; what is left out is nowhere", async () => {
  await using display = await startDisplay();
  const flags = ["--black-box", "1h", "--black-box-exclude", "*secret*", "--rate-limit", "0"];
  await using server = await serveSource(flags, { env: display.env });
  await using _hidden = openTerminal(display.env, "my secret notes", "60x10+20+20");
  await until("a picture", () => pictureAt(server.call));
  await Bun.sleep(4_000);
  const before = await until("a picture", () => pictureAt(server.call));
  expect(before).toMatchObject({ width: 1_280, height: 800 });
  expect(countOf(before.data, TERMINAL)).toBe(0);

  await using _shown = openTerminal(display.env, "plain title", "60x10+20+400");
  await until("the terminal that may be seen", () => shows(server.call));
  const { found } = await until("its title", async () => {
    const made = await find(server.call, "PLAIN title");
    return made.found.length > 0 && made;
  });
  expect(found[0]).toMatchObject({ kind: "title", window: "plain title", program: "xterm" });
  expect((await find(server.call, "secret")).found).toEqual([]);

  const { blackBox } = configFiles(server.configDir);
  for (const name of readdirSync(blackBox)) {
    const bytes = readFileSync(join(blackBox, name)).toString("latin1");
    expect(`${name} ${bytes}`).not.toMatch(/plain title|secret|xterm/);
  }
});

/** A terminal with a background of its own that runs a command; it ends with the scope. */
function openColoured(env: NodeJS.ProcessEnv, title: string, colour: string, place: string, command: string) {
  const flags = ["-T", title, "-geometry", `50x8${place}`, "-bg", colour, "-fg", colour];
  const child = Bun.spawn(["xterm", ...flags, "-e", "sh", "-c", command], {
    env,
    stdio: ["ignore", "ignore", "ignore"],
  });
  return {
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

test("no picture that was kept has a pixel of a window that is left out: one that moves, is covered, or gets its title later", async () => {
  const [SECRET, LATE] = [0x654321, 0xabcdef];
  await using display = await startDisplay();
  const flags = ["--black-box", "1h", "--black-box-exclude", "*secret*", "--rate-limit", "0"];
  await using server = await serveSource(flags, { env: display.env });
  await using _covering = openTerminal(display.env, "plain title", "40x10+150+100");
  await using _secret = openColoured(display.env, "my secret notes", "#654321", "+20+20", "sleep 600");
  await until("the terminal that may be seen", () => shows(server.call));
  const move = (x: number, y: number) => ["AC_move_window", { title_substring: "secret notes", x, y }];
  const raise = ["AC_focus_window", { title_substring: "plain title" }];
  for (let nth = 0; nth < 8; nth++) {
    const done = await server.call(
      "/execute",
      post({ actions: [move(40 + 30 * nth, 30 + 20 * nth), raise] }),
    );
    expect(await done.json()).toMatchObject({ ok: true });
    await Bun.sleep(300);
  }
  const late = "sleep 0.7; printf '\\033]0;late secret\\007'; exec sleep 600";
  await using _late = openColoured(display.env, "start page", "#abcdef", "+600+400", late);
  await until("its title", async () => {
    const { windows } = (await (await server.call("/windows")).json()) as { windows: unknown };
    return JSON.stringify(windows).includes("late secret");
  });
  await Bun.sleep(6_000);
  expect((await server.call("/black-box/pause", post({}))).status).toBe(200);
  const { blackBox, blackBoxKey } = configFiles(server.configDir);
  let pictures = 0;
  let plain = 0;
  for (const { pixels } of contentOf(blackBox, readFileSync(blackBoxKey, "utf8").trim())) {
    const colours = new Int32Array(pixels.buffer).map((colour) => colour & 0xff_ffff);
    expect([colours.includes(SECRET), colours.includes(LATE)]).toEqual([false, false]);
    if (colours.includes(TERMINAL)) plain++;
    pictures++;
  }
  // The others are there.
  expect(pictures).toBeGreaterThan(5);
  expect(plain).toBeGreaterThan(3);
  expect((await find(server.call, "secret")).found).toEqual([]);
});

test("after kill -9 the last seconds before it are there", async () => {
  await using display = await startDisplay();
  await using server = await serveSource(["--black-box", "1h"], { env: display.env });
  await until("a picture", () => pictureAt(server.call));
  await using _terminal = openTerminal(display.env, "the last thing", "60x10+20+20");
  const opened = performance.now();
  await until("the terminal", async () => {
    const shot = (await (await server.call("/screenshot")).json()) as { data: string };
    return countOf(shot.data, TERMINAL) > 1_000;
  });
  // Nobody asks the black box meanwhile, which would have it write.
  await Bun.sleep(Math.max(0, 5_000 - (performance.now() - opened)));
  const time = new Date().toISOString();
  process.kill(server.pid, "SIGKILL");
  await server.exited;
  const child = Bun.spawn([...SOURCE, "screen", "at", time, "--json", "--config-dir", server.configDir], {
    env: { ...process.env, DISPLAY: "" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const shot = JSON.parse(await child.stdout.text()) as { data: string };
  expect(countOf(shot.data, TERMINAL)).toBeGreaterThan(1_000);
});

test("it is paused and goes on, and the film of a span is a file", async () => {
  await using display = await startDisplay();
  await using server = await serveSource(["--black-box", "1h"], { env: display.env });
  const since = new Date().toISOString();
  await until("a picture", () => pictureAt(server.call));
  expect((await server.call("/black-box/pause", post({}))).status).toBe(200);
  await using _terminal = openTerminal(display.env, "while it was paused", "60x10+20+20");
  await Bun.sleep(1_500);
  expect(await pictureAt(server.call)).toBeUndefined();
  expect(await (await server.call("/black-box/resume", post({}))).json()).toMatchObject({ state: "on" });
  await until("the terminal", () => shows(server.call));
  const file_path = join(server.configDir, "night.webm");
  const until_ = new Date().toISOString();
  const film = await server.call("/black-box/film", post({ since, until: until_, file_path }));
  expect(await film.json()).toMatchObject({ file_path, width: 1_280, height: 800 });
  expect(readFileSync(file_path).toString("hex", 0, 4)).toBe("1a45dfa3");
  const { events } = (await (await server.call("/events?types=black_box.*&after=oldest&wait=0")).json()) as {
    events: Array<{ type: string }>;
  };
  expect(events.map(({ type }) => type)).toContain("black_box.paused");
});
