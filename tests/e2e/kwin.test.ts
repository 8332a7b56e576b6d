/** The desktop of KDE (KWin without a screen) by its own portal: pictures, pointer, wheel and keys. */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import type { Desktop } from "../../src/host/desktop/desktop";
import { openStage } from "../host/desktop/gnome/support";
import { KWIN_PROGRAMS, startKwin } from "../host/desktop/portal/kwin";
import { pixelsOf, TIGHT, view } from "../host/desktop/screen/viewer";
import { desktopOn, forever } from "../host/desktop/support";
import { asNobody, type Session, SIZE, svcIn } from "../host/desktop/wayland/support";
import { missingOf, testWith, until } from "../support";

setDefaultTimeout(120_000);
const ALL = [...KWIN_PROGRAMS, "wl-copy", "wl-paste"] as const;
const test = testWith(...ALL);
const stack = new AsyncDisposableStack();
let session: Session;
let desktop: Desktop;

beforeAll(async () => {
  if (missingOf(ALL).length > 0) return;
  session = stack.use(await startKwin());
  desktop = stack.use(inKwin(session)).desktop;
});
afterAll(() => stack.disposeAsync());

/** A desktop as the user of a session has it. */
const inKwin = (on: Session) => desktopOn(on.env, { command: [svcIn(on), "desktop-child"], as: asNobody });

/** Red, green and blue at a place of the screen. */
async function colourAt(x: number, y: number): Promise<number[]> {
  const region = { x1: x, y1: y, x2: x + 1, y2: y + 1 };
  const { base64 } = await desktop.screenshot({ region }, null, forever);
  return [...pixelsOf(base64 ?? "")];
}

/** The stage, once pictures show it over all of the screen. */
async function shownStage(how?: string) {
  const stage = openStage(session, how);
  await stage.shown();
  await until("the stage over all of the screen", async () => {
    const [first, last] = [await colourAt(0, 0), await colourAt(SIZE.width - 1, SIZE.height - 1)];
    return `${first} ${last}` === "255,0,0 0,0,255";
  });
  return stage;
}

test("svc desktop allow lets svc in; until then each call fails at once, and says so", async () => {
  await expect(desktop.screenshot({}, null, forever)).rejects.toThrow("run `svc desktop allow`");
  const { lacks, ...way } = await desktop.session(forever);
  expect(way).toEqual({ system: "wayland", name: "kwin_wayland", way: "the portal" });
  expect(lacks[0]).toStartWith("pictures, pointer and keys (nobody has allowed svc this desktop");
  // The portal of Debian 12 remembers nothing.
  expect(await desktop.allow(60_000, forever)).toBe("held");
  expect(await desktop.screenSize(forever)).toEqual(SIZE);
  expect((await desktop.session(forever)).lacks.join()).not.toContain("pictures");
});

test("pictures are those of KWin, and the pointer and its buttons go where they are told", async () => {
  await using stage = await shownStage();
  expect(await desktop.click({ x: 300, y: 200 }, "left", "tap", forever)).toEqual({ x: 300, y: 200 });
  await desktop.click({ x: 1_000, y: 700 }, "right", "press", forever);
  await desktop.move({ x: 20 }, forever);
  await desktop.click({}, "right", "release", forever);
  expect(await stage.done(4)).toEqual([
    ...["press 1 300 200", "release 1 300 200", "press 3 1000 700", "release 3 20 700"],
  ]);
  await desktop.click({ x: 600, y: 400 }, "middle", "tap", forever);
  await until("the other colours", async () => `${await colourAt(10, 10)}` === "0,0,255");
  expect(await colourAt(1_270, 790)).toEqual([255, 0, 0]);
});

test("keys and text arrive as they are", async () => {
  await using stage = await shownStage();
  await desktop.type("hi\t", forever);
  await desktop.strike(["shift", "b"], "tap", forever);
  await desktop.strike(["ctrl", "f5"], "tap", forever);
  expect(await stage.done(7)).toEqual(
    ["h", "i", "Tab", "Shift_L", "B", "Control_L", "F5"].map((key) => `key ${key}`),
  );
});

test("the wheel turns down and up, by as much for each notch", async () => {
  await using stage = await shownStage("smooth");
  await desktop.scroll({ x: 300, y: 200 }, "down", 2, forever);
  await desktop.scroll({}, "up", 1, forever);
  const [down = "", up = ""] = await stage.done(2);
  const distance = (line: string) => Number(line.split(" ").at(-1));
  expect(distance(down)).toBeGreaterThan(0);
  expect(distance(down)).toBe(-2 * distance(up));
});

test("the clipboard goes both ways between svc and other programs", async () => {
  await desktop.setClipboard("clip ö 世界", forever);
  expect(await session.start(["wl-paste", "--no-newline"]).stdout.text()).toBe("clip ö 世界");
  session.start(["wl-copy", "--foreground", "of another"]);
  await until("the other program's text", async () => (await desktop.clipboard(forever)) === "of another");
});

test("a viewer sees the screen to the last pixel", async () => {
  await using _stage = await shownStage();
  const door = await desktop.openViewer({ id: "viewer", control: true, name: "viewer" });
  using viewer = await view(door);
  expect(viewer.size).toEqual(SIZE);
  viewer.encodings(TIGHT);
  viewer.start();
  viewer.pointer(100, 200, 2);
  viewer.pointer(100, 200, 0);
  await until("the other colours", () => `${viewer.colourAt(10, 10)}` === "0,0,255");
  await viewer.shows(async () => pixelsOf((await desktop.screenshot({}, null, forever)).base64 ?? ""));
});

test("several monitors are one desktop, and the pointer goes to each", async () => {
  await using two = await startKwin(2);
  await using made = inKwin(two);
  await made.desktop.allow(60_000, forever);
  const width = 2 * SIZE.width;
  expect(await made.desktop.screenSize(forever)).toEqual({ ...SIZE, width });
  const monitors = await made.desktop.monitors(forever);
  expect(monitors.map(({ x1 }) => x1).toSorted((a, b) => a - b)).toEqual([0, SIZE.width]);
  expect(await made.desktop.screenshot({}, null, forever)).toMatchObject({ ...SIZE, width });
  await using stage = openStage(two);
  await stage.shown();
  await made.desktop.click({ x: 100, y: 90 }, "left", "tap", forever);
  await made.desktop.click({ x: SIZE.width + 300, y: 190 }, "left", "tap", forever);
  await made.desktop.type("a", forever);
  // It is on one of them, and gets what was done there.
  const done = (await stage.done(2)).filter((line) => !line.startsWith("key"));
  expect([
    ["press 1 100 90", "release 1 100 90"],
    ["press 1 300 190", "release 1 300 190"],
  ]).toContainEqual(done);
});
