import { readlinkSync } from "node:fs";
import { orElse } from "./or-else";

/**
 * Names the display that programs of this process see, so that two processes of one user can tell whether theirs is the same.
 *
 * @param env the environment of the process.
 * @returns an empty text where no variable names one: the session of the user on Windows and macOS, or none.
 */
export function displayName({ DISPLAY, WAYLAND_DISPLAY, XDG_RUNTIME_DIR = "" }: NodeJS.ProcessEnv): string {
  // As the desktop chooses: Wayland before X11.
  if (WAYLAND_DISPLAY)
    return `wayland ${WAYLAND_DISPLAY.startsWith("/") ? "" : XDG_RUNTIME_DIR} ${WAYLAND_DISPLAY}`;
  // X(7): the first screen may be left out.
  return DISPLAY ? `x11 ${DISPLAY.replace(/\.0$/, "")} ${network()}` : "";
}

/** A container with a network of its own has displays of its own (namespaces(7)). */
const network = (): string =>
  orElse(() => (process.platform === "linux" ? readlinkSync("/proc/self/ns/net") : ""), "");
