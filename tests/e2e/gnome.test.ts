/** The desktop of GNOME (mutter without a screen): pointer, keys, clipboard and pictures, asking nobody. */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Desktop } from "../../src/host/desktop/desktop";
import { openStage, PROGRAMS, startGnome } from "../host/desktop/gnome/support";
import { pixelsOf, TIGHT, view } from "../host/desktop/screen/viewer";
import { childOf, desktopOn, forever } from "../host/desktop/support";
import { asNobody, execute, openFocused, type Session, SIZE, svcIn } from "../host/desktop/wayland/support";
import { testWith, until } from "../support";

setDefaultTimeout(120_000);
const ALL = [...PROGRAMS, "foot", "wl-copy", "wl-paste", "python3"] as const;
const test = testWith(...ALL);
const stack = new AsyncDisposableStack();
let session: Session;
let desktop: Desktop;

beforeAll(async () => {
  if (ALL.some((name) => Bun.which(name) === null)) return;
  session = stack.use(await startGnome());
  desktop = stack.use(inGnome(session)).desktop;
});
afterAll(() => stack.disposeAsync());

/** A desktop as the user of a session has it: the bus lets nobody else in. */
const inGnome = (on: Session) => desktopOn(on.env, { command: [svcIn(on), "desktop-child"], as: asNobody });

/** Red, green and blue at a place of the screen. */
async function colourAt(on: Desktop, x: number, y: number): Promise<number[]> {
  const { base64 } = await on.screenshot({ region: { x1: x, y1: y, x2: x + 1, y2: y + 1 } }, null, forever);
  return [...pixelsOf(base64 ?? "")];
}

/** The stage, once it is in its place: Mutter moves it there after it has drawn itself. */
async function shownStage() {
  const stage = openStage(session);
  await stage.shown();
  await until("the stage over all of the screen", async () => {
    const [first, last] = [await colourAt(desktop, 0, 0), await colourAt(desktop, 1_279, 799)];
    return `${first} ${last}` === "255,0,0 0,0,255";
  });
  return stage;
}

test("the way is Mutter's remote desktop, and what it does not offer is named", async () => {
  expect(await desktop.session(forever)).toEqual({
    ...{ system: "wayland", name: "mutter", way: "Mutter's remote desktop" },
    lacks: ["windows (GNOME lists, focuses and places them for its own programs alone)"],
  });
  expect(await desktop.screenSize(forever)).toEqual(SIZE);
  expect(await desktop.monitors(forever)).toEqual([{ x1: 0, y1: 0, x2: 1280, y2: 800 }]);
  await expect(desktop.windows(forever)).rejects.toThrow("GNOME lists, focuses and places windows");
});

test("the pointer goes where it is told, presses, drags and turns the wheel", async () => {
  await using stage = await shownStage();
  expect(await desktop.click({ x: 300, y: 200 }, "left", "tap", forever)).toEqual({ x: 300, y: 200 });
  await desktop.click({ x: 1_000, y: 700 }, "right", "press", forever);
  await desktop.move({ x: 20 }, forever);
  await desktop.click({}, "right", "release", forever);
  await desktop.scroll({}, "down", 2, forever);
  await desktop.scroll({}, "up", 1, forever);
  expect(await stage.done(7)).toEqual([
    ...["press 1 300 200", "release 1 300 200", "press 3 1000 700", "release 3 20 700"],
    ...["scroll down", "scroll down", "scroll up"],
  ]);
  await expect(desktop.move({ x: 1_280, y: 0 }, forever)).rejects.toThrow("x: expected 0 to 1279");
});

test("pictures show what is on the screen, and what has changed since", async () => {
  await using _stage = await shownStage();
  expect(await colourAt(desktop, 10, 10)).toEqual([255, 0, 0]);
  expect(await colourAt(desktop, 1_270, 790)).toEqual([0, 0, 255]);
  await desktop.click({ x: 600, y: 400 }, "middle", "tap", forever);
  await until("the other colours", async () => `${await colourAt(desktop, 10, 10)}` === "0,0,255");
  expect(await colourAt(desktop, 1_270, 790)).toEqual([255, 0, 0]);
});

test("a viewer sees the screen to the last pixel, and a thumbnail is the screen, smaller", async () => {
  await using stage = await shownStage();
  const door = await desktop.openViewer({ id: "viewer", control: true, name: "viewer" });
  using viewer = await view(door);
  expect(viewer.size).toEqual(SIZE);
  viewer.encodings(TIGHT);
  viewer.start();
  const screen = async () => pixelsOf((await desktop.screenshot({}, null, forever)).base64 ?? "");
  await viewer.shows(screen);
  viewer.pointer(100, 200, 2);
  viewer.pointer(100, 200, 0);
  viewer.key(0x61, true);
  viewer.key(0x61, false);
  expect(await stage.done(3)).toEqual(["press 2 100 200", "release 2 100 200", "key a"]);
  await until("the other colours", () => `${viewer.colourAt(10, 10)}` === "0,0,255");
  await viewer.shows(screen);
  const jpeg = Buffer.from(await desktop.snapshot({ width: 320 }), "base64");
  const { width, height } = await new Bun.Image(jpeg).metadata();
  expect([width, height]).toEqual([320, 200]);
});

test("each row of the table of commands does on GNOME what the documentation says", async () => {
  await using _stage = await shownStage();
  const picture = join(session.folder, "part.png");
  const film = join(session.folder, "film.webm");
  const results = await execute(
    session,
    ["AC_screen_size"],
    ["AC_monitors"],
    ["AC_record_screen_start", { file_path: film }],
    ["AC_drag", { from: [100, 100], to: [150, 150] }],
    ["AC_get_mouse_position"],
    ["AC_hotkey", { key_code_list: ["shift", "c"] }],
    ["AC_write", { write_string: "x" }],
    ["AC_get_pixel", { x: 100, y: 700 }],
    ["AC_click_mouse", { mouse_keycode: "mouse_middle", x: 200, y: 300 }],
    ["AC_wait_pixel", { x: 100, y: 700, color: "#0000ff", timeout: 20 }],
    ["AC_wait_still", { still: 0.3, timeout: 20 }],
    ["AC_screenshot", { file_path: picture, screen_region: [600, 300, 700, 420] }],
    ["AC_locate_image_center", { image: picture, region: [500, 300, 800, 420] }],
    ["AC_record_screen_stop"],
    ["AC_set_clipboard", { text: "clip" }],
    ["AC_get_clipboard"],
    ["AC_list_windows"],
    ["AC_wait_window", { title_substring: "stage", timeout: 1 }],
  );
  expect(results).toEqual([
    [1280, 800],
    { monitors: [{ monitor: 0, x: 0, y: 0, width: 1280, height: 800 }] },
    expect.anything(),
    [150, 150],
    [150, 150],
    null,
    null,
    expect.objectContaining({ color: "#ff0000" }),
    [200, 300],
    expect.objectContaining({ color: "#0000ff" }),
    null,
    expect.objectContaining({ width: 100, height: 120 }),
    expect.objectContaining({ x: 600, score: 1 }),
    expect.anything(),
    null,
    "clip",
    expect.stringContaining("GNOME lists, focuses and places windows"),
    expect.stringContaining("GNOME lists, focuses and places windows"),
  ]);
  expect(readFileSync(film).length).toBeGreaterThan(500);
});

test("svc diagnose names the session, the way and what GNOME keeps to itself", async () => {
  const child = session.start([svcIn(session), "diagnose", "--only", "screenshot", "--json"]);
  expect(JSON.parse(await child.stdout.text())).toMatchObject({
    checks: [
      {
        ...{ name: "screenshot", ok: true },
        detail: expect.stringMatching(
          /^Wayland \(mutter\), by Mutter's remote desktop: 1280x800, \d+ kB[^;]*; no windows \(GNOME/,
        ),
      },
    ],
  });
});

test("another helper finds the pointer where this one has put it", async () => {
  await desktop.move({ x: 411, y: 322 }, forever);
  await using other = inGnome(session);
  await until("the place", async () => {
    const { x, y } = await other.desktop.pointer(forever);
    return x === 411 && y === 322;
  });
});

test("the first key of a new helper is not lost, and keys go by their names", async () => {
  for (let nth = 0; nth < 3; nth++) {
    await using stage = await shownStage();
    await using fresh = inGnome(session);
    await fresh.desktop.type("hi\t", forever);
    await fresh.desktop.strike(["shift", "b"], "tap", forever);
    await fresh.desktop.strike(["ctrl", "f5"], "tap", forever);
    await fresh.desktop.strike(["enter"], "tap", forever);
    expect(await stage.done(8)).toEqual(
      ["h", "i", "Tab", "Shift_L", "B", "Control_L", "F5", "Return"].map((key) => `key ${key}`),
    );
  }
});

test("text arrives in a terminal as it is", async () => {
  const terminal = await openFocused(session, "the terminal");
  const printable = Array.from({ length: 95 }, (_, nth) => String.fromCharCode(32 + nth)).join("");
  await desktop.type(`${printable}\n`.repeat(4), forever);
  expect(await terminal.typed(4)).toBe(`${printable}\n`.repeat(4));
  terminal.close();
});

test("characters that the keyboard layout lacks are refused, and not named", async () => {
  const typing = desktop.type("secret 世", forever);
  await expect(typing).rejects.toThrow("no key for 1 of these 8 characters: use the clipboard");
  await expect(desktop.type("世", forever)).rejects.not.toThrow("世");
  await expect(desktop.strike(["世"], "tap", forever)).rejects.toThrow('no key "世"');
});

test("the clipboard goes both ways between svc and other programs", async () => {
  const paste = () => session.start(["wl-paste", "--no-newline"]).stdout.text();
  await desktop.setClipboard("clip ö 世界", forever);
  expect(await desktop.clipboard(forever)).toBe("clip ö 世界");
  expect(await paste()).toBe("clip ö 世界");
  const long = "ä".repeat(300_000);
  await desktop.setClipboard(long, forever);
  expect(await paste()).toBe(long);
  session.start(["wl-copy", "--foreground", "of another"]);
  await until("the other program's text", async () => (await desktop.clipboard(forever)) === "of another");
  const open = () => readdirSync(`/proc/${childOf(desktop)}/fd`).length;
  const before = open();
  for (let nth = 0; nth < 10; nth++) await desktop.clipboard(forever);
  expect(open()).toBeLessThan(before + 5);
});

test("without PipeWire there are keys and the clipboard, and the rest says why not", async () => {
  await using bare = await startGnome({ pipewire: false });
  await using made = inGnome(bare);
  const { lacks } = await made.desktop.session(forever);
  expect(lacks[0]).toStartWith("pictures (");
  await made.desktop.setClipboard("text", forever);
  expect(await made.desktop.clipboard(forever)).toBe("text");
  await made.desktop.strike(["a"], "tap", forever);
  await expect(made.desktop.move({ x: 1, y: 1 }, forever)).rejects.toThrow("the pointer cannot be moved");
  await expect(made.desktop.screenshot({}, null, forever)).rejects.toThrow("GNOME gives no pictures");
});

test("where PipeWire ends while somebody watches, the helper lives on and says why there are no pictures, until it is there again", async () => {
  await using own = await startGnome();
  await using made = inGnome(own);
  using viewer = await view(await made.desktop.openViewer({ id: "viewer", control: false, name: "viewer" }));
  viewer.encodings(TIGHT);
  viewer.start();
  await made.desktop.screenshot({}, null, forever);
  const helper = childOf(made.desktop);
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const about = (file: string) => readFileSync(`/proc/${pid}/${file}`, "latin1");
    try {
      if (about("comm") === "pipewire\n" && about("environ").includes(own.folder))
        process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended.
    }
  }
  await until("no pictures", () =>
    made.desktop.screenshot({}, null, forever).then(
      () => false,
      () => true,
    ),
  );
  await made.desktop.session(forever);
  for (const name of ["pipewire-0", "pipewire-0.lock"])
    rmSync(join(own.folder, "run", name), { force: true });
  for (const name of ["pipewire", "wireplumber"]) own.start([name]);
  await until("pictures again", () =>
    made.desktop.screenshot({}, null, forever).then(
      () => true,
      () => false,
    ),
  );
  expect(childOf(made.desktop)).toBe(helper);
});

test("several monitors are one desktop", async () => {
  await using two = await startGnome({ monitors: ["800x600", "640x480"] });
  await using made = inGnome(two);
  const monitors = await made.desktop.monitors(forever);
  expect(monitors).toHaveLength(2);
  const { width } = await made.desktop.screenSize(forever);
  expect(width).toBe(1_440);
  const second = monitors.findIndex(({ x1 }) => x1 > 0);
  const { width: its } = await made.desktop.screenshot({ monitor: second }, null, forever);
  const region = monitors[second];
  expect(its).toBe((region?.x2 ?? 0) - (region?.x1 ?? 0));
  const at = { x: (region?.x1 ?? 0) + 100, y: 90 };
  expect(await made.desktop.move(at, forever)).toEqual(at);
  await until("the pointer there", async () => {
    const { x, y } = await made.desktop.pointer(forever);
    return x === at.x && y === at.y;
  });
});
