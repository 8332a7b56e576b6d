/**
 * The windows of the desk and the programs that they are of, by user32.dll: the root element of UI Automation would ask every program,
 * also those that hang.
 */
import { dlopen, ptr } from "bun:ffi";
import { win32 } from "node:path";
import type { Frame } from "../frames";

/** GW_HWNDNEXT, GA_ROOT (WinUser.h). */
const [NEXT, ROOT] = [2, 2];
/** DWMWA_CLOAKED (dwmapi.h): shown, and yet not to be seen, as the windows of apps that are suspended. */
const CLOAKED = 14;
/** Windows that are looked at, of all that there are. */
const MAX_LOOKED = 5_000;
const MAX_PATH_UNITS = 32_768;
const QUERY_LIMITED_INFORMATION = 0x1000;
const PER_MONITOR_AWARE_V2 = -4;

export interface DeskWindow {
  readonly hwnd: number;
  readonly pid: number;
}

export interface Desk {
  /** The windows that are shown, the topmost first. */
  windows(): DeskWindow[];
  /** The name of the program of a process, without its ending; empty where the system does not say. */
  programOf(pid: number): string;
  /** Whether its program has not taken its messages for five seconds. */
  hangs(hwnd: number): boolean;
  /** The window in front. */
  active(): number;
  /** The place of the window that is on top at a place of the screen; undefined where none is. */
  frameAt(x: number, y: number): Frame | undefined;
}

function open() {
  const { symbols: user32 } = dlopen("user32.dll", {
    GetTopWindow: { args: ["u64"], returns: "u64" },
    GetWindow: { args: ["u64", "u32"], returns: "u64" },
    IsWindowVisible: { args: ["u64"], returns: "i32" },
    IsHungAppWindow: { args: ["u64"], returns: "i32" },
    GetForegroundWindow: { args: [], returns: "u64" },
    GetWindowThreadProcessId: { args: ["u64", "ptr"], returns: "u32" },
    SetProcessDpiAwarenessContext: { args: ["i64"], returns: "i32" },
    // A POINT is eight bytes, and is given as they are.
    WindowFromPoint: { args: ["u64"], returns: "u64" },
    GetAncestor: { args: ["u64", "u32"], returns: "u64" },
    GetWindowRect: { args: ["u64", "ptr"], returns: "i32" },
  });
  const { symbols: kernel32 } = dlopen("kernel32.dll", {
    OpenProcess: { args: ["u32", "i32", "u32"], returns: "u64" },
    QueryFullProcessImageNameW: { args: ["u64", "u32", "ptr", "ptr"], returns: "i32" },
    CloseHandle: { args: ["u64"], returns: "i32" },
  });
  const { symbols: dwmapi } = dlopen("dwmapi.dll", {
    DwmGetWindowAttribute: { args: ["u64", "u32", "ptr", "u32"], returns: "i32" },
  });
  return { ...user32, ...kernel32, ...dwmapi };
}

export function openDesk(): Desk {
  const system = open();
  // Otherwise places are those of a screen without its scale, and the pointer's are not.
  system.SetProcessDpiAwarenessContext(PER_MONITOR_AWARE_V2);
  const isShown = (hwnd: bigint): boolean => {
    const cloaked = new Uint32Array(1);
    if (system.IsWindowVisible(hwnd) === 0) return false;
    return system.DwmGetWindowAttribute(hwnd, CLOAKED, ptr(cloaked), 4) !== 0 || cloaked[0] === 0;
  };
  const pidOf = (hwnd: bigint): number => {
    const pid = new Uint32Array(1);
    system.GetWindowThreadProcessId(hwnd, ptr(pid));
    return pid[0] ?? 0;
  };
  return {
    windows() {
      const found: DeskWindow[] = [];
      const seen = new Set<bigint>();
      // The order may change meanwhile, and the walk come back to where it was.
      for (let at = system.GetTopWindow(0); at !== 0n && !seen.has(at); at = system.GetWindow(at, NEXT)) {
        if (seen.size >= MAX_LOOKED) break;
        seen.add(at);
        if (isShown(at)) found.push({ hwnd: Number(at), pid: pidOf(at) });
      }
      return found;
    },
    programOf(pid) {
      const process = system.OpenProcess(QUERY_LIMITED_INFORMATION, 0, pid);
      if (process === 0n) return "";
      try {
        const path = new Uint16Array(MAX_PATH_UNITS);
        const units = new Uint32Array([path.length]);
        if (system.QueryFullProcessImageNameW(process, 0, ptr(path), ptr(units)) === 0) return "";
        const text = Buffer.from(path.buffer, 0, 2 * (units[0] ?? 0)).toString("utf16le");
        return win32.basename(text).replace(/\.exe$/i, "");
      } finally {
        system.CloseHandle(process);
      }
    },
    hangs: (hwnd) => system.IsHungAppWindow(hwnd) !== 0,
    active: () => Number(system.GetForegroundWindow()),
    frameAt(x, y) {
      const inner = system.WindowFromPoint((BigInt(y >>> 0) << 32n) | BigInt(x >>> 0));
      // RECT (windef.h): left, top, right, bottom.
      const place = new Int32Array(4);
      if (inner === 0n || system.GetWindowRect(system.GetAncestor(inner, ROOT), ptr(place)) === 0)
        return undefined;
      const [left = 0, top = 0, right = 0, bottom = 0] = place;
      return [left, top, right - left, bottom - top];
    },
  };
}
