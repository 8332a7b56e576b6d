/**
 * What differs between macOS and Windows, one shape for both.
 */
import { unavailable } from "../../lib/errors";
import type { Robot } from "./backend";
import type { Screens } from "./screen";

export interface Platform {
  /** What robotjs's `scrollMouse` takes for one notch of a wheel. */
  readonly wheelStep: number;
  /** Types one character (code point) into the window that has the focus. */
  typeCharacter(character: string, robot: Robot): void;
  /** @throws `not_found` when there is no such window, `unavailable` when it did not get the focus. */
  focus(hwnd: number, addons: { readonly robot: Robot; readonly screens: Screens }): Promise<void>;
}

/** @throws an `unavailable` failure on a system that svc does not know. */
export async function thisPlatform(): Promise<Platform> {
  if (process.platform === "win32") return (await import("./windows")).createWindows();
  if (process.platform === "darwin") return (await import("./macos")).createMacos();
  throw unavailable(`no desktop: svc does not know that of ${process.platform}`);
}
