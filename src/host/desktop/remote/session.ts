/**
 * What a compositor lets a program do through the session bus: pointer, keys, and pictures by PipeWire. Mutter (`gnome/`) and the portal
 * (`portal/`) have it, each in its own words.
 */
import { once } from "../../../lib/once";
import type { Output } from "../wayland/outputs";

/** What is shown of one monitor. */
export interface Stream {
  /** The node of PipeWire that its pictures come from. */
  readonly node: Promise<number>;
}

/** A session that is open. Its calls go out in the order in which they are made. */
export interface OpenRemote {
  /** By the names of the monitors. */
  readonly streams: ReadonlyMap<string, Stream>;
  /** Why there are no streams; undefined where there are. */
  readonly castProblem: string | undefined;
  /** Has the compositor make the device, so that programs take notice of it before it does anything. */
  wake(device: "pointer" | "keyboard"): Promise<unknown>;
  /** Puts the pointer on a monitor that has a stream. @param x from its left edge, in units of the pointer; so is `y` from its upper one. */
  point(output: Output, x: number, y: number): Promise<unknown>;
  /** @param code of `linux/input-event-codes.h`. */
  button(code: number, isDown: boolean): Promise<unknown>;
  /** @param axis 0 for the wheel that turns up and down, 1 for the other. @param steps notches: down and right are positive. */
  turn(axis: 0 | 1, steps: number): Promise<unknown>;
  keysym(keysym: number, isDown: boolean): Promise<unknown>;
  /** The descriptor of a connection to PipeWire, which is the caller's to close; undefined where that of the host is used. */
  pipewire(): Promise<number | undefined>;
}

/** The session: it is opened when it is first used, and again when it was closed or monitors have changed. */
export interface RemoteSession<S extends OpenRemote = OpenRemote> {
  /** Who has it, for messages: `GNOME`. */
  readonly who: string;
  /** @param forPictures one that has none is opened anew where there are pictures by now. @throws `unavailable` where it is not allowed. */
  use(forPictures?: boolean): Promise<S>;
  /** Each is called when an open session has ended: keys and the clipboard are nobody's then. */
  readonly endListeners: Set<() => void>;
}

/** A function that calls `make` once for each session that is opened, and resolves when that is done. */
export function oncePerSession(
  { endListeners }: Pick<RemoteSession, "endListeners">,
  make: () => Promise<void>,
): () => Promise<void> {
  let made = once(make);
  endListeners.add(() => {
    made = once(make);
  });
  return () => made();
}
