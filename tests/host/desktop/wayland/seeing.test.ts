/** What is seen of sway: by viewers of the live screen, in thumbnails, over several monitors; and that the screen stays on meanwhile. */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "fast-png";
import type { Desktop } from "../../../../src/host/desktop/desktop";
import { testWith, until } from "../../../support";
import { CONTINUOUS, FENCE, pixelsOf, TIGHT, view, ZRLE } from "../screen/viewer";
import { desktopOn, forever } from "../support";
import { openTerminal, type Session, SIZE, startSway } from "./support";

setDefaultTimeout(120_000);
const PROGRAMS = ["sway", "foot", "grim", "setpriv", "swayidle", "swaymsg"] as const;
const test = testWith(...PROGRAMS);
const stack = new AsyncDisposableStack();
let session: Session;
let desktop: Desktop;

beforeAll(async () => {
  if (PROGRAMS.some((name) => Bun.which(name) === null)) return;
  session = stack.use(await startSway());
  desktop = stack.use(desktopOn(session.env)).desktop;
});
afterAll(() => stack.disposeAsync());

/** The screen as `AC_screenshot` has it. */
async function screenOf(on: Desktop): Promise<Uint8Array> {
  const { base64 } = await on.screenshot({}, null, forever);
  return pixelsOf(base64 ?? "");
}

/** What a person tells sway. */
async function sway(on: Session, ...words: readonly string[]) {
  const runtime = on.env.XDG_RUNTIME_DIR ?? "";
  const socket = await until("sway's socket", () =>
    readdirSync(runtime).find((name) => name.startsWith("sway-ipc.")),
  );
  const command = ["swaymsg", "--socket", join(runtime, socket), words.join(" ")];
  expect(await on.start(command).exited).toBe(0);
}

test.each([
  ["in Tight", [TIGHT]],
  ["in ZRLE", [ZRLE]],
  ["in Tight, with updates that it does not ask for", [TIGHT, FENCE, CONTINUOUS]],
] as const)("a viewer sees the screen to the last pixel, %s", async (name, encodings) => {
  const door = await desktop.openViewer({ id: name, control: false, name });
  using viewer = await view(door);
  expect(viewer.size).toEqual(SIZE);
  viewer.encodings(...encodings);
  viewer.start();
  await viewer.shows(() => screenOf(desktop));
  const terminal = openTerminal(session, name);
  await viewer.shows(() => screenOf(desktop));
  terminal.close();
});

test("a viewer who controls types into a window and clicks", async () => {
  const terminal = openTerminal(session, "controlled");
  await until("the window", async () =>
    (await desktop.windows(forever))?.some(({ title }) => title === "controlled"),
  );
  const door = await desktop.openViewer({ id: "hands", control: true, name: "hands" });
  using viewer = await view(door);
  viewer.start();
  viewer.pointer(600, 400, 1);
  viewer.pointer(600, 400, 0);
  for (const character of "Grüße, 世\n") {
    const code = character.codePointAt(0) ?? 0;
    const keysym = character === "\n" ? 0xff0d : code < 0x100 ? code : 0x0100_0000 + code;
    viewer.key(keysym, true);
    viewer.key(keysym, false);
  }
  expect(await terminal.typed(1)).toBe("Grüße, 世\n");
  expect(await desktop.pointer(forever)).toEqual({ x: 600, y: 400 });
  terminal.close();
});

test("a thumbnail is the screen, smaller", async () => {
  const jpeg = Buffer.from(await desktop.snapshot({ width: 320 }), "base64");
  const { width, height } = await new Bun.Image(jpeg).metadata();
  expect([width, height]).toEqual([320, 200]);
});

test("several monitors are one desktop: pictures, viewers and the pointer", async () => {
  await using two = await startSway(
    "output HEADLESS-1 position 0 0\noutput HEADLESS-2 resolution 480x640 position 1280 0 transform 90\n",
  );
  await sway(two, "create_output");
  await using made = desktopOn(two.env);
  const on = made.desktop;
  const second = { x1: 1_280, y1: 0, x2: 1_920, y2: 480 };
  await until("the second monitor", async () => (await on.screenSize(forever)).width === 1_920);
  expect(await on.monitors(forever)).toEqual([{ x1: 0, y1: 0, x2: 1_280, y2: 800 }, second]);
  await on.move({ x: 1_500, y: 300 }, forever);
  expect(await on.pointer(forever)).toEqual({ x: 1_500, y: 300 });
  await using other = desktopOn(two.env);
  expect(await other.desktop.pointer(forever)).toEqual({ x: 1_500, y: 300 });
  const terminal = openTerminal(two, "on the second");
  const row = await until("the window", async () =>
    (await on.windows(forever))?.find(({ title }) => title === "on the second"),
  );
  await on.focus(row.hwnd, forever);
  await sway(two, "move container to output HEADLESS-2");
  await on.move({ x: 40, y: 700 }, forever);
  const { shown } = await on.screenshot({ monitor: 1 }, null, forever);
  expect(shown).toEqual(second);
  const path = join(two.folder, "both.png");
  await until("the picture of grim", async () => {
    await two.start(["grim", path]).exited;
    const { data, channels } = decode(readFileSync(path));
    const { base64 } = await on.screenshot({}, null, forever);
    const ours = decode(Buffer.from(base64 ?? "", "base64"));
    // Where no monitor is, grim's picture is transparent.
    return ours.data.every((value, at) => {
      const [pixel, colour] = [Math.floor(at / ours.channels), at % ours.channels];
      return colour > 2 || data[pixel * channels + colour] === value;
    });
  });
  const door = await on.openViewer({ id: "both", control: false, name: "both" });
  using viewer = await view(door);
  expect(viewer.size).toEqual({ width: 1_920, height: 800 });
  viewer.encodings(TIGHT);
  viewer.start();
  await viewer.shows(() => screenOf(on));
  terminal.close();
});

test("a monitor of twice the scale gives pictures of all its pixels", async () => {
  await using large = await startSway("output HEADLESS-1 scale 2\n");
  await using made = desktopOn(large.env);
  const on = made.desktop;
  expect(await on.screenSize(forever)).toEqual({ width: 640, height: 400 });
  const { width, height } = await on.screenshot({}, null, forever);
  expect([width, height]).toEqual([1_280, 800]);
  await on.move({ x: 630, y: 390 }, forever);
  await using other = desktopOn(large.env);
  expect(await other.desktop.pointer(forever)).toEqual({ x: 630, y: 390 });
});

test("the screen does not go dark while somebody looks at it, and may afterwards", async () => {
  await using quiet = await startSway();
  await using made = desktopOn(quiet.env);
  const door = await made.desktop.openViewer({ id: "awake", control: false, name: "awake" });
  const viewer = await view(door);
  viewer.start();
  const dark = join(quiet.folder, "dark");
  quiet.start(["swayidle", "-w", "timeout", "1", `touch ${dark}`]);
  await Bun.sleep(3_000);
  expect(existsSync(dark)).toBe(false);
  viewer[Symbol.dispose]();
  await until("the screen to go dark", () => existsSync(dark));
});
