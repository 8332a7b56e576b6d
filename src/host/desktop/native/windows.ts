/**
 * What the addons cannot do on Windows, through user32.dll.
 */
import { dlopen, ptr, toArrayBuffer } from "bun:ffi";
import { notFound, unavailable } from "../../../lib/errors";
import type { Place } from "../backend";
import type { Platform } from "./backend";

/** WHEEL_DELTA (WinUser.h). */
const WHEEL_DELTA = 120;
/** What ShowWindow does (WinUser.h). */
const [SW_MAXIMIZE, SW_MINIMIZE, SW_RESTORE] = [3, 6, 9];
/** SetWindowPos: SWP_NOZORDER and SWP_NOACTIVATE (WinUser.h). */
const KEEP_ORDER = 0x0004 | 0x0010;
const WM_CLOSE = 0x0010;
/** DPI_AWARENESS_CONTEXT_PER_MONITOR_AWARE_V2 (windef.h), from Windows 10 1703 on. */
const PER_MONITOR_AWARE_V2 = -4;

/** CF_UNICODETEXT, GMEM_MOVEABLE (WinUser.h, WinBase.h). */
const CF_UNICODETEXT = 13;
const GMEM_MOVEABLE = 2;
/** How often another program that holds the clipboard open is waited for, and how long each time, in milliseconds. */
const [TRIES, TRY_MS] = [20, 50];

/** The clipboard of Windows as text, in UTF-16 with a zero at its end. */
function createClipboard(): Pick<Platform, "clipboard" | "setClipboard"> {
  const { symbols: user32 } = dlopen("user32.dll", {
    OpenClipboard: { args: ["u64"], returns: "i32" },
    CloseClipboard: { args: [], returns: "i32" },
    EmptyClipboard: { args: [], returns: "i32" },
    CountClipboardFormats: { args: [], returns: "i32" },
    GetClipboardData: { args: ["u32"], returns: "u64" },
    SetClipboardData: { args: ["u32", "u64"], returns: "u64" },
  });
  const { symbols: kernel32 } = dlopen("kernel32.dll", {
    GlobalAlloc: { args: ["u32", "u64"], returns: "u64" },
    GlobalLock: { args: ["u64"], returns: "ptr" },
    GlobalUnlock: { args: ["u64"], returns: "i32" },
    GlobalSize: { args: ["u64"], returns: "u64" },
  });
  /** One program at a time may have it open. */
  const opened = async <T>(use: () => T): Promise<T> => {
    for (let left = TRIES; user32.OpenClipboard(0) === 0; left--) {
      if (left === 0) throw unavailable("another program holds the clipboard open");
      await Bun.sleep(TRY_MS);
    }
    try {
      return use();
    } finally {
      user32.CloseClipboard();
    }
  };
  const locked = <T>(handle: bigint, size: number, use: (memory: Buffer) => T): T => {
    const memory = handle === 0n ? null : kernel32.GlobalLock(handle);
    if (memory === null) throw unavailable("Windows did not give the memory of the clipboard");
    try {
      return use(Buffer.from(toArrayBuffer(memory, 0, size)));
    } finally {
      kernel32.GlobalUnlock(handle);
    }
  };
  return {
    clipboard: () =>
      opened(() => {
        const handle = user32.GetClipboardData(CF_UNICODETEXT);
        if (handle === 0n) {
          if (user32.CountClipboardFormats() === 0) return "";
          throw notFound("the clipboard holds no text");
        }
        const size = Number(kernel32.GlobalSize(handle));
        return locked(handle, size, (memory) => memory.toString("utf16le").replace(/\0.*$/s, ""));
      }),
    setClipboard: (text) =>
      opened(() => {
        const bytes = Buffer.from(`${text}\0`, "utf16le");
        const handle = kernel32.GlobalAlloc(GMEM_MOVEABLE, bytes.length);
        locked(handle, bytes.length, (memory) => memory.set(bytes));
        user32.EmptyClipboard();
        if (user32.SetClipboardData(CF_UNICODETEXT, handle) === 0n) {
          throw unavailable("Windows did not take the text for the clipboard");
        }
      }),
  };
}

export function createWindows(): Platform {
  const { symbols: user32 } = dlopen("user32.dll", {
    IsWindow: { args: ["u64"], returns: "i32" },
    IsIconic: { args: ["u64"], returns: "i32" },
    ShowWindow: { args: ["u64", "i32"], returns: "i32" },
    SetForegroundWindow: { args: ["u64"], returns: "i32" },
    GetForegroundWindow: { args: [], returns: "u64" },
    IsZoomed: { args: ["u64"], returns: "i32" },
    GetWindowRect: { args: ["u64", "ptr"], returns: "i32" },
    SetWindowPos: { args: ["u64", "u64", "i32", "i32", "i32", "i32", "u32"], returns: "i32" },
    PostMessageW: { args: ["u64", "u32", "u64", "u64"], returns: "i32" },
    SetProcessDpiAwarenessContext: { args: ["i64"], returns: "i32" },
  });
  // Without it, a scaled desktop has different coordinates for the pointer and for pictures.
  user32.SetProcessDpiAwarenessContext(PER_MONITOR_AWARE_V2);
  const requireWindow = (hwnd: number) => {
    if (user32.IsWindow(hwnd) === 0) throw notFound(`there is no window ${hwnd}`);
  };
  const placeOf = (hwnd: number): Place => {
    // RECT (windef.h): left, top, right, bottom.
    const rectangle = new Int32Array(4);
    if (user32.GetWindowRect(hwnd, ptr(rectangle)) === 0) throw notFound(`window ${hwnd} was closed`);
    const [x = 0, y = 0, right = 0, bottom = 0] = rectangle;
    return { x, y, width: right - x, height: bottom - y };
  };
  return {
    ...createClipboard(),
    wheelStep: WHEEL_DELTA,
    typeCharacter(character, robot) {
      // KEYEVENTF_UNICODE takes UTF-16 units, a surrogate pair as two of them (SendInput, KEYBDINPUT).
      for (let at = 0; at < character.length; at++) robot.unicodeTap(character.charCodeAt(at));
    },
    async focus(hwnd, { robot }) {
      requireWindow(hwnd);
      if (user32.IsIconic(hwnd) !== 0) user32.ShowWindow(hwnd, SW_RESTORE);
      // Only the process of the last input may change the foreground window (SetForegroundWindow, Remarks).
      robot.keyToggle("alt", "down");
      user32.SetForegroundWindow(hwnd);
      robot.keyToggle("alt", "up");
      if (Number(user32.GetForegroundWindow()) === hwnd) return;
      throw unavailable(`window ${hwnd} did not get the focus: Windows refused it`);
    },
    async place(hwnd, wanted) {
      requireWindow(hwnd);
      if (user32.IsIconic(hwnd) !== 0 || user32.IsZoomed(hwnd) !== 0) user32.ShowWindow(hwnd, SW_RESTORE);
      const { x, y, width, height } = { ...placeOf(hwnd), ...wanted };
      if (user32.SetWindowPos(hwnd, 0, x, y, width, height, KEEP_ORDER) === 0) {
        throw unavailable(`window ${hwnd} was not moved: Windows refused it`);
      }
      return placeOf(hwnd);
    },
    async request(hwnd, what) {
      requireWindow(hwnd);
      if (what !== "close") {
        user32.ShowWindow(hwnd, what === "minimize" ? SW_MINIMIZE : SW_MAXIMIZE);
      } else if (user32.PostMessageW(hwnd, WM_CLOSE, 0, 0) === 0) {
        throw unavailable(`window ${hwnd} was not asked to close: Windows refused it`);
      }
    },
  };
}
