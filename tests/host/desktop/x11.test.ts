/** The desktop of a real X server, with a window manager and a real window. */

import { describe, expect, setDefaultTimeout } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { decode } from "fast-png";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import type { Desktop } from "../../../src/host/desktop/desktop";
import { isTypable, KEY_NAMES } from "../../../src/host/desktop/keys";
import { clickMouse } from "../../../src/host/desktop/operations/pointer";
import { listMonitors } from "../../../src/host/desktop/operations/screenshot";
import { focusByTitle, waitForTitle } from "../../../src/host/desktop/windows";
import { Requester } from "../../../src/lib/slots";
import { temporaryFolder, testService, testWith, until } from "../../support";
import {
  askManager,
  childOf,
  desktopOn,
  forAllTests,
  forever,
  openListener,
  openTerminal,
  PROGRAMS,
  SIZE,
  startDisplay,
  untilWindowSays,
} from "./support";

setDefaultTimeout(180_000);
const test = testWith(...PROGRAMS);
/** IconicState (ICCCM 4.1.3.1). */
const ICONIC = 3;
/** The source of a request (EWMH). */
const FROM_PAGER = 2;
const PATIENCE = { timeout: 10, poll: 0.02 };
const query = (title_substring: string, case_sensitive = false, patience = PATIENCE) => ({
  title_substring,
  case_sensitive,
  ...patience,
});

let display: Awaited<ReturnType<typeof startDisplay>>;
let desktop: Desktop;
forAllTests(PROGRAMS, (started) => {
  ({ display, desktop } = started);
});

/**
 * A terminal that has the focus, on a display of its own: characters that are not on the layout change it, and each change
 * costs a window manager so much that on a busy machine the next test's window would wait for it for seconds.
 */
async function focusedTerminal() {
  await using stack = new AsyncDisposableStack();
  const { env } = stack.use(await startDisplay());
  const { desktop } = stack.use(desktopOn(env));
  const { typed } = stack.use(openTerminal(env, "terminal"));
  await waitForTitle(desktop, query("terminal"), forever);
  await focusByTitle(desktop, query("terminal"), forever);
  const own = stack.move();
  return { env, desktop, typed, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

describe("pointer:", () => {
  test("it goes where it is sent, and stays in the coordinate that is left out", async () => {
    expect(await desktop.move({ x: 300, y: 200 }, forever)).toEqual({ x: 300, y: 200 });
    expect(await desktop.pointer(forever)).toEqual({ x: 300, y: 200 });
    expect(await desktop.move({ y: 250 }, forever)).toEqual({ x: 300, y: 250 });
    expect(await desktop.click({ x: 0, y: 799 }, "right", "release", forever)).toEqual({ x: 0, y: 799 });
  });

  test("a place outside the screen is refused and the pointer stays", async () => {
    await desktop.move({ x: 5, y: 6 }, forever);
    await expect(desktop.move({ x: 1280, y: 0 }, forever)).rejects.toThrow(
      "x: expected 0 to 1279 but found 1280",
    );
    await expect(desktop.click({ y: -1 }, "left", "tap", forever)).rejects.toThrow("y: expected 0 to 799");
    expect(await desktop.pointer(forever)).toEqual({ x: 5, y: 6 });
  });
});

/** A window that reports its input, focused, the pointer over it. */
async function focusedListener(
  title: string,
  on: { env: NodeJS.ProcessEnv; desktop: Desktop } = { env: display.env, desktop },
) {
  const listener = openListener(on.env, title);
  await waitForTitle(on.desktop, query(title), forever);
  await focusByTitle(on.desktop, query(title), forever);
  await on.desktop.move({ x: 700, y: 420 }, forever);
  return listener;
}

describe("buttons and wheel:", () => {
  test("each button is pressed and released under the pointer", async () => {
    await using listener = await focusedListener("buttons");
    for (const button of ["left", "middle", "right"] as const)
      await desktop.click({}, button, "tap", forever);
    expect(await listener.strokes(6)).toEqual(
      [1, 2, 3].flatMap((button) => [`+button ${button}`, `-button ${button}`]),
    );
  });

  test("a press holds the button down until it is released", async () => {
    await using listener = await focusedListener("drag");
    await desktop.click({}, "left", "press", forever);
    await desktop.click({ x: 710 }, "left", "release", forever);
    expect(await listener.strokes(2)).toEqual(["+button 1", "-button 1"]);
  });

  test("the wheel turns a notch at a time, backwards for a negative number", async () => {
    await using listener = await focusedListener("wheel");
    await desktop.scroll({}, "down", 2, forever);
    await desktop.scroll({}, "up", -1, forever);
    await desktop.scroll({}, "left", 1, forever);
    const down = ["+button 5", "-button 5"];
    expect(await listener.strokes(8)).toEqual([...down, ...down, ...down, "+button 6", "-button 6"]);
  });
});

describe("keys:", () => {
  test("a hotkey goes down in order and up in reverse", async () => {
    await using listener = await focusedListener("hotkey");
    await desktop.strike(["ctrl", "shift", "s"], "tap", forever);
    expect(await listener.strokes(6)).toEqual([
      "+key Control_L",
      "+key Shift_L",
      "+key S",
      "-key S",
      "-key Shift_L",
      "-key Control_L",
    ]);
  });

  testWith(...PROGRAMS, "xdotool")("those that are down are counted, whoever pressed them", async () => {
    const xdotool = (...words: string[]) => Bun.spawn(["xdotool", ...words], { env: display.env }).exited;
    expect(await desktop.keysDown(forever)).toBe(0);
    await xdotool("keydown", "F7");
    await desktop.strike(["shift"], "press", forever);
    expect(await desktop.keysDown(forever)).toBe(2);
    await desktop.strike(["shift"], "release", forever);
    await xdotool("keyup", "F7");
    expect(await desktop.keysDown(forever)).toBe(0);
  });

  test("every key that has a name is typed", async () => {
    // A window manager keeps some of them for itself.
    await using bare = await startDisplay({ managed: false });
    await using made = desktopOn(bare.env);
    await using listener = await focusedListener("names", { env: bare.env, desktop: made.desktop });
    const names = KEY_NAMES.filter((name) => name !== "capslock" && name !== "numlock");
    for (const name of names) await made.desktop.strike([name], "tap", forever);
    const strokes = await listener.strokes(names.length * 2);
    const pressed = strokes.filter((stroke) => stroke.startsWith("+")).map((stroke) => stroke.slice(5));
    expect(pressed).toEqual(names.map((name) => XNAMES[name] ?? expectedName(name)));
  });

  test("a click may be a double click, at one place", async () => {
    await using listener = await focusedListener("double");
    const service = { audit: async () => null, desktop: async () => desktop };
    const caller = localCaller(service, "cli");
    const answer = await callOperation(service, clickMouse, { x: 650, y: 350, clicks: 2 }, caller);
    expect(await listener.strokes(4)).toEqual(["+button 1", "-button 1", "+button 1", "-button 1"]);
    expect(answer).toEqual([650, 350]);
  });

  test("keys of a run wait as long after a click as its pace says, and without one they do not wait", async () => {
    await using made = testService();
    const executor = await made.service.executor();
    Reflect.set(Reflect.get(executor, "parts"), "service", { ...made.service, desktop: async () => desktop });
    const run = async (pace: number, ...list: unknown[]) =>
      executor.run(await executor.prepare(list), localCaller(made.service, "api"), { pace });
    const click = ["AC_click_mouse", { x: 5, y: 700 }];
    const before = performance.now();
    await run(0.4, click, ["AC_hotkey", ["shift"]]);
    expect(performance.now() - before).toBeGreaterThanOrEqual(400);
    await run(0, click);
    let isLater = false;
    setImmediate(() => {
      isLater = true;
    });
    await desktop.pointerRests(0, forever);
    expect(isLater).toBe(false);
    await run(0.4, click);
    const gone = new Requester(null, AbortSignal.abort());
    await expect(desktop.pointerRests(60, gone)).rejects.toThrow("cancelled while the pointer rests");
  });

  test("what is typed after a click goes to the window that was clicked, where the window manager is busy for less than the pace", async () => {
    await using started = await startDisplay();
    await using own = desktopOn(started.env);
    await using upper = openTerminal(started.env, "upper", "60x8+20+20");
    await using lower = openTerminal(started.env, "lower", "60x8+20+400");
    for (const title of ["upper", "lower"]) await waitForTitle(own.desktop, query(title), forever);
    await using made = testService();
    const executor = await made.service.executor();
    const service = { ...made.service, desktop: async () => own.desktop };
    Reflect.set(Reflect.get(executor, "parts"), "service", service);
    const run = async (...action: unknown[]) =>
      executor.run(await executor.prepare([action]), localCaller(made.service, "api"), { pace: 0.6 });
    for (let nth = 0; nth < 3; nth++) {
      for (const [text, y] of [
        ["upper", 80],
        ["lower", 460],
      ] as const) {
        started.manager?.kill("SIGSTOP");
        await run("AC_click_mouse", { x: 100, y });
        setTimeout(() => started.manager?.kill("SIGCONT"), 200);
        await run("AC_write", { write_string: `${text}\n` });
      }
    }
    expect(await upper.typed(3)).toBe("upper\n".repeat(3));
    expect(await lower.typed(3)).toBe("lower\n".repeat(3));
  });

  test("what a broken run has pressed is released, and nothing else", async () => {
    await using listener = await focusedListener("broken");
    const turn = await desktop.inputLock.take(forever);
    await desktop.strike(["shift"], "press", forever);
    await desktop.click({}, "left", "press", forever);
    await desktop.strike(["ctrl"], "tap", forever);
    await turn.end("broken");
    expect(await listener.strokes(6)).toEqual([
      "+key Shift_L",
      "+button 1",
      "+key Control_L",
      "-key Control_L",
      "-button 1",
      "-key Shift_L",
    ]);
  });

  test("it is released however many calls wait", async () => {
    await using listener = await focusedListener("busy");
    const turn = await desktop.inputLock.take(forever);
    await desktop.strike(["shift"], "press", forever);
    const waiting = Promise.allSettled(Array.from({ length: 300 }, () => desktop.pointer(forever)));
    await turn.end("broken");
    await waiting;
    expect(await listener.strokes(2)).toEqual(["+key Shift_L", "-key Shift_L"]);
  });

  test("a stop releases what a run in progress holds, not what a finished run has left pressed", async () => {
    await using listener = await focusedListener("stop");
    {
      await using other = desktopOn(display.env);
      await other.desktop.inputLock.take(forever);
      await other.desktop.strike(["ctrl"], "press", forever);
      await other.desktop.click({}, "left", "press", forever);
    }
    const cutOff = ["+key Control_L", "+button 1", "-button 1", "-key Control_L"];
    expect(await listener.strokes(4)).toEqual(cutOff);
    {
      await using other = desktopOn(display.env);
      const turn = await other.desktop.inputLock.take(forever);
      await other.desktop.strike(["shift"], "press", forever);
      await turn.end("finished");
    }
    await desktop.strike(["a"], "tap", forever);
    await desktop.strike(["shift"], "release", forever);
    const left = ["+key Shift_L", "+key A", "-key A", "-key Shift_L"];
    expect(await listener.strokes(8)).toEqual([...cutOff, ...left]);
  });

  test("a key that is not on the layout is pressed and released as the same key", async () => {
    await using own = await startDisplay();
    await using made = desktopOn(own.env);
    await using listener = await focusedListener("foreign", { env: own.env, desktop: made.desktop });
    await made.desktop.strike(["ж"], "press", forever);
    await made.desktop.strike(["ж"], "release", forever);
    expect(await listener.strokes(2)).toEqual(["+key U0436", "-key U0436"]);
  });
});

/** What xev calls the keys whose X11 name is not the name with a capital. */
const XNAMES: Record<string, string> = {
  backspace: "BackSpace",
  altgr: "ISO_Level3_Shift",
  scrolllock: "Scroll_Lock",
  volumemute: "XF86AudioMute",
  volumedown: "XF86AudioLowerVolume",
  volumeup: "XF86AudioRaiseVolume",
  enter: "Return",
  shift: "Shift_L",
  ctrl: "Control_L",
  alt: "Alt_L",
  esc: "Escape",
  pageup: "Prior",
  pagedown: "Next",
  win: "Super_L",
  apps: "Menu",
  space: "space",
  multiply: "KP_Multiply",
  add: "KP_Add",
  subtract: "KP_Subtract",
  decimal: "KP_Decimal",
  divide: "KP_Divide",
};

const expectedName = (name: string) =>
  name.replace(/^num(\d)$/, "KP_$1").replace(/^[a-z]/, (first) => first.toUpperCase());

describe("text:", () => {
  test("any Unicode text arrives as it was written", async () => {
    await using terminal = await focusedTerminal();
    const lines = [
      "Hello, Wörld! ÅÉß€ [{^~`'\"|\\}] @#$%&*()_+-=<>?/.,;:",
      "Русский ελληνικά עברית العربية हिन्दी ไทย",
      "中文字 日本語 ひらがな カタカナ 한국어 ﷽",
      "😀🎉👩‍👩‍👧‍👦🇩🇪 𝔘𝔫𝔦 𠜎𠮷",
      "e\u0301 n\u0303 a\u0308\u0323 Z\u0351\u036b\u0343",
      "a\tb",
    ];
    await terminal.desktop.type(`${lines.join("\n")}\n`, forever);
    expect(await terminal.typed(lines.length)).toBe(`${lines.join("\n")}\n`);
  });

  testWith(...PROGRAMS, "chromium")("a browser gets it too", async () => {
    using folder = temporaryFolder();
    await using own = await startDisplay();
    await using made = desktopOn(own.env);
    const page =
      '<title>empty page</title><textarea autofocus oninput="document.title = this.value"></textarea>';
    const url = `data:text/html;charset=utf-8,${encodeURIComponent(page)}`;
    const flags = ["--no-sandbox", "--no-first-run", "--disable-gpu", `--user-data-dir=${folder.path}`];
    const browser = Bun.spawn(["chromium", ...flags, `--app=${url}`], {
      env: own.env,
      stdio: ["ignore", "ignore", "ignore"],
    });
    try {
      await waitForTitle(made.desktop, query("empty page", false, { timeout: 20, poll: 0.05 }), forever);
      await focusByTitle(made.desktop, query("empty page"), forever);
      const text = "Grüße 世界 한국어 😀👩‍👩‍👧 e\u0301 Привет {[]}~^`´";
      await made.desktop.type(text, forever);
      await waitForTitle(made.desktop, query(text, true), forever);
    } finally {
      browser.kill();
      await browser.exited;
    }
  });

  test("more different characters than there are free keys arrive too", async () => {
    await using terminal = await focusedTerminal();
    const text = Array.from({ length: 100 }, (_, nth) => String.fromCodePoint(0x4e00 + 7 * nth)).join("");
    await terminal.desktop.type(`${text}\n`, forever);
    expect(await terminal.typed(1)).toBe(`${text}\n`);
  });

  test("any line arrives, whatever is in it", async () => {
    await using terminal = await focusedTerminal();
    let expected = "";
    let lines = 0;
    const character = fc.oneof(
      fc.integer({ min: 0x20, max: 0x7e }),
      fc.integer({ min: 0xa1, max: 0x2fff }),
      fc.integer({ min: 0x3041, max: 0xd7a3 }),
      fc.integer({ min: 0x1f300, max: 0x1f64f }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(character, { maxLength: 30 }), async (codes) => {
        const line = `${String.fromCodePoint(...codes)}\n`;
        fc.pre(isTypable(line));
        await terminal.desktop.type(line, forever);
        expected += line;
        expect(await terminal.typed(++lines)).toBe(expected);
      }),
      { numRuns: 8 },
    );
  });

  test("Caps Lock does not change what is typed", async () => {
    await using terminal = await focusedTerminal();
    await terminal.desktop.strike(["capslock"], "tap", forever);
    await terminal.desktop.type("Abc äÖ 1!\n", forever);
    expect(await terminal.typed(1)).toBe("Abc äÖ 1!\n");
  });

  test("text arrives on other layouts too", async () => {
    await using terminal = await focusedTerminal();
    let expected = "";
    for (const [nth, name] of ["de", "ru", "fr", "us(dvorak)", "us,de,ru"].entries()) {
      await Bun.spawn(["setxkbmap", name], { env: terminal.env }).exited;
      const line = `${name} Hello zyZY Wörld @€{[]}~\\|^'\`#?/-_=+ Привет éàç 1234567890\n`;
      await terminal.desktop.type(line, forever);
      expected += line;
      expect(await terminal.typed(nth + 1)).toBe(expected);
    }
  });

  test("the keyboard layout is restored", async () => {
    await using fresh = await startDisplay();
    await using made = desktopOn(fresh.env);
    const before = await layout(fresh.env);
    await made.desktop.type("日本", forever);
    expect(await layout(fresh.env)).not.toEqual(before);
    await made.desktop.stop();
    expect(await layout(fresh.env)).toEqual(before);
  });

  test("a child that was killed leaves no key taken for good", async () => {
    await using terminal = await focusedTerminal();
    const characters = (from: number) =>
      String.fromCodePoint(...Array.from({ length: 60 }, (_, nth) => from + nth));
    await terminal.desktop.type(characters(0x3041), forever);
    process.kill(childOf(terminal.desktop), "SIGKILL");
    await until("the child to be missed", () => terminal.desktop.childPid === null);
    await terminal.desktop.type(`${characters(0xac00)}\n`, forever);
    expect(await terminal.typed(1)).toBe(`${characters(0x3041)}${characters(0xac00)}\n`);
  });
});

/** The layout, as an independent program sees it. */
function layout(env: NodeJS.ProcessEnv): Promise<string> {
  return Bun.spawn(["xmodmap", "-pke"], { env, stdio: ["ignore", "pipe", "ignore"] }).stdout.text();
}

const currentDesktop = (env: NodeJS.ProcessEnv) =>
  Bun.spawn(["xprop", "-root", "_NET_CURRENT_DESKTOP"], {
    env,
    stdio: ["ignore", "pipe", "ignore"],
  }).stdout.text();

describe("windows:", () => {
  test("a window is listed with its title, whatever the title is", async () => {
    await using _terminal = openTerminal(display.env, "Fenster ☕ 日本");
    const hwnd = await waitForTitle(desktop, query("Fenster"), forever);
    // The window manager spells the title out a moment after the window is there.
    const title = await until("the window's whole title", async () => {
      const window = (await desktop.windows(forever))?.find((candidate) => candidate.hwnd === hwnd);
      return window?.title.includes("日本") ? window.title : undefined;
    });
    expect(title).toBe("Fenster ☕ 日本");
  });

  test("focus moves to the window whose title contains the text", async () => {
    await using first = openTerminal(display.env, "first window");
    await using second = openTerminal(display.env, "second window");
    // A window that has just come takes the focus.
    for (const title of ["first", "second"]) await waitForTitle(desktop, query(title), forever);
    for (const [terminal, title, lines] of [
      [first, "FIRST win", 1],
      [second, "second", 1],
      [first, "first", 2],
    ] as const) {
      await focusByTitle(desktop, query(title), forever);
      await desktop.type(`${title}\n`, forever);
      expect(await terminal.typed(lines)).toEndWith(`${title}\n`);
    }
    expect(await first.typed(2)).toBe("FIRST win\nfirst\n");
  });

  test("what a window manager that has ended says of windows is not believed", async () => {
    await using left = await startDisplay();
    await using made = desktopOn(left.env);
    await using _before = openTerminal(left.env, "before its end");
    await waitForTitle(made.desktop, query("before"), forever);
    left.manager?.kill("SIGKILL");
    await left.manager?.exited;
    await using after = openTerminal(left.env, "after its end");
    await waitForTitle(made.desktop, query("after"), forever);
    expect((await made.desktop.windows(forever))?.map(({ title }) => title).sort()).toEqual([
      "after its end",
      "before its end",
    ]);
    await focusByTitle(made.desktop, query("after"), forever);
    await made.desktop.type("typed\n", forever);
    expect(await after.typed(1)).toBe("typed\n");
  });

  test("focus goes to a window on another desktop, and to one that is minimised", async () => {
    await using own = await startDisplay();
    await using made = desktopOn(own.env);
    await using terminal = openTerminal(own.env, "far away");
    const hwnd = await waitForTitle(made.desktop, query("far away"), forever);
    let lines = 0;
    const reached = async (text: string) => {
      await focusByTitle(made.desktop, query("far away"), forever);
      await made.desktop.type(`${text}\n`, forever);
      expect(await terminal.typed(++lines)).toEndWith(`${text}\n`);
    };
    const minimise = async () => {
      await askManager(own.env, hwnd, "WM_CHANGE_STATE", ICONIC);
      await untilWindowSays(own.env, hwnd, "_NET_WM_STATE_HIDDEN");
    };
    await askManager(own.env, hwnd, "_NET_WM_DESKTOP", 2, FROM_PAGER);
    await untilWindowSays(own.env, hwnd, "_NET_WM_DESKTOP(CARDINAL) = 2");
    await reached("on another desktop");
    await minimise();
    await reached("minimised");
    await minimise();
    await askManager(own.env, 0, "_NET_CURRENT_DESKTOP", 1);
    await until("the other desktop", async () => (await currentDesktop(own.env)).endsWith("= 1\n"));
    await reached("minimised on another desktop");
  });

  testWith(...PROGRAMS, "xmessage")("a window whose program takes no keys is refused at once", async () => {
    const deaf = Bun.spawn(["xmessage", "-title", "deaf", "-xrm", "*input: false", "text"], {
      env: display.env,
      stdio: ["ignore", "ignore", "ignore"],
    });
    try {
      await waitForTitle(desktop, query("deaf"), forever);
      await expect(focusByTitle(desktop, query("deaf"), forever)).rejects.toThrow(
        /^window \d+ did not get the focus: its program takes no keys$/,
      );
    } finally {
      deaf.kill();
      await deaf.exited;
    }
  });

  test("an error says what stood in the way of the focus", async () => {
    await using stack = new AsyncDisposableStack();
    /** The error on a display whose window manager hangs after `before` was asked of it. */
    const obstacle = async (before: (env: NodeJS.ProcessEnv, hwnd: number) => Promise<void>) => {
      const own = stack.use(await startDisplay());
      const { desktop } = stack.use(desktopOn(own.env));
      stack.use(openTerminal(own.env, "wanted"));
      const hwnd = await waitForTitle(desktop, query("wanted"), forever);
      stack.use(openTerminal(own.env, "other"));
      await waitForTitle(desktop, query("other"), forever);
      await focusByTitle(desktop, query("other"), forever);
      await before(own.env, hwnd);
      own.manager?.kill("SIGSTOP");
      const refused = focusByTitle(desktop, query("wanted"), forever);
      return refused.then(
        () => "none",
        (error) => error.message.replace(/^window \d+ did not get the focus within 8 s: /, ""),
      );
    };
    const found = [
      obstacle(async () => {}),
      obstacle(async (env, hwnd) => {
        await askManager(env, hwnd, "_NET_WM_DESKTOP", 2, FROM_PAGER);
        await untilWindowSays(env, hwnd, "_NET_WM_DESKTOP(CARDINAL) = 2");
      }),
      obstacle(async (env, hwnd) => {
        await askManager(env, hwnd, "WM_CHANGE_STATE", ICONIC);
        await untilWindowSays(env, hwnd, "window state: Iconic");
      }),
    ];
    expect(await Promise.all(found)).toEqual([
      expect.stringMatching(/^window \d+ of XTerm keeps it$/),
      "it is on desktop 3, and the window manager stays on desktop 1",
      "it is minimised, and the window manager does not restore it",
    ]);
  });

  test("capitals matter where they are said to", async () => {
    await using _terminal = openTerminal(display.env, "Capital");
    await waitForTitle(desktop, query("Capital", true), forever);
    await expect(focusByTitle(desktop, query("capital", true), forever)).rejects.toThrow(
      'there is no window with "capital" in its title',
    );
  });

  test("a title is quoted whole, so that secrets in it can be redacted", async () => {
    const title = `${"never".repeat(100)} "there"`;
    await expect(focusByTitle(desktop, query(title), forever)).rejects.toThrow(JSON.stringify(title));
  });

  test("waiting ends when the window appears, when time is up, and when it is called off", async () => {
    const waiting = waitForTitle(desktop, query("late comer"), forever);
    await using _terminal = openTerminal(display.env, "late comer");
    expect(await waiting).toBeGreaterThan(0);
    const brief = { timeout: 0.05, poll: 0.02 };
    await expect(waitForTitle(desktop, query("never", false, brief), forever)).rejects.toThrow(
      'no window with "never" in its title within 0.05 s',
    );
    const gone = new AbortController();
    const called = waitForTitle(
      desktop,
      query("never", false, { timeout: 60, poll: 60 }),
      new Requester(null, gone.signal),
    );
    gone.abort();
    await expect(called).rejects.toThrow("cancelled");
  });
});

describe("screenshots:", () => {
  test("the picture has the size of the screen and shows the window", async () => {
    await using _terminal = openTerminal(display.env, "blue", "40x10+400+300");
    await waitForTitle(desktop, query("blue"), forever);
    await desktop.move({ x: 0, y: 0 }, forever);
    const at = { x: 500, y: 380 };
    await until("a picture that shows the window and is what the display shows", async () => {
      const shot = await desktop.screenshot({}, null, forever);
      expect(shot).toMatchObject(SIZE);
      const png = decode(Buffer.from(shot.base64 ?? "", "base64"));
      expect(png).toMatchObject({ ...SIZE, channels: 3, depth: 8 });
      // The window draws itself, and others close, while the two are taken.
      return colourAt(png, at) === "123456" && Bun.deepEquals(png.data, await rootPixels());
    });
  });

  test("a region is that part of the whole", async () => {
    const region = { x1: 101, y1: 50, x2: 164, y2: 70 };
    const take = async (frame: Parameters<Desktop["screenshot"]>[0]) =>
      decode(Buffer.from((await desktop.screenshot(frame, null, forever)).base64 ?? "", "base64"));
    await until("the region to be equal to that part of the screen", async () => {
      // A window that has just closed may still be on one of them.
      const [whole, part] = [await take({}), await take({ region })];
      expect(part).toMatchObject({ width: 63, height: 20 });
      const rows = Array.from({ length: 20 }, (_, row) => {
        const start = ((50 + row) * SIZE.width + 101) * 3;
        return whole.data.slice(start, start + 63 * 3);
      });
      return Bun.deepEquals(
        rows.flatMap((row) => [...row]),
        [...part.data],
      );
    });
  });

  test("a monitor or a region that is not there is refused", async () => {
    const shot = (frame: Parameters<Desktop["screenshot"]>[0]) => desktop.screenshot(frame, null, forever);
    await expect(shot({ monitor: 1 })).rejects.toThrow("monitor: expected 0 to 0 but found 1");
    await expect(shot({ region: { x1: 0, y1: 0, x2: 1281, y2: 1 } })).rejects.toThrow(
      "screen_region: expected a part of [0, 0, 1280, 800] but found [0, 0, 1281, 1]",
    );
  });

  test("a file is written whole and private, or the call says why not", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "desk.png");
    expect(await desktop.screenshot({}, file, forever)).toEqual({
      ...SIZE,
      shown: { x1: 0, y1: 0, x2: SIZE.width, y2: SIZE.height },
      base64: null,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(decode(readFileSync(file))).toMatchObject(SIZE);
    const refused = (path: string) => expect(desktop.screenshot({}, path, forever)).rejects;
    await refused(join(folder.path, "no", "desk.png")).toThrow("file_path: its folder does not exist");
    await refused(folder.path).toThrow("file_path: not a regular file");
  });

  test("monitors are counted from 0", async () => {
    await using two = await startDisplay({ screens: ["640x480x24", "320x240x24"], managed: false });
    await using made = desktopOn(two.env);
    const first = await made.desktop.screenshot({ monitor: 0 }, null, forever);
    expect(first).toMatchObject({ width: 640, height: 480 });
    const second = await made.desktop.screenshot({ monitor: 1 }, null, forever);
    expect(second).toMatchObject({ width: 320, height: 240 });
    const service = { audit: async () => null, desktop: async () => made.desktop };
    expect(await callOperation(service, listMonitors, {}, localCaller(service, "cli"))).toEqual({
      monitors: [
        { monitor: 0, x: 0, y: 0, width: 640, height: 480 },
        { monitor: 1, x: 0, y: 0, width: 320, height: 240 },
      ],
    });
  });

  test("a display of 16 bits has its colours, one of 8 is refused", async () => {
    await using sixteen = await startDisplay({ screens: ["640x480x16"] });
    await using made = desktopOn(sixteen.env);
    await using _terminal = openTerminal(sixteen.env, "sixteen", "40x10+100+100");
    await until("the window's colour", async () => {
      const shot = await made.desktop.screenshot({}, null, forever);
      const png = decode(Buffer.from(shot.base64 ?? "", "base64"));
      // #123456 with five bits of red and blue and six of green.
      return colourAt(png, { x: 200, y: 180 }) === "103552";
    });
    await using eight = await startDisplay({ screens: ["640x480x8"], managed: false });
    await using coarse = desktopOn(eight.env);
    await expect(coarse.desktop.screenshot({}, null, forever)).rejects.toThrow("indexes into a colour map");
  });
});

type Png = ReturnType<typeof decode>;

function colourAt({ data, width }: Png, { x, y }: { x: number; y: number }): string {
  return Buffer.from(data.slice((y * width + x) * 3, (y * width + x) * 3 + 3)).toString("hex");
}

/** The screen as an independent program sees it: red, green, blue. */
async function rootPixels(): Promise<Uint8Array> {
  const take = `process.stdout.write(require("node-screenshots").Monitor.all()[0].captureImageSync().toRawSync())`;
  const child = Bun.spawn([process.execPath, "-e", take], {
    cwd: import.meta.dir,
    env: display.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const rgba = await child.stdout.bytes();
  return Uint8Array.from({ length: SIZE.width * SIZE.height * 3 }, (_, at) => {
    return rgba[Math.floor(at / 3) * 4 + (at % 3)] ?? 0;
  });
}
