/**
 * What the addons cannot do on macOS, through Core Graphics and System Events.
 */
import { dlopen, ptr } from "bun:ffi";
import { notFound, unavailable } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { spawn } from "../../lib/spawn";
import type { Platform } from "./backend";

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
      const window = screens.Window.all().find((candidate) => candidate.id() === hwnd);
      if (!window) throw notFound(`there is no window ${hwnd}`);
      const raise = spawn(["/usr/bin/osascript", "-e", RAISE, String(window.pid()), window.title()], {
        stdio: ["ignore", "ignore", "pipe"],
      });
      const [code, said] = await Promise.all([raise.exited, raise.stderr.text()]);
      if (code !== 0)
        throw unavailable(`window ${hwnd} did not get the focus (${printable(said.trim(), 200)})`);
    },
  };
}
