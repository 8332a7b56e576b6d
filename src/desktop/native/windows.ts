/**
 * What the addons cannot do on Windows, through user32.dll.
 */
import { dlopen } from "bun:ffi";
import { notFound, unavailable } from "../../lib/errors";
import type { Platform } from "./backend";

/** WHEEL_DELTA (WinUser.h). */
const WHEEL_DELTA = 120;
/** ShowWindow's SW_RESTORE (WinUser.h). */
const SW_RESTORE = 9;
/** DPI_AWARENESS_CONTEXT_PER_MONITOR_AWARE_V2 (windef.h), from Windows 10 1703 on. */
const PER_MONITOR_AWARE_V2 = -4;

export function createWindows(): Platform {
  const { symbols: user32 } = dlopen("user32.dll", {
    IsWindow: { args: ["u64"], returns: "i32" },
    IsIconic: { args: ["u64"], returns: "i32" },
    ShowWindow: { args: ["u64", "i32"], returns: "i32" },
    SetForegroundWindow: { args: ["u64"], returns: "i32" },
    GetForegroundWindow: { args: [], returns: "u64" },
    SetProcessDpiAwarenessContext: { args: ["i64"], returns: "i32" },
  });
  // Without it, a scaled desktop has different coordinates for the pointer and for pictures.
  user32.SetProcessDpiAwarenessContext(PER_MONITOR_AWARE_V2);
  return {
    wheelStep: WHEEL_DELTA,
    typeCharacter(character, robot) {
      // KEYEVENTF_UNICODE takes UTF-16 units, a surrogate pair as two of them (SendInput, KEYBDINPUT).
      for (let at = 0; at < character.length; at++) robot.unicodeTap(character.charCodeAt(at));
    },
    async focus(hwnd, { robot }) {
      if (user32.IsWindow(hwnd) === 0) throw notFound(`there is no window ${hwnd}`);
      if (user32.IsIconic(hwnd) !== 0) user32.ShowWindow(hwnd, SW_RESTORE);
      // Only the process of the last input may change the foreground window (SetForegroundWindow, Remarks).
      robot.keyToggle("alt", "down");
      user32.SetForegroundWindow(hwnd);
      robot.keyToggle("alt", "up");
      if (Number(user32.GetForegroundWindow()) === hwnd) return;
      throw unavailable(`window ${hwnd} did not get the focus: Windows refused it`);
    },
  };
}
