/** Where windows are and in which state, and moving, resizing, closing and awaiting them, on a real X server. */
import { describe, expect, setDefaultTimeout } from "bun:test";
import type { Desktop } from "../../../src/host/desktop/desktop";
import {
  findWindow,
  focusByTitle,
  matches,
  waitForTitle,
  waitUntilGone,
} from "../../../src/host/desktop/windows";
import { connect } from "../../../src/host/desktop/x11/connection";
import { commandLine, endGroup, OWN_GROUP } from "../../../src/lib/process-group";
import { spawn } from "../../../src/lib/spawn";
import { runActions, testService, testWith, until } from "../../support";
import {
  askManager,
  desktopOn,
  forAllTests,
  forever,
  openTerminal,
  PROGRAMS,
  SIZE,
  startDisplay,
  untilWindowSays,
} from "./support";

setDefaultTimeout(180_000);
const PROGRAMS_HERE = [...PROGRAMS, "xwininfo", "xprop"];
const test = testWith(...PROGRAMS_HERE);
/** The source of a request (EWMH). */
const FROM_PAGER = 2;
/** X11/X.h: PropModeReplace. */
const REPLACE = 0;
const PATIENCE = { timeout: 10, poll: 0.02 };
const named = (title_substring: string) => ({ title_substring, case_sensitive: false });
const awaited = (title: string) => ({ ...named(title), ...PATIENCE });

let display: Awaited<ReturnType<typeof startDisplay>>;
let desktop: Desktop;
forAllTests(PROGRAMS_HERE, (started) => {
  ({ display, desktop } = started);
});

/** An xterm that is there, and its row. */
async function terminal(title: string, geometry?: string) {
  const opened = openTerminal(display.env, title, geometry);
  await waitForTitle(desktop, awaited(title), forever);
  return opened;
}
const row = (title: string) => findWindow(desktop, named(title), forever);

/** The outline of a window with its frame, which is the window around it, as an independent program sees it. */
async function outline(hwnd: number) {
  const about = async (id: string) => {
    const xwininfo = Bun.spawn(["xwininfo", "-id", id, "-tree", "-stats"], {
      env: display.env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return xwininfo.stdout.text();
  };
  const [, frame = ""] = /Parent window id: (0x[0-9a-f]+)/.exec(await about(`${hwnd}`)) ?? [];
  const text = await about(frame);
  const number = (name: string) => Number(new RegExp(`${name}: +(-?\\d+)`).exec(text)?.[1]);
  return {
    x: number("Absolute upper-left X"),
    y: number("Absolute upper-left Y"),
    width: number("Width"),
    height: number("Height"),
  };
}

describe("a row:", () => {
  test("it has the outline with the frame, the desktop, the process and the focus", async () => {
    await using _other = await terminal("other row");
    await using _terminal = await terminal("whole row", "40x10+120+140");
    await focusByTitle(desktop, named("whole row"), forever);
    const found = await row("whole row");
    expect(found).toMatchObject({ desktop: 0, process: "xterm", state: "normal", focused: true });
    expect({ x: found.x, y: found.y, width: found.width, height: found.height }).toEqual(
      await outline(found.hwnd),
    );
    expect(await Bun.file(`/proc/${found.pid}/comm`).text()).toBe("xterm\n");
    expect(await row("other row")).toMatchObject({ focused: false });
  });

  test("a window that claims to be of another process is not", async () => {
    await using _other = await terminal("claimed");
    await using _terminal = await terminal("claiming");
    const { pid: claimed } = await row("claimed");
    const { hwnd, pid } = await row("claiming");
    const { client, need, settled, close } = await connect(display.env, () => {});
    const [name, type] = [
      await need.InternAtom(false, "_NET_WM_PID"),
      await need.InternAtom(false, "CARDINAL"),
    ];
    client.ChangeProperty(REPLACE, hwnd, name, type, 32, [claimed ?? 0]);
    await settled();
    close();
    await untilWindowSays(display.env, hwnd, `_NET_WM_PID(CARDINAL) = ${claimed}`);
    expect((await row("claiming")).pid).toBe(pid);
    expect(pid).not.toBe(claimed);
  });

  test("a window on another desktop says which", async () => {
    await using _terminal = await terminal("far away");
    const { hwnd } = await row("far away");
    await askManager(display.env, hwnd, "_NET_WM_DESKTOP", 2, FROM_PAGER);
    await until("the other desktop", async () => (await row("far away")).desktop === 2);
  });

  test("without a window manager a window has a place and a process too", async () => {
    await using bare = await startDisplay({ managed: false });
    await using own = desktopOn(bare.env);
    await using _terminal = openTerminal(bare.env, "unmanaged", "40x10+30+40");
    const hwnd = await waitForTitle(own.desktop, awaited("unmanaged"), forever);
    const [found] = (await own.desktop.windows(forever)) ?? [];
    expect(found).toMatchObject({ hwnd, x: 30, y: 40, desktop: null, process: "xterm", state: "normal" });
    expect(await own.desktop.place(hwnd, { x: 5, y: 6 }, forever)).toMatchObject({ x: 5, y: 6 });
    await expect(own.desktop.request(hwnd, "minimize", forever)).rejects.toThrow(
      "there is no window manager",
    );
    await own.desktop.request(hwnd, "close", forever);
    await waitUntilGone(own.desktop, awaited("unmanaged"), forever);
  });
});

describe("a window is found", () => {
  const window = {
    ...{ hwnd: 7, title: "Report", x: 0, y: 0, width: 1, height: 1, desktop: null },
    ...({ pid: 42, process: "Notepad.exe", state: "normal", focused: false } as const),
  };

  test("by the name of its program in any case, with or without .exe, and by its process id", () => {
    for (const process of ["notepad", "NOTEPAD.EXE", "42", 42]) {
      expect(matches(window, { case_sensitive: true, process })).toBe(true);
    }
    for (const process of ["note", "4", 420])
      expect(matches(window, { case_sensitive: false, process })).toBe(false);
  });

  test("only when all that is given matches", () => {
    expect(matches(window, { ...named("report"), hwnd: 7, process: 42 })).toBe(true);
    expect(matches(window, { ...named("report"), hwnd: 8 })).toBe(false);
    expect(matches(window, { ...named("other"), hwnd: 7 })).toBe(false);
  });
});

describe("arranging:", () => {
  test("a window moves where its frame's corner was asked to be, also beyond the edge", async () => {
    await using _terminal = await terminal("mover");
    const { hwnd, width, height } = await row("mover");
    for (const corner of [
      { x: 200, y: 150 },
      { x: -40, y: 300 },
    ]) {
      const placed: unknown = await desktop.place(hwnd, corner, forever);
      expect(placed).toEqual({ ...corner, width, height });
      expect(await outline(hwnd)).toMatchObject(corner);
    }
  });

  test("a window gets the size that it allows, and the answer says which", async () => {
    await using _terminal = await terminal("sizer");
    const { hwnd, x, y } = await row("sizer");
    const now = await desktop.place(hwnd, { width: 500, height: 300 }, forever);
    expect(now).toEqual(await outline(hwnd));
    expect(now).toMatchObject({ x, y });
    // A terminal has whole columns and rows.
    expect(now.width).toBeWithin(480, 501);
    expect(now.height).toBeWithin(270, 301);
  });

  test("a window is maximised, minimised, and moved back to a size of its own", async () => {
    await using _terminal = await terminal("states");
    const { hwnd } = await row("states");
    await desktop.request(hwnd, "maximize", forever);
    const full = await row("states");
    expect(full).toMatchObject({ state: "maximized", x: 0, y: 0 });
    expect(full.width).toBeWithin(SIZE.width - 20, SIZE.width + 1);
    await desktop.request(hwnd, "minimize", forever);
    expect(await row("states")).toMatchObject({ state: "minimized", focused: false });
    await desktop.request(hwnd, "maximize", forever);
    expect(await desktop.place(hwnd, { x: 60, y: 70 }, forever)).toMatchObject({ x: 60, y: 70 });
    expect(await row("states")).toMatchObject({ state: "normal" });
  });

  test("a window is asked to close, and awaited until it has gone", async () => {
    await using _terminal = await terminal("closer");
    const { hwnd } = await row("closer");
    const gone = waitUntilGone(desktop, awaited("closer"), forever);
    await desktop.request(hwnd, "close", forever);
    expect(await gone).toBeNull();
    await expect(desktop.request(hwnd, "close", forever)).rejects.toThrow(`there is no window ${hwnd}`);
    await expect(desktop.place(hwnd, { x: 0 }, forever)).rejects.toThrow(`there is no window ${hwnd}`);
  });

  test("waiting for a window to go ends when time is up", async () => {
    await using _terminal = await terminal("stayer");
    const brief = { ...named("stayer"), timeout: 0.05, poll: 0.02 };
    await expect(waitUntilGone(desktop, brief, forever)).rejects.toThrow(
      'there is still a window with "stayer" in its title after 0.05 s',
    );
  });
});

test("a command without a title, a process or an hwnd is refused before anything runs", async () => {
  await using made = testService();
  const run = runActions(made.service, [
    ["AC_sleep", [0]],
    ["AC_move_window", { x: 1, y: 2 }],
  ]);
  await expect(run).rejects.toThrow("expected title_substring, process or hwnd but found none of them");
});

test("a window is found by the process that began the group of its program: a shell around it", async () => {
  const line = "xterm -T Wrapped -e sleep 600; exit 0";
  const shell = spawn(commandLine(line), {
    ...OWN_GROUP,
    env: display.env,
    stdio: ["ignore", "ignore", "ignore"],
  });
  try {
    const query = { case_sensitive: false, process: shell.pid, ...PATIENCE };
    const hwnd = await waitForTitle(desktop, query, forever);
    const window = await row("Wrapped");
    expect(window.hwnd).toBe(hwnd);
    expect(window.pid).not.toBe(shell.pid);
    expect(matches(window, { ...query, process: shell.pid + 1_000_000 })).toBe(false);
  } finally {
    await endGroup(shell);
  }
});
