/**
 * The desktop of this host: screen, pointer, keyboard and windows.
 *
 * Promise: none of it runs in this process. A display that is missing and a library that crashes or hangs cost the call
 * that met them (see `helper.ts`).
 */
import { selfCommand } from "../children";
import type { Log } from "../lib/log";
import type { Button, DesktopWindow, Direction, Stroke, Target } from "./backend";
import type { Frame, Shot } from "./calls";
import type { Point, Size } from "./geometry";
import { createTurns, type Turns } from "./input-lock";
import { Held } from "./pressed-keys";
import { Helper } from "./worker";

/** How long a call may take, in milliseconds. */
const DEADLINE_MS = 10_000;
/** How long the child is kept without calls, in milliseconds. */
const IDLE_MS = 60_000;
/** How many characters are typed by one call: each may need a key mapped to it first. */
const TYPED_AT_ONCE = 64;

export interface DesktopOptions {
  /** The lock file that processes on one `{config_dir}` share. */
  readonly turnLock: string;
  readonly log: Log;
  /** What the child runs (default: svc's own). */
  readonly command?: readonly string[];
  /** The child's environment (default: this process's). */
  readonly env?: NodeJS.ProcessEnv;
  /** How long a call may take, in milliseconds (default 10,000). */
  readonly deadlineMs?: number;
  /** How long the child is kept without calls, in milliseconds (default 60,000). */
  readonly idleMs?: number;
}

/** Every method throws Failure: `unavailable` without a display, `timeout` after the deadline, `bad_input`, … */
export class Desktop {
  /** Turns at pointer and keyboard, for runs of operations that say `uses: "input"`. */
  readonly turns: Turns;
  private readonly helper: Helper;
  private readonly held = new Held();

  constructor(options: DesktopOptions) {
    const { turnLock, log, command = selfCommand(["desktop-child"]), env = process.env } = options;
    const { deadlineMs = DEADLINE_MS, idleMs = IDLE_MS } = options;
    const mayLeave = () => !this.held.isDown();
    const helper = new Helper({ command, env, deadlineMs, idleMs, mayLeave, log });
    const letGo = () =>
      this.held.letGo({
        strike: (keys, stroke) => helper.call("strike", { keys, stroke }),
        click: (target, button, stroke) => helper.call("click", { target, button, stroke }),
      });
    this.helper = helper;
    this.turns = createTurns(turnLock, letGo);
  }

  /** The process id of the child; null when there is none just now. */
  get childPid(): number | null {
    return this.helper.pid;
  }

  /** What all monitors cover together. */
  screenSize(signal: AbortSignal): Promise<Size> {
    return this.helper.call("screenSize", null, signal);
  }

  pointer(signal: AbortSignal): Promise<Point> {
    return this.helper.call("pointer", null, signal);
  }

  /** @returns where the pointer then is, as do the next two. */
  move(target: Target, signal: AbortSignal): Promise<Point> {
    return this.helper.call("move", target, signal);
  }

  click(target: Target, button: Button, stroke: Stroke, signal: AbortSignal): Promise<Point> {
    return this.held.during([{ button }], stroke === "press", () =>
      this.helper.call("click", { target, button, stroke }, signal),
    );
  }

  /** @param steps how many notches of the wheel; a negative number turns it the other way. */
  scroll(target: Target, direction: Direction, steps: number, signal: AbortSignal): Promise<Point> {
    const way = steps < 0 ? OPPOSITE[direction] : direction;
    return this.helper.call("scroll", { target, direction: way, steps: Math.abs(steps) }, signal);
  }

  /** @param keys pressed in order and released in reverse. */
  strike(keys: readonly string[], stroke: Stroke, signal: AbortSignal): Promise<void> {
    const pressed = keys.map((key) => ({ key }));
    return this.held.during(pressed, stroke === "press", () =>
      this.helper.call("strike", { keys, stroke }, signal),
    );
  }

  /** Types `text` into whatever has the focus. Cancelled between two pieces of it, the rest is left out. */
  async type(text: string, signal: AbortSignal): Promise<void> {
    const characters = [...text.replaceAll(/\r\n?/g, "\n")];
    for (let at = 0; at < characters.length; at += TYPED_AT_ONCE) {
      await this.helper.call("type", characters.slice(at, at + TYPED_AT_ONCE).join(""), signal);
    }
  }

  /** @param file where to write the PNG; null to have it in the answer. */
  screenshot(frame: Frame, file: string | null, signal: AbortSignal): Promise<Shot> {
    return this.helper.call("screenshot", { ...frame, file }, signal);
  }

  /** Undefined where the platform does not tell. */
  windows(signal: AbortSignal): Promise<readonly DesktopWindow[] | undefined> {
    return this.helper.call("windows", null, signal);
  }

  /** Gives the window the focus; resolves when it has it. */
  focus(hwnd: number, signal: AbortSignal): Promise<void> {
    return this.helper.call("focus", hwnd, signal);
  }

  /** Ends the child, which lets go what is down if it is a run in the middle that is cut off. */
  stop(): Promise<void> {
    return this.helper.stop(this.turns.taken() ? undefined : { name: "keepDown", argument: null });
  }
}

const OPPOSITE: Record<Direction, Direction> = { up: "down", down: "up", left: "right", right: "left" };
