/**
 * What the addons cannot do on macOS, through Core Graphics and System Events.
 */
import { dlopen, ptr } from "bun:ffi";
import { notFound, unavailable } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import { spawn } from "../../../lib/spawn";
import type { Platform } from "./backend";
import type { Screens } from "./screen";

const APPLICATION_SERVICES = "/System/Library/Frameworks/ApplicationServices.framework/ApplicationServices";
/** kCGSessionEventTap (CGEventTypes.h), where robotjs posts its events too. */
const SESSION_EVENT_TAP = 1;
/** Pixels, which is what robotjs scrolls by; about three lines of text. */
const WHEEL_STEP = 40;

/** Brings the process to the front, and its window of that title, out of the Dock, before its other windows. */
const RAISE = `on run {processId, windowTitle}
  tell application "System Events"
    set target to first process whose unix id is (processId as integer)
    set frontmost of target to true
    set wanted to first window of target whose name is windowTitle
    try
      set value of attribute "AXMinimized" of wanted to false
    end try
    perform action "AXRaise" of wanted
  end tell
end run`;

/** Moves and resizes it; prints its place then. */
const PLACE = `on run {processId, windowTitle, x, y, w, h}
  tell application "System Events"
    set target to first process whose unix id is (processId as integer)
    set wanted to first window of target whose name is windowTitle
    try
      set value of attribute "AXMinimized" of wanted to false
      set value of attribute "AXFullScreen" of wanted to false
    end try
    set position of wanted to {x as integer, y as integer}
    set size of wanted to {w as integer, h as integer}
    set {newX, newY} to position of wanted
    set {newW, newH} to size of wanted
  end tell
  return (newX as text) & " " & newY & " " & newW & " " & newH
end run`;

const MINIMIZE = `on run {processId, windowTitle}
  tell application "System Events"
    set target to first process whose unix id is (processId as integer)
    set value of attribute "AXMinimized" of (first window of target whose name is windowTitle) to true
  end tell
end run`;

const CLOSE = `on run {processId, windowTitle}
  tell application "System Events"
    set target to first process whose unix id is (processId as integer)
    set wanted to first window of target whose name is windowTitle
    perform action "AXPress" of (first button of wanted whose subrole is "AXCloseButton")
  end tell
end run`;

/** What `script` printed for the window `hwnd`. @throws `not_found` without it; `unavailable` with what the system said. */
async function runScript(
  { screens, hwnd, failed }: { readonly screens: Screens; readonly hwnd: number; readonly failed: string },
  script: string,
  ...args: readonly number[]
): Promise<string> {
  const window = screens.Window.all().find((candidate) => candidate.id() === hwnd);
  if (!window) throw notFound(`there is no window ${hwnd}`);
  const given = [window.pid(), window.title(), ...args].map(String);
  const running = spawn(["/usr/bin/osascript", "-e", script, ...given], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [code, printed, said] = await Promise.all([
    running.exited,
    running.stdout.text(),
    running.stderr.text(),
  ]);
  if (code === 0) return printed;
  throw unavailable(`window ${hwnd} ${failed} (${printable(said.trim(), 200)})`);
}

/** Without a locale, both take text for MacRoman. */
const UTF8 = { env: { ...process.env, LC_ALL: "en_US.UTF-8" } };

/** What pbpaste and pbcopy do. @param stdin the text to copy. @throws `unavailable` when it fails. */
async function pasteboard(program: "pbpaste" | "pbcopy", stdin: string): Promise<string> {
  const running = spawn([`/usr/bin/${program}`], {
    ...UTF8,
    stdio: [Buffer.from(stdin), "pipe", "ignore"],
  });
  const [code, printed] = await Promise.all([running.exited, running.stdout.text()]);
  if (code !== 0) throw unavailable(`${program} failed with status ${code}`);
  return printed;
}

export function createMacos(): Platform {
  const { symbols: cg } = dlopen(APPLICATION_SERVICES, {
    CGEventCreateKeyboardEvent: { args: ["ptr", "u16", "bool"], returns: "ptr" },
    CGEventKeyboardSetUnicodeString: { args: ["ptr", "u64", "ptr"], returns: "void" },
    CGEventPost: { args: ["u32", "ptr"], returns: "void" },
    CFRelease: { args: ["ptr"], returns: "void" },
  });
  return {
    wheelStep: WHEEL_STEP,
    typeCharacter(character) {
      // robotjs types one UTF-16 unit an event, which tears a surrogate pair apart.
      const units = Uint16Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
      for (const down of [true, false]) {
        const event = cg.CGEventCreateKeyboardEvent(null, 0, down);
        if (event === null) throw unavailable("macOS made no keyboard event");
        cg.CGEventKeyboardSetUnicodeString(event, units.length, ptr(units));
        cg.CGEventPost(SESSION_EVENT_TAP, event);
        cg.CFRelease(event);
      }
    },
    async focus(hwnd, { screens }) {
      await runScript({ screens, hwnd, failed: "did not get the focus" }, RAISE);
    },
    async place(hwnd, wanted, screens) {
      const window = screens.Window.all().find((candidate) => candidate.id() === hwnd);
      if (!window) throw notFound(`there is no window ${hwnd}`);
      const now = { x: window.x(), y: window.y(), width: window.width(), height: window.height() };
      const { x, y, width, height } = { ...now, ...wanted };
      const printed = await runScript({ screens, hwnd, failed: "was not moved" }, PLACE, x, y, width, height);
      const [newX = x, newY = y, newWidth = width, newHeight = height] = printed
        .trim()
        .split(" ")
        .map(Number);
      return { x: newX, y: newY, width: newWidth, height: newHeight };
    },
    async request(hwnd, what, screens) {
      if (what === "maximize") {
        throw unavailable(
          "macOS has no maximised windows: AC_move_window and AC_resize_window fill the screen",
        );
      }
      const [failed, script] =
        what === "close" ? ["was not asked to close", CLOSE] : ["was not minimised", MINIMIZE];
      await runScript({ screens, hwnd, failed }, script);
    },
    clipboard: () => pasteboard("pbpaste", ""),
    async setClipboard(text) {
      await pasteboard("pbcopy", text);
    },
  };
}
