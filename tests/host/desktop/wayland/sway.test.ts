/** The desktop of sway, a compositor of the wlroots family: each call does there what it does on X11. */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "fast-png";
import type { Desktop } from "../../../../src/host/desktop/desktop";
import { waitForTitle } from "../../../../src/host/desktop/windows";
import { testWith, until } from "../../../support";
import { desktopOn, forever } from "../support";
import { openTerminal, type Session, SIZE, startSway } from "./support";

setDefaultTimeout(120_000);
const PROGRAMS = ["sway", "foot", "grim", "wl-copy", "wl-paste", "setpriv"] as const;
const testOnSway = testWith(...PROGRAMS);
const stack = new AsyncDisposableStack();
let session: Session;
let desktop: Desktop;

beforeAll(async () => {
  if (PROGRAMS.some((name) => Bun.which(name) === null)) return;
  session = stack.use(await startSway());
  desktop = stack.use(desktopOn(session.env)).desktop;
});
afterAll(() => stack.disposeAsync());

const titled = (title_substring: string) => ({
  title_substring,
  case_sensitive: true,
  timeout: 20,
  poll: 0.05,
});

/** The window of a new terminal. */
async function terminal(title: string) {
  const opened = openTerminal(session, title);
  const hwnd = await waitForTitle(desktop, titled(title), forever);
  return { ...opened, hwnd, close: () => desktop.request(hwnd, "close", forever) };
}

const rowOf = async (hwnd: number) => (await desktop.windows(forever))?.find((row) => row.hwnd === hwnd);

/** The size and the colours of the picture that a program takes. */
async function seenBy(program: "grim" | "svc", name: string) {
  const path = join(session.folder, `${name}-${program}.png`);
  if (program === "svc") await desktop.screenshot({}, path, forever);
  else await session.start(["grim", path]).exited;
  const { width, height, channels, data } = decode(readFileSync(path));
  return `${width}x${height} ${channels} ${Bun.hash(data)}`;
}

/** What a person tells sway. */
async function sway(...words: readonly string[]) {
  const runtime = session.env.XDG_RUNTIME_DIR ?? "";
  const [socket = ""] = readdirSync(runtime).filter((name) => name.startsWith("sway-ipc."));
  const command = ["swaymsg", "--socket", join(runtime, socket), words.join(" ")];
  expect(await session.start(command).exited).toBe(0);
}

testOnSway("the screen has the size of the output, and the pointer is found and moved", async () => {
  expect(await desktop.screenSize(forever)).toEqual(SIZE);
  expect(await desktop.monitors(forever)).toEqual([{ x1: 0, y1: 0, x2: 1280, y2: 800 }]);
  const { x, y } = await desktop.pointer(forever);
  expect(x >= 0 && x < SIZE.width && y >= 0 && y < SIZE.height).toBe(true);
  expect(await desktop.move({ x: 300, y: 200 }, forever)).toEqual({ x: 300, y: 200 });
  expect(await desktop.move({ x: 20 }, forever)).toEqual({ x: 20, y: 200 });
  await expect(desktop.move({ x: 1280, y: 0 }, forever)).rejects.toThrow(
    "x: expected 0 to 1279 but found 1280",
  );
});

testOnSway("another helper finds the pointer where this one has put it", async () => {
  await desktop.move({ x: 411, y: 322 }, forever);
  await using other = desktopOn(session.env);
  expect(await other.desktop.pointer(forever)).toEqual({ x: 411, y: 322 });
});

testOnSway("text of any script, and keys by name, reach a terminal", async () => {
  const one = await terminal("typing");
  await desktop.type("Grüße, 世界 🌍 ABC xyz ½€\n", forever);
  await desktop.strike(["shift", "b"], "tap", forever);
  await desktop.strike(["C"], "tap", forever);
  await desktop.strike(["backspace"], "tap", forever);
  await desktop.strike(["capslock"], "tap", forever);
  await desktop.strike(["d"], "tap", forever);
  await desktop.type("e", forever);
  await desktop.strike(["capslock"], "tap", forever);
  await desktop.strike(["f"], "tap", forever);
  await desktop.strike(["enter"], "tap", forever);
  expect(await one.typed(2)).toBe("Grüße, 世界 🌍 ABC xyz ½€\nBDef\n");
  await one.close();
});

testOnSway("the first key after a window has got the focus is not lost", async () => {
  for (let nth = 0; nth < 5; nth++) {
    const one = await terminal(`first ${nth}`);
    await using fresh = desktopOn(session.env);
    await fresh.desktop.focus(one.hwnd, forever);
    await fresh.desktop.type("hello\n", forever);
    expect(await one.typed(1)).toBe("hello\n");
    await one.close();
  }
});

testOnSway("the clipboard goes both ways between svc and other programs", async () => {
  await desktop.setClipboard("clip ö 世界", forever);
  expect(await desktop.clipboard(forever)).toBe("clip ö 世界");
  expect(await session.start(["wl-paste", "--no-newline"]).stdout.text()).toBe("clip ö 世界");
  const long = "ä".repeat(300_000);
  await desktop.setClipboard(long, forever);
  expect(await session.start(["wl-paste", "--no-newline"]).stdout.text()).toBe(long);
  session.start(["wl-copy", "--foreground", "of another"]);
  await until("the other program's text", async () => (await desktop.clipboard(forever)) === "of another");
  session.start(["wl-copy", "--foreground", "--type", "image/png", "x"]);
  await until("the picture", () =>
    desktop.clipboard(forever).then(
      () => false,
      ({ message }: Error) => message === "the clipboard holds no text",
    ),
  );
});

testOnSway("a window is listed, moved, resized, put aside, brought back and closed", async () => {
  const one = await terminal("a window");
  const { hwnd } = one;
  expect(await rowOf(hwnd)).toMatchObject({
    ...{ title: "a window", x: 0, y: 0, width: 1280, height: 800, desktop: 0 },
    ...{ process: "foot", state: "normal", focused: true },
  });
  const place = { x: 50, y: 60, width: 500, height: 300 };
  expect(await desktop.place(hwnd, place, forever)).toEqual(place);
  expect(await desktop.place(hwnd, { x: -20 }, forever)).toEqual({ ...place, x: -20 });
  await desktop.request(hwnd, "minimize", forever);
  expect(await rowOf(hwnd)).toMatchObject({ state: "minimized", desktop: null, focused: false });
  await desktop.focus(hwnd, forever);
  expect(await rowOf(hwnd)).toMatchObject({ state: "normal", focused: true });
  await expect(desktop.request(hwnd, "maximize", forever)).rejects.toThrow("sway has no maximised windows");
  await one.close();
  await until("the window to close", async () => (await rowOf(hwnd)) === undefined);
  await expect(desktop.focus(hwnd, forever)).rejects.toThrow(`there is no window ${hwnd}`);
});

testOnSway("a picture is that of grim, pixel by pixel, however the output is turned and scaled", async () => {
  const one = await terminal("picture");
  await desktop.type("abc ABC 123\n", forever);
  await one.typed(1);
  await sway("output HEADLESS-1 resolution 320x200");
  const ways = ["normal", "90", "180", "270", "flipped", "flipped-90", "flipped-180", "flipped-270"];
  for (const way of [...ways.map((way) => `transform ${way}`), "transform normal scale 2"]) {
    await sway("output HEADLESS-1", way);
    await until(`the picture of grim with ${way}`, async () => {
      return (await seenBy("svc", "turned")) === (await seenBy("grim", "turned"));
    });
  }
  expect(await desktop.screenSize(forever)).toEqual({ width: 160, height: 100 });
  await sway("output HEADLESS-1 scale 1 resolution 1280x800");
  await until("the old size", async () => (await desktop.screenSize(forever)).width === SIZE.width);
  await one.close();
});

testOnSway("an X server that is there too is not taken for the desktop", async () => {
  await using both = desktopOn({ ...session.env, DISPLAY: ":4242" });
  expect(await both.desktop.screenSize(forever)).toEqual(SIZE);
});

testWith(...PROGRAMS, "Xwayland")(
  "an X server that is Xwayland is named, where it is all that is known",
  async () => {
    const server = session.start(["Xwayland", "-ac", "-displayfd", "1"]);
    const { value } = await server.stdout.getReader().read();
    const { WAYLAND_DISPLAY: _, ...rest } = session.env;
    const display = `:${new TextDecoder().decode(value).trim()}`;
    await using other = desktopOn({ ...rest, DISPLAY: display });
    expect(await other.desktop.session(forever)).toEqual({
      ...{ system: "x11", name: display, way: "" },
      lacks: ["windows but those of X programs (it is Xwayland: set WAYLAND_DISPLAY)"],
    });
    expect(await desktop.session(forever)).toMatchObject({ way: "the protocols of wlroots", lacks: [] });
  },
);

testOnSway("when the compositor goes, calls say so", async () => {
  const short = await startSway();
  await using other = desktopOn(short.env);
  expect(await other.desktop.screenSize(forever)).toEqual(SIZE);
  await short[Symbol.asyncDispose]();
  await expect(other.desktop.screenSize(forever)).rejects.toMatchObject({ code: "no_screen" });
});
