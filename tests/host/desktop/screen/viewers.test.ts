/** Viewers of the live screen on a real X server: what they see, what they may do, and how they end. */
import { describe, expect, setDefaultTimeout } from "bun:test";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Desktop } from "../../../../src/host/desktop/desktop";
import type { ViewerStats } from "../../../../src/host/desktop/screen/calls";
import { focusByTitle, waitForTitle } from "../../../../src/host/desktop/windows";
import { connect } from "../../../../src/host/desktop/x11/connection";
import { testWith, until } from "../../../support";
import {
  childOf,
  desktopOn,
  forAllTests,
  forever,
  openListener,
  openTerminal,
  PROGRAMS,
  SIZE,
  startDisplay,
} from "../support";
import { showPicture } from "./picture";
import {
  CONTINUOUS,
  CURSOR,
  EXTENDED_SIZE,
  FENCE,
  NAME,
  pixelsOf,
  QUALITY_6,
  SIZE as SIZE_CHANGE,
  TIGHT,
  type Viewer,
  view,
  withPointer,
  ZRLE,
} from "./viewer";

setDefaultTimeout(180_000);
const test = testWith(...PROGRAMS);
const PATIENCE = { timeout: 10, poll: 0.02 };
const SHIFT = 0xffe1;

let display: Awaited<ReturnType<typeof startDisplay>>;
let desktop: Desktop;
forAllTests(PROGRAMS, (started) => {
  ({ display, desktop } = started);
});

let viewers = 0;
async function openViewer(on: Desktop, control = false) {
  viewers += 1;
  const id = `viewer ${viewers}`;
  const door = await on.openViewer({ id, control, name: id });
  return { id, door };
}

/** What is reported of viewers from now on. */
function listen(on: Desktop) {
  const said: string[] = [];
  const stats: ViewerStats[] = [];
  on.viewerListeners.add({
    viewer: (id, state, reason) => void said.push(`${id} ${state} ${reason}`.trim()),
    viewerStats: (list) => void stats.push(...list),
  });
  return { said, stats };
}

/** The screen as `AC_screenshot` has it: red, green and blue. */
async function screenOf(on: Desktop): Promise<Uint8Array> {
  const { base64 } = await on.screenshot({}, null, forever);
  return pixelsOf(base64 ?? "");
}

const pointedScreenOf = async (on: Desktop, env: NodeJS.ProcessEnv) => withPointer(await screenOf(on), env);

function type(viewer: Viewer, text: string): void {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const keysym = character === "\n" ? 0xff0d : code < 0x100 ? code : 0x0100_0000 + code;
    viewer.key(keysym, true);
    viewer.key(keysym, false);
  }
}

let terminals = 0;

/** A terminal that has the focus. Its title is its own: that of the test before may still be listed. */
async function focusedTerminal(on: Desktop, env: NodeJS.ProcessEnv) {
  const title = `terminal ${++terminals}`;
  const terminal = openTerminal(env, title);
  const query = { title_substring: title, case_sensitive: false, ...PATIENCE };
  await waitForTitle(on, query, forever);
  await focusByTitle(on, query, forever);
  return terminal;
}

describe("a viewer sees the screen and the pointer to the last pixel", () => {
  const forms: Array<[string, readonly number[]]> = [
    ["in Tight", [TIGHT, CURSOR]],
    ["in ZRLE", [ZRLE]],
    ["in Raw", [0]],
    ["in Tight, with updates that it does not ask for", [TIGHT, FENCE, CONTINUOUS]],
  ];
  test.each(forms)("%s", async (_name, encodings) => {
    const { door } = await openViewer(desktop);
    using viewer = await view(door);
    expect(viewer.size).toEqual(SIZE);
    viewer.encodings(...encodings);
    viewer.start();
    await viewer.shows(() => pointedScreenOf(desktop, display.env));
    await using _terminal = await focusedTerminal(desktop, display.env);
    await viewer.shows(() => pointedScreenOf(desktop, display.env));
    expect(viewer.isContinuous).toBe(encodings.includes(CONTINUOUS));
  });

  test("and as it was, once a picture has rested, where JPEGs are welcome", async () => {
    using _picture = await showPicture(display.env);
    const { door } = await openViewer(desktop);
    using viewer = await view(door);
    viewer.encodings(TIGHT, QUALITY_6, FENCE, CONTINUOUS);
    viewer.start();
    await viewer.shows(() => pointedScreenOf(desktop, display.env));
    expect(viewer.jpegs).toBeGreaterThan(0);
  });

  test.each(["RFB 003.003\n", "RFB 003.007\n"])("with a viewer of %j", async (version) => {
    const { door } = await openViewer(desktop);
    using viewer = await view(door, version);
    viewer.start();
    await viewer.shows(() => pointedScreenOf(desktop, display.env));
  });

  test("and in fewer colours, if it wants those", async () => {
    const { door } = await openViewer(desktop);
    using viewer = await view(door);
    viewer.format({ bits: 16, max: [31, 63, 31], shift: [11, 5, 0] });
    viewer.encodings(TIGHT, ZRLE, 0);
    viewer.start();
    const fewer = (value: number, most: number, shift: number) => Math.round(((value >> shift) * 255) / most);
    await viewer.shows(async () => {
      const pixels = await pointedScreenOf(desktop, display.env);
      return pixels.map((value, at) => (at % 3 === 1 ? fewer(value, 63, 2) : fewer(value, 31, 3)));
    });
  });
});

describe("the pointer of the host", () => {
  /** Where the pointer goes, at the edges, too. */
  const PLACES = [
    { x: 300, y: 200 },
    { x: 0, y: 0 },
    { x: SIZE.width - 1, y: SIZE.height - 1 },
    { x: 640, y: 401 },
  ];

  test.each([
    ["in Tight", [TIGHT, CURSOR]],
    ["in ZRLE", [ZRLE, CURSOR]],
    ["in Tight, with updates that it does not ask for", [TIGHT, CURSOR, FENCE, CONTINUOUS]],
  ])(
    "is in the picture of a viewer that only looks, wherever a run moves it: %s",
    async (_name, encodings) => {
      const { door } = await openViewer(desktop);
      using viewer = await view(door);
      viewer.encodings(...encodings);
      viewer.start();
      for (const place of PLACES) {
        await desktop.move(place, forever);
        const expected = () => pointedScreenOf(desktop, display.env);
        await viewer.shows(expected);
        expect(Buffer.compare(await expected(), await screenOf(desktop))).not.toBe(0);
      }
      expect(viewer.cursor).toBeUndefined();
    },
  );

  test("is in the picture of a viewer that controls and knows no shapes", async () => {
    const { door } = await openViewer(desktop, true);
    using viewer = await view(door);
    viewer.encodings(TIGHT);
    viewer.start();
    viewer.pointer(420, 310, 0);
    await until("the pointer to be there", async () => (await desktop.pointer(forever)).x === 420);
    await viewer.shows(() => pointedScreenOf(desktop, display.env));
  });

  test("changes its shape in the picture, too", async () => {
    const { door } = await openViewer(desktop);
    using viewer = await view(door);
    viewer.encodings(TIGHT);
    viewer.start();
    await desktop.move({ x: 1_000, y: 700 }, forever);
    for (const shape of ["watch", "left_ptr"]) {
      const changing = Bun.spawn(["xsetroot", "-cursor_name", shape], { env: display.env });
      await changing.exited;
      await viewer.shows(() => pointedScreenOf(desktop, display.env));
    }
  });

  test("is a shape for the viewer that controls, and in the picture again when its control ends", async () => {
    const { id, door } = await openViewer(desktop);
    using viewer = await view(door);
    viewer.encodings(TIGHT, CURSOR, FENCE, CONTINUOUS);
    viewer.start();
    for (const place of PLACES) {
      await desktop.move(place, forever);
      await viewer.shows(() => pointedScreenOf(desktop, display.env));
      await desktop.controlViewer(id, true);
      await viewer.shows(() => screenOf(desktop));
      await until("the shape", () => (viewer.cursor?.width ?? 0) > 0 || undefined);
      await desktop.move({ x: place.x >> 1, y: place.y >> 1 }, forever);
      await viewer.shows(() => screenOf(desktop));
      await desktop.controlViewer(id, false);
      await viewer.shows(() => pointedScreenOf(desktop, display.env));
      expect(viewer.cursor).toEqual({ width: 0, height: 0 });
    }
  });
});

describe("keys and pointer:", () => {
  test("what a viewer types arrives exactly, in any script", async () => {
    await using own = await startDisplay();
    await using made = desktopOn(own.env);
    await using terminal = await focusedTerminal(made.desktop, own.env);
    const { door } = await openViewer(made.desktop, true);
    using viewer = await view(door);
    const text = `Hello, noVNC (42)! a/b\\c "q" @#\näöüßÄÖÜ€ 漢字 かな 한국어 Ωж\n`;
    type(viewer, text);
    expect(await terminal.typed(2)).toBe(text);
  });

  test("Shift that does not fit the host's layout is corrected, and stays down for the viewer", async () => {
    await using terminal = await focusedTerminal(desktop, display.env);
    const { door } = await openViewer(desktop, true);
    using viewer = await view(door);
    // On a German keyboard, / is on 7 with Shift and # without; on this one it is the other way round.
    viewer.key(SHIFT, true);
    type(viewer, "/A;?");
    viewer.key(SHIFT, false);
    type(viewer, "#a:\n");
    expect(await terminal.typed(1)).toBe("/A;?#a:\n");
  });

  test("without control nothing that a viewer sends arrives", async () => {
    await using terminal = await focusedTerminal(desktop, display.env);
    const { id, door } = await openViewer(desktop);
    using viewer = await view(door);
    const before = await desktop.pointer(forever);
    type(viewer, "no\n");
    viewer.pointer(5, 6, 1);
    viewer.pointer(5, 6, 0);
    viewer.start();
    await viewer.shows(() => pointedScreenOf(desktop, display.env));
    expect(await desktop.pointer(forever)).toEqual(before);
    await desktop.controlViewer(id, true);
    type(viewer, "yes\n");
    expect(await terminal.typed(1)).toBe("yes\n");
  });

  test("the pointer goes where the viewer points, and its buttons and wheel count", async () => {
    await using listener = openListener(display.env, "listener");
    await waitForTitle(desktop, { title_substring: "listener", case_sensitive: false, ...PATIENCE }, forever);
    const window = (await desktop.windows(forever))?.find(({ title }) => title === "listener");
    const [x, y] = [(window?.x ?? 0) + 50, (window?.y ?? 0) + 100];
    const { door } = await openViewer(desktop, true);
    using viewer = await view(door);
    for (const buttons of [0, 1, 0, 4, 0, 8, 0]) viewer.pointer(x, y, buttons);
    expect(await listener.strokes(6)).toEqual([
      ...["+button 1", "-button 1", "+button 3", "-button 3", "+button 4", "-button 4"],
    ]);
    expect(await desktop.pointer(forever)).toEqual({ x, y });
  });

  test.each(["loses control", "goes away", "is closed"])(
    "all that a viewer holds is released when it %s",
    async (how) => {
      await using listener = openListener(display.env, "listener");
      const query = { title_substring: "listener", case_sensitive: false, ...PATIENCE };
      await waitForTitle(desktop, query, forever);
      await focusByTitle(desktop, query, forever);
      const window = (await desktop.windows(forever))?.find(({ title }) => title === "listener");
      const [x, y] = [(window?.x ?? 0) + 50, (window?.y ?? 0) + 100];
      const { id, door } = await openViewer(desktop, true);
      using viewer = await view(door);
      viewer.key(SHIFT, true);
      viewer.key("A".charCodeAt(0), true);
      viewer.pointer(x, y, 1);
      const pressed = ["+key Shift_L", "+key A", "+button 1"];
      expect(await listener.strokes(3)).toEqual(pressed);
      if (how === "loses control") await desktop.controlViewer(id, false);
      else if (how === "goes away") viewer.socket.destroy();
      else await desktop.closeViewer(id, "that is enough");
      expect(await listener.strokes(6)).toEqual([...pressed, "-key A", "-key Shift_L", "-button 1"]);
    },
  );
});

test("what a viewer held when the child was killed is released before anybody else has pointer and keyboard", async () => {
  await using made = desktopOn(display.env);
  const { said } = listen(made.desktop);
  const { need, screen, close } = await connect(display.env, () => {});
  await using _closing = { [Symbol.asyncDispose]: async () => close() };
  const down = async () => {
    const [keys, { keyMask }] = await Promise.all([need.QueryKeymap(), need.QueryPointer(screen.root)]);
    return { keys: keys.some((byte) => byte !== 0), button: (keyMask & 0x100) !== 0 };
  };
  const hold = await made.desktop.inputLock.take(forever);
  const { id, door } = await openViewer(made.desktop);
  using viewer = await view(door);
  await made.desktop.controlViewer(id, true);
  viewer.key(SHIFT, true);
  viewer.pointer(3, 790, 1);
  await until("both to be down", async () => Object.values(await down()).every(Boolean) || undefined);
  process.kill(childOf(made.desktop), "SIGKILL");
  await until("it to be noticed", () => said.some((one) => one.startsWith(`${id} closed`)) || undefined);
  expect(await down()).toEqual({ keys: true, button: true });
  await hold.end("broken");
  expect(await down()).toEqual({ keys: false, button: false });
});

describe("coming and going:", () => {
  test("each viewer is reported once when it comes and once when it goes, with the reason", async () => {
    await using made = desktopOn(display.env);
    const { said } = listen(made.desktop);
    const first = await openViewer(made.desktop);
    using viewer = await view(first.door);
    await made.desktop.closeViewer(first.id, "that is enough");
    await until("the stream to end", () => viewer.socket.closed || undefined);
    const second = await openViewer(made.desktop);
    await made.desktop.closeViewer(second.id, "nobody came");
    const third = await openViewer(made.desktop);
    using _other = await view(third.door);
    process.kill(childOf(made.desktop), "SIGKILL");
    await until("all to be reported", () => said.length >= 5 || undefined);
    expect(said).toEqual([
      `${first.id} open`,
      `${first.id} closed that is enough`,
      `${second.id} closed nobody came`,
      `${third.id} open`,
      `${third.id} closed the desktop helper ended`,
    ]);
  });

  test("viewers that are there when svc ends are reported, and no socket stays behind", async () => {
    const made = desktopOn(display.env);
    const { said } = listen(made.desktop);
    const { id, door } = await openViewer(made.desktop);
    using _viewer = await view(door);
    await until("it to be there", () => said.length > 0 || undefined);
    await made[Symbol.asyncDispose]();
    expect(said).toEqual([`${id} open`, `${id} closed svc ends`]);
    expect(existsSync(dirname(door.path))).toBe(false);
  });

  test("a child that is killed leaves no socket behind", async () => {
    await using made = desktopOn(display.env);
    const { said } = listen(made.desktop);
    const { door } = await openViewer(made.desktop);
    process.kill(childOf(made.desktop), "SIGKILL");
    await until("it to be noticed", () => said.length > 0 || undefined);
    expect(existsSync(dirname(door.path))).toBe(false);
  });

  test("a key is good once, and none opens another's stream", async () => {
    const { door } = await openViewer(desktop);
    await expect(view({ ...door, key: "0".repeat(64) })).rejects.toThrow("the stream ended");
    using _viewer = await view(door);
    await expect(view(door)).rejects.toThrow("the stream ended");
  });

  test("there is room for sixteen viewers beside sixteen that are ending", async () => {
    await using made = desktopOn(display.env);
    for (let nth = 0; nth < 32; nth++) await openViewer(made.desktop);
    await expect(openViewer(made.desktop)).rejects.toThrow("there are 32 viewers already");
  });

  test("without a display, opening a viewer says what is missing", async () => {
    const { DISPLAY: _none, WAYLAND_DISPLAY: _neither, ...bare } = process.env;
    await using made = desktopOn(bare);
    await expect(openViewer(made.desktop)).rejects.toThrow("no display: DISPLAY is not set");
  });

  test("the child stays while it has viewers, and leaves after them", async () => {
    await using made = desktopOn(display.env, { idleMs: 50 });
    const { door } = await openViewer(made.desktop);
    const viewer = await view(door);
    const child = childOf(made.desktop);
    await Bun.sleep(300);
    expect(made.desktop.childPid).toBe(child);
    viewer[Symbol.dispose]();
    await until("the child to leave", () => made.desktop.childPid === null || undefined);
  });

  test("viewers show the screen's name, and the new one when it changes", async () => {
    await using made = desktopOn(display.env);
    await made.desktop.nameScreen("host 17");
    const { door } = await openViewer(made.desktop);
    using viewer = await view(door);
    expect(viewer.name).toBe("host 17");
    viewer.encodings(TIGHT, NAME);
    viewer.start();
    await made.desktop.nameScreen("host 17: run 9f1c2e4a uses pointer and keyboard");
    await until("the new name", () => viewer.name.endsWith("keyboard") || undefined);
  });

  test("once a second there are figures of each viewer", async () => {
    await using made = desktopOn(display.env);
    const { stats } = listen(made.desktop);
    const { id, door } = await openViewer(made.desktop);
    using viewer = await view(door);
    viewer.encodings(TIGHT, FENCE, CONTINUOUS);
    viewer.start();
    const found = await until("figures", () => stats.find(({ rtt_ms }) => rtt_ms !== null));
    expect(found).toMatchObject({ id, ...SIZE, loss_pct: null });
    expect(found.bytes_sent).toBeGreaterThan(0);
  });
});

describe("a screen that changes its size:", () => {
  /** A display within the tests' own that can change its size. */
  async function startResizable() {
    const server = Bun.spawn(["Xephyr", "-displayfd", "1", "-screen", "800x600", "-nolisten", "tcp"], {
      env: display.env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const { value } = await server.stdout.getReader().read();
    const env = { ...process.env, DISPLAY: `:${new TextDecoder().decode(value).trim()}` };
    return {
      env,
      async resize(size: string) {
        const { exited } = Bun.spawn(["xrandr", "-s", size], { env, stdio: ["ignore", "ignore", "ignore"] });
        await exited;
      },
      async [Symbol.asyncDispose]() {
        server.kill("SIGKILL");
        await server.exited;
      },
    };
  }

  testWith(...PROGRAMS, "Xephyr", "xrandr").each([
    ["as rfbproto has it", [TIGHT, EXTENDED_SIZE, SIZE_CHANGE, FENCE, CONTINUOUS]],
    ["as RFC 6143 has it", [TIGHT, SIZE_CHANGE]],
  ])("viewers get the new one, %s", async (_name, encodings) => {
    await using own = await startResizable();
    await using made = desktopOn(own.env);
    const { door } = await openViewer(made.desktop);
    using viewer = await view(door);
    viewer.encodings(...encodings);
    viewer.start();
    await viewer.shows(() => pointedScreenOf(made.desktop, own.env));
    for (const [width, height] of [
      [640, 480],
      [1024, 768],
    ] as const) {
      await own.resize(`${width}x${height}`);
      await until("the new size", () => viewer.size.width === width || undefined);
      expect(viewer.size).toEqual({ width, height });
      await viewer.shows(() => pointedScreenOf(made.desktop, own.env));
    }
  });

  testWith(
    ...PROGRAMS,
    "Xephyr",
    "xrandr",
  )("a viewer that cannot change its own is ended, and says why", async () => {
    await using own = await startResizable();
    await using made = desktopOn(own.env);
    const { said } = listen(made.desktop);
    const { id, door } = await openViewer(made.desktop);
    using viewer = await view(door);
    viewer.start();
    await viewer.shows(() => pointedScreenOf(made.desktop, own.env));
    await own.resize("640x480");
    await until("the end", () => said.length > 1 || undefined);
    expect(said[1]).toBe(`${id} closed the screen has another size, and this viewer cannot change its own`);
  });
});

test("a display that goes away ends its viewers", async () => {
  const own = await startDisplay({ managed: false });
  await using made = desktopOn(own.env);
  const { said } = listen(made.desktop);
  const { id, door } = await openViewer(made.desktop);
  using _viewer = await view(door);
  await own[Symbol.asyncDispose]();
  await until("the end", () => said.length > 1 || undefined);
  expect(said[1]).toBe(`${id} closed the X server went away`);
});

test("a small picture of the screen is a JPEG of the width that was asked for", async () => {
  const jpeg = Buffer.from(await desktop.snapshot({ width: 320 }), "base64");
  expect(await new Bun.Image(jpeg).metadata()).toMatchObject({ width: 320, height: 200, format: "jpeg" });
});
