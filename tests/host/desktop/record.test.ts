/** Recording a script: what a person did as actions, and the pictures by which clicks find their places again. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Picture } from "../../../src/host/desktop/backend";
import { decodePng } from "../../../src/host/desktop/images/decode";
import { isStill, pictureOfChange } from "../../../src/host/desktop/record/changes";
import { cut, Scenes, templateAt } from "../../../src/host/desktop/record/scenes";
import { actionsOf, type Deed, needsOf } from "../../../src/host/desktop/record/script";
import { SOURCE, temporaryFolder, testWith, until } from "../../support";
import { openTerminal, startDisplay } from "./support";

setDefaultTimeout(60_000);

const window = { hwnd: 7, title: "Order" };
const key = (name: string, ...chord: string[]): Deed => ({
  kind: "key",
  key: name,
  with: chord,
  window,
  at: 0,
});
const click = (at: number, x = 10, image: string | null = "a/1.png"): Deed => ({
  ...{ kind: "click", button: "left", window, at },
  place: { x, y: 20, image, offset: { x: 0, y: 3 } },
});
const SEEN: ReturnType<typeof actionsOf> = [
  ["AC_wait_window", { title_substring: "Order", timeout: 10 }],
  ["AC_focus_window", { title_substring: "Order" }],
];
/** The actions after those that wait for the window. */
const inWindow = (...deeds: Deed[]): unknown[] => actionsOf(deeds).slice(SEEN.length);

describe("what was done becomes", () => {
  test("text in one action, with what was taken back left out", () => {
    expect(inWindow(...[..."Hallo wx"].map((one) => key(one)), key("backspace"), key("ö"))).toEqual([
      ["AC_write", { write_string: "Hallo wö" }],
    ]);
  });

  test("keys with a name and chords as such", () => {
    expect(inWindow(key("a"), key("tab"), key("s", "ctrl"), key("left", "shift"), key("backspace"))).toEqual([
      ["AC_write", { write_string: "a" }],
      ["AC_type_keyboard", { keycode: "tab" }],
      ["AC_hotkey", { key_code_list: ["ctrl", "s"] }],
      ["AC_hotkey", { key_code_list: ["shift", "left"] }],
      ["AC_type_keyboard", { keycode: "backspace" }],
    ]);
  });

  test("a click on the picture of its place, or on its place where that has no picture", () => {
    expect(inWindow(click(0), click(5_000, 900, null))).toEqual([
      ["AC_locate_and_click", { image: "a/1.png", timeout: 10, offset_y: 3 }],
      ["AC_click_mouse", { x: 900, y: 20 }],
    ]);
  });

  test("a click by its name where it has one, and by a picture before a locator without one", () => {
    const at = (line: string, isNamed: boolean, image: string | null): Deed => ({
      ...{ kind: "click", button: "left", window, at: 0 },
      place: { x: 1, y: 2, image, element: { line, isNamed } },
    });
    const named = inWindow(at('button "Save"', true, null))[0];
    expect(named).toEqual(["AC_click_element", { element: 'button "Save"', timeout: 10 }]);
    expect(inWindow(at("row nth 2", false, "a/1.png"))[0]).toEqual([
      ...["AC_locate_and_click", { image: "a/1.png", timeout: 10 }],
    ]);
    expect(inWindow(at("row nth 2", false, null))[0]).toEqual([
      ...["AC_click_element", { element: "row nth 2", timeout: 10 }],
    ]);
  });

  test("a variable for what is typed into a secret field, whatever moves in it, and no picture of it", () => {
    const secret = (name: string, ...chord: string[]): Deed =>
      ({ ...key(name, ...chord), secret: true }) as Deed;
    const seeing = (deed: Deed): Deed => ({ ...deed, sight: { image: "a/7.png", isStill: false } });
    const typed = [..."hunter"].map((one) => secret(one));
    const moved = [seeing(secret("left")), secret("X"), secret("v", "ctrl"), seeing(secret("tab")), key("b")];
    const actions = inWindow(...typed, ...moved);
    expect(actions).toEqual([
      ["AC_write", { write_string: "${password}" }],
      ["AC_type_keyboard", { keycode: "tab" }],
      ["AC_write", { write_string: "b" }],
    ]);
    expect(needsOf(actions as ReturnType<typeof actionsOf>)).toEqual(["password"]);
    expect(needsOf([])).toEqual([]);
  });

  test("as it was typed where the focus moved on to a secret field before it was asked for", () => {
    const last = { ...key("x"), secret: true } as Deed;
    expect(inWindow(...[..."Ma"].map((one) => key(one)), last, key("tab"))).toEqual([
      ["AC_write", { write_string: "Max" }],
      ["AC_type_keyboard", { keycode: "tab" }],
    ]);
  });

  test("one action for clicks that follow each other at once", () => {
    expect(inWindow(click(0), click(200), click(400), click(5_000))).toEqual([
      ["AC_locate_and_click", { image: "a/1.png", timeout: 10, clicks: 3, offset_y: 3 }],
      ["AC_locate_and_click", { image: "a/1.png", timeout: 10, offset_y: 3 }],
    ]);
    expect(inWindow(click(0, 5, null), click(100, 5, null))).toEqual([
      ["AC_loop", { times: 2, body: [["AC_click_mouse", { x: 5, y: 20 }]] }],
    ]);
  });

  test("a wait for each window that comes, and none for one without a title", () => {
    const other = { ...key("b"), window: { hwnd: 8, title: "Saved" } };
    const untitled = { ...key("c"), window: { hwnd: 9, title: "" } };
    expect(actionsOf([key("a"), other, untitled])).toEqual([
      ...SEEN,
      ["AC_write", { write_string: "a" }],
      ["AC_wait_window", { title_substring: "Saved", timeout: 10 }],
      ["AC_focus_window", { title_substring: "Saved" }],
      ["AC_write", { write_string: "b" }],
      ["AC_write", { write_string: "c" }],
    ]);
  });

  test("a drag as one, and the notches of the wheel together", () => {
    const [from, to] = [1, 300].map((x) => ({ x, y: 2, image: null }));
    if (!from || !to) throw new Error("two places");
    const turn: Deed = { kind: "scroll", direction: "down", place: from, window, at: 0 };
    expect(inWindow({ kind: "drag", button: "left", from, to, window, at: 0 }, turn, turn)).toEqual([
      ["AC_drag", { from: [1, 2], to: [300, 2] }],
      ["AC_mouse_scroll", { scroll_value: 2, scroll_direction: "scroll_down", x: 1, y: 2 }],
    ]);
  });
});

describe("before the next thing, a replay waits", () => {
  const seeing = (deed: Deed, image: string | null, isStill = true): Deed => ({
    ...deed,
    sight: { image, isStill },
  });
  const STILL = ["AC_wait_still", { still: 0.3, timeout: 10 }];

  test("for what the thing before has changed, and until nothing changes any more", () => {
    const deeds = [
      seeing(click(0), null),
      seeing(key("a"), "a/2.png"),
      key("b"),
      seeing(key("tab"), "a/3.png"),
    ];
    expect(inWindow(...deeds)).toEqual([
      STILL,
      ["AC_locate_and_click", { image: "a/1.png", timeout: 10, offset_y: 3 }],
      ["AC_wait_image", { image: "a/2.png", timeout: 10 }],
      STILL,
      ["AC_write", { write_string: "ab" }],
      ["AC_wait_image", { image: "a/3.png", timeout: 10 }],
      STILL,
      ["AC_type_keyboard", { keycode: "tab" }],
    ]);
  });

  test("for the window alone where another came, and not for a still screen where there was none", () => {
    const other = { ...key("b"), window: { hwnd: 8, title: "Saved" } };
    expect(actionsOf([seeing(key("a"), null, false), seeing(other, "a/2.png", false)])).toEqual([
      ...SEEN,
      ["AC_write", { write_string: "a" }],
      ["AC_wait_window", { title_substring: "Saved", timeout: 10 }],
      ["AC_focus_window", { title_substring: "Saved" }],
      ["AC_write", { write_string: "b" }],
    ]);
  });

  test("between two clicks, and not within a double click", () => {
    const twice = [seeing(click(0), null), seeing(click(200), "a/2.png")];
    expect(inWindow(...twice)).toEqual([
      STILL,
      ["AC_locate_and_click", { image: "a/1.png", timeout: 10, clicks: 2, offset_y: 3 }],
    ]);
  });

  test("at the end for what came of it", () => {
    const endings = [
      { image: "a/9.png" },
      { image: null, gone: window },
      { image: null, came: { hwnd: 8, title: "Saved" } },
    ];
    expect(endings.map((ending) => actionsOf([key("a")], ending).at(-1))).toEqual([
      ["AC_wait_image", { image: "a/9.png", timeout: 10 }],
      ["AC_wait_window_gone", { title_substring: "Order", timeout: 10 }],
      ["AC_wait_window", { title_substring: "Saved", timeout: 10 }],
    ]);
  });
});

/** A grey screen with a mark of random dots at each of `places`, all alike. */
function screenWith(places: ReadonlyArray<readonly [x: number, y: number]>, grey = 200): Picture {
  const [width, height] = [600, 400];
  const pixels = new Uint8Array(width * height * 4).fill(grey);
  let seed = 7;
  const dots = Array.from({ length: 400 }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % 256;
  });
  for (const [x, y] of places) {
    dots.forEach((dot, at) => {
      const start = ((y - 10 + Math.floor(at / 20)) * width + x - 10 + (at % 20)) * 4;
      pixels.fill(dot, start, start + 3);
    });
  }
  return { width, height, pixels, redAt: 2 };
}
const whole = { x1: 0, y1: 0, x2: 600, y2: 400 };
const away = { x: 590, y: 390 };
const scene = (picture: Picture, pointer = away) => ({ picture, pointer, at: 0 });

describe("the picture of a place", () => {
  test("is that around the point, and says where the point is in it", () => {
    const found = templateAt({ x: 100, y: 100 }, [scene(screenWith([[100, 100]]))], whole);
    expect(found?.offset).toEqual({ x: 0, y: 0 });
    const atEdge = templateAt({ x: 15, y: 100 }, [scene(screenWith([[15, 100]]))], whole);
    expect(atEdge?.offset).toEqual({ x: -12, y: 0 });
  });

  test("goes no further than the window", () => {
    const window = { x1: 90, y1: 90, x2: 400, y2: 300 };
    const found = templateAt({ x: 100, y: 100 }, [scene(screenWith([[100, 100]]))], window);
    expect(found?.offset).toEqual({ x: -15, y: -5 });
  });

  test("is as large as it must be to be the only one", () => {
    const alike: Array<[number, number]> = [
      [100, 100],
      [300, 100],
    ];
    const one = templateAt({ x: 100, y: 100 }, [scene(screenWith([[100, 100]]))], whole);
    const two = templateAt({ x: 100, y: 100 }, [scene(screenWith([...alike, [100, 145]]))], whole);
    expect(two?.png.length).toBeGreaterThan(one?.png.length ?? Number.POSITIVE_INFINITY);
    expect(templateAt({ x: 100, y: 100 }, [scene(screenWith(alike))], whole)).toBeUndefined();
  });

  test("is missing on a plain area", () => {
    expect(templateAt({ x: 400, y: 300 }, [scene(screenWith([[100, 100]]))], whole)).toBeUndefined();
    expect(templateAt({ x: 400, y: 300 }, [], whole)).toBeUndefined();
  });

  test("is from before the pointer came, unless something else was there then", () => {
    const point = { x: 100, y: 100 };
    const [hovered, before] = [screenWith([[100, 100]], 180), screenWith([[100, 100]], 200)];
    const elsewhere = screenWith([[300, 300]]);
    const of = (picture: Picture) => templateAt(point, [scene(picture)], whole)?.png;
    expect(templateAt(point, [scene(hovered, point), scene(before)], whole)?.png).toEqual(of(before));
    expect(templateAt(point, [scene(hovered, point), scene(elsewhere)], whole)?.png).toEqual(of(hovered));
  });

  test("is taken from looks before the click, of which few are kept", () => {
    const scenes = new Scenes();
    const point = { x: 100, y: 100 };
    for (let at = 0; at < 10; at++) scenes.add({ ...scene(screenWith([]), at > 5 ? point : away), at });
    expect(scenes.before(8, point).map(({ at }) => at)).toEqual([8, 5]);
    expect(scenes.before(5, point).map(({ at }) => at)).toEqual([5]);
    expect(scenes.before(3, point)).toEqual([]);
  });

  test("is not from a look at what fades in, if there is another", () => {
    const point = { x: 100, y: 100 };
    const scenes = new Scenes();
    [150, 150, 180, 200].forEach((grey, at) => {
      scenes.add({ ...scene(screenWith([[100, 100]], grey), at === 3 ? point : away), at });
    });
    expect(scenes.before(4, point).map(({ at }) => at)).toEqual([3, 1]);
    expect(scenes.isStill).toBe(false);
    scenes.add({ ...scene(screenWith([[100, 100]])), at: 5 });
    expect(scenes.isStill).toBe(true);
    expect(scenes.before(6, point).map(({ at }) => at)).toEqual([5]);
  });
});

describe("the picture of a change", () => {
  const window = { x1: 50, y1: 50, x2: 400, y2: 300 };
  const [empty, typed] = [scene(screenWith([])), scene(screenWith([[200, 100]]))];
  const looks = { before: empty, after: typed, next: typed, inside: window };
  const sizeOf = (png: Uint8Array | undefined) => png && decodePng(Buffer.from(png), 1e6, "png");

  test("has what is around it, but nothing beyond the window or behind what was typed", () => {
    // The mark is 20 x 20.
    expect(sizeOf(pictureOfChange(looks, false))).toMatchObject({ width: 100, height: 40 });
    expect(sizeOf(pictureOfChange(looks, true))).toMatchObject({ width: 57, height: 40 });
    const tight = { ...looks, inside: { x1: 185, y1: 80, x2: 400, y2: 300 } };
    expect(sizeOf(pictureOfChange(tight, false))).toMatchObject({ width: 65, height: 40 });
  });

  test("is missing where nothing changed, or it goes on changing, or nothing new is there", () => {
    const moving = { ...looks, next: scene(screenWith([[203, 102]])) };
    expect(pictureOfChange(moving, false)).toBeUndefined();
    expect(pictureOfChange({ ...looks, after: empty, next: empty }, false)).toBeUndefined();
    expect(pictureOfChange({ ...looks, before: typed, after: empty, next: empty }, false)).toBeUndefined();
    expect(isStill(typed, moving.next)).toBe(false);
    expect(isStill(typed, typed)).toBe(true);
  });
});

test("a part of a picture has its pixels", () => {
  const picture = screenWith([[100, 100]]);
  const part = cut(picture, { x1: 90, y1: 95, x2: 110, y2: 105 });
  const start = (95 * 600 + 90) * 4;
  expect(part.pixels.subarray(0, 80)).toEqual(picture.pixels.subarray(start, start + 80));
});

/** `svc record` on a display, until it says that it listens. */
async function recording(env: NodeJS.ProcessEnv, folder: string, ...flags: string[]) {
  const script = join(folder, "made.json");
  const command = [...SOURCE, "record", script, "--config-dir", join(folder, "config"), ...flags];
  const child = Bun.spawn(command, { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const reading = (async () => {
    for await (const piece of child.stderr) said += new TextDecoder().decode(piece);
  })();
  await until("it to listen", () => said.includes("recording;"));
  return {
    child,
    script,
    async ended() {
      await Promise.all([child.exited, reading]);
      const made = JSON.parse(readFileSync(script, "utf8")) as { stop_on_error: boolean; actions: unknown[] };
      expect(made.stop_on_error).toBe(true);
      const waits = made.actions.filter((action) => JSON.stringify(action).startsWith('["AC_wait_')).slice(1);
      return { said, waits, actions: made.actions.filter((action) => !waits.includes(action)) };
    },
  };
}
const xdotool = (env: NodeJS.ProcessEnv, ...words: string[]) =>
  Bun.spawn(["xdotool", ...words], { env }).exited;

const testOnDisplay = testWith("Xvfb", "openbox", "xterm", "xdotool", "setxkbmap");

testOnDisplay(
  "what is typed and clicked is recorded until Escape, the third level of a layout too",
  async () => {
    await using display = await startDisplay();
    await using terminal = openTerminal(display.env, "the form");
    using folder = temporaryFolder();
    const { env } = display;
    await Bun.spawn(["setxkbmap", "de"], { env }).exited;
    await until("the window", async () => (await xdotool(env, "search", "--name", "the form")) === 0);
    const made = await recording(env, folder.path);
    await xdotool(env, "sleep", "1", "mousemove", "60", "70", "click", "1", "sleep", "0.5");
    await xdotool(env, "type", "--delay", "40", "Grüße A1! €@Ä");
    await xdotool(env, "key", "Return", "ctrl+shift+t", "alt+F5");
    await terminal.typed(1);
    await xdotool(env, "key", "Escape");
    const { actions } = await made.ended();
    expect(actions).toEqual([
      ["AC_wait_window", { title_substring: "the form", timeout: 10 }],
      ["AC_focus_window", { title_substring: "the form" }],
      ["AC_locate_and_click", expect.objectContaining({ image: "made.images/1.png", timeout: 10 })],
      ["AC_write", { write_string: "Grüße A1! €@Ä" }],
      ["AC_type_keyboard", { keycode: "enter" }],
      ["AC_hotkey", { key_code_list: ["ctrl", "shift", "t"] }],
      ["AC_hotkey", { key_code_list: ["alt", "f5"] }],
    ]);
    expect(readdirSync(join(folder.path, "made.images"))).toContain("1.png");
    expect(statSync(made.script).mode & 0o777).toBe(0o600);
  },
);

testOnDisplay("Ctrl-C ends a recording, and what was done is written", async () => {
  await using display = await startDisplay();
  await using _terminal = openTerminal(display.env, "the form");
  using folder = temporaryFolder();
  const made = await recording(display.env, folder.path);
  await xdotool(display.env, "type", "abc");
  await xdotool(display.env, "sleep", "0.5");
  made.child.kill("SIGINT");
  expect((await made.ended()).actions.at(-1)).toEqual(["AC_write", { write_string: "abc" }]);
});

testOnDisplay("what was done before Ctrl-C is written, although it was not read yet", async () => {
  await using display = await startDisplay();
  const { env } = display;
  await using terminal = openTerminal(env, "the form");
  await using _other = openTerminal(env, "other", "20x5+800+50");
  using folder = temporaryFolder();
  for (const title of ["the form", "other"]) {
    const find = ["search", "--onlyvisible", "--name", title];
    await until(`the window ${title}`, async () => (await xdotool(env, ...find)) === 0);
  }
  await xdotool(env, "search", "--name", "other", "windowactivate", "--sync");
  const made = await recording(env, folder.path);
  made.child.kill("SIGSTOP");
  // The window manager gives the window the focus meanwhile.
  await xdotool(env, "mousemove", "60", "90", "click", "1");
  await xdotool(env, "search", "--name", "the form", "windowactivate", "--sync");
  await xdotool(env, "type", "abc");
  await xdotool(env, "key", "Return");
  await terminal.typed(1);
  made.child.kill("SIGINT");
  made.child.kill("SIGCONT");
  const { said, actions } = await made.ended();
  expect(actions.slice(-2)).toEqual([
    ["AC_write", { write_string: "abc" }],
    ["AC_type_keyboard", { keycode: "enter" }],
  ]);
  expect(said).toContain('the window "the form" did not have the focus');
});

testOnDisplay(
  "what could not be written is refused before the recording, and a recording of nothing writes none",
  async () => {
    await using display = await startDisplay();
    using folder = temporaryFolder();
    const script = join(folder.path, "made.json");
    const run = async (file = script) => {
      const command = [...SOURCE, "record", file, "--duration", "1s", "--config-dir", folder.path];
      const child = Bun.spawn(command, { env: display.env, stdio: ["ignore", "ignore", "pipe"] });
      return [await child.stderr.text(), await child.exited] as const;
    };
    const [said, code] = await run();
    expect([said, code]).toEqual([expect.stringContaining("nothing was done"), expect.any(Number)]);
    await Bun.write(script, "[]");
    expect((await run())[0]).toContain("is there already (--replace)");
    for (const folderOf of [join(folder.path, "none"), script]) {
      const [why] = await run(join(folderOf, "made.json"));
      expect(why).toMatch(/script: its folder (cannot be written to \(ENOENT\)|is none)/);
    }
    expect(readFileSync(script, "utf8")).toBe("[]");
  },
);
