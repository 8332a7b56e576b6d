/**
 * Recording what a person does on an X11 desktop as a script, until Escape, a signal or a time.
 *
 * Promise: nothing that is typed leaves this process but into the script.
 */
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { jsonLine } from "../../lib/sanitize";
import type { Region } from "../geometry";
import { windowProperties } from "../x11/properties";
import { createScreen, rootPlace } from "../x11/screen";
import { keysymNeeds, type Meaning, meaningOf } from "./keyboard";
import { listen, type Stroke } from "./listen";
import { LOOK_MS, type Scene, Scenes, templateAt } from "./scenes";
import type { Button, Deed, SeenPlace, SeenWindow } from "./script";
import { followFocus, seenWindow, underPointer } from "./windows";

/** The most that is recorded: a script has 1,000 actions at most. */
const MAX_DEEDS = 5_000;

/** How far the pointer goes with a button down before that is a drag, in pixels. */
const DRAG_PX = 8;

/** How often the screen is looked at before the start, at most, until it is still: a video never is. */
const MAX_FIRST_LOOKS = 5;

/**
 * How long nobody does anything before pictures are searched for look-alikes, in milliseconds: meanwhile no key is read, and
 * a program may give one a meaning for a moment.
 */
const QUIET_MS = 2_000;
/** The most clicks that wait for that: each holds two pictures of the whole screen. */
const MAX_WAITING = 16;

const BUTTONS: ReadonlyMap<number, Button> = new Map([
  [1, "left"],
  [2, "middle"],
  [3, "right"],
]);
const WHEEL = new Map([
  [4, "up"],
  [5, "down"],
  [6, "left"],
  [7, "right"],
] as const);

export interface RecordingParts {
  readonly log: Log;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Takes a picture. @returns the path by which the script names it. */
  keep(png: Uint8Array): string;
  /** Whether what is done in the window that has the focus at the start is left out: the terminal of this command. */
  readonly skipsOwnWindow: boolean;
  /** Called when it listens. */
  begun(): void;
}

/**
 * @returns what was done, once it has ended.
 * @throws an `unavailable` failure without a display, or where it has no RECORD extension.
 */
export async function record(parts: RecordingParts): Promise<Deed[]> {
  const { log, signal, keep } = parts;
  const deeds: Deed[] = [];
  const scenes = new Scenes();
  const held = new Set<string>();
  const pressed = new Map<number, { place: SeenPlace; window: SeenWindow | undefined; at: number }>();
  const waiting: Array<() => void> = [];
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  let busyAt = 0;
  let own: number | undefined;
  let focused = (): number | undefined => undefined;
  let handled: Promise<void> = Promise.resolve();
  let ended = false;

  const drain = () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) next();
  };
  /** A place whose picture is made when there is time. */
  const placeOf = (stroke: Stroke, before: readonly Scene[], around: Region): SeenPlace => {
    const place = { x: stroke.x, y: stroke.y, image: null as string | null, offset: { x: 0, y: 0 } };
    waiting.push(() => {
      const found = templateAt(stroke, before, around);
      if (found) Object.assign(place, { image: keep(found.png), offset: found.offset });
      else log.warn(`the place ${stroke.x}, ${stroke.y} looks like other places: its click has coordinates`);
    });
    if (waiting.length > MAX_WAITING) drain();
    return place;
  };
  /** The script focuses the window first, which may change how it looks. */
  const warnOfFocus = ({ title }: SeenWindow) =>
    log.warn(
      `the window ${jsonLine(title)} did not have the focus when it was clicked: where it looks different with the focus, the click is not found again. Give it the focus first, with Alt-Tab`,
    );
  const add = (deed: Deed) => {
    if (deed.window && deed.window.hwnd === own) return;
    if (deeds.length >= MAX_DEEDS) return end();
    deeds.push(deed);
  };
  const key = (meaning: Meaning, plain: Meaning, window: SeenWindow | undefined, at: number) => {
    if (!meaning) {
      log.warn("a key was pressed that actions have no name for: it is left out");
      return;
    }
    if ("modifier" in meaning) return void (meaning.modifier && held.add(meaning.modifier));
    const chords = ["ctrl", "alt", "win"].filter((name) => held.has(name));
    const isChord = chords.length > 0 || !meaning.isCharacter;
    const shift = held.has("shift") && isChord ? ["shift"] : [];
    if (meaning.key === "esc" && chords.length + shift.length === 0) {
      ended = true;
      return end();
    }
    const named = chords.length > 0 && plain && "key" in plain ? plain.key : meaning.key;
    add({ kind: "key", key: named, with: [...chords, ...shift], window, at });
  };
  const take = (stroke: Stroke) => {
    if (ended) return;
    busyAt = performance.now();
    const at = busyAt;
    const { kind, detail } = stroke;
    const before = kind === "button press" ? scenes.before(at, stroke) : [];
    const active = focused();
    // Asked for now: a moment later the program may have changed it.
    const asked = Promise.all([
      kind === "key press" || kind === "key release" ? keysymNeeds(control, detail) : undefined,
      active === undefined ? undefined : seenWindow(windows, active),
      kind === "button press" ? underPointer(control, windows, stroke) : undefined,
    ]);
    asked.catch(() => {});
    handled = handled.then(async () => {
      const [needs, active, under] = await asked;
      // A click acts on the window where it is, whichever has the focus.
      const window = under?.window ?? active;
      if (needs) {
        const meaning = await meaningOf(needs, { shift: held.has("shift"), third: held.has("altgr") });
        if (kind === "key press")
          key(meaning, await meaningOf(needs, { shift: false, third: false }), window, at);
        else if (meaning && "modifier" in meaning && meaning.modifier) held.delete(meaning.modifier);
        return;
      }
      const direction = WHEEL.get(detail as 4);
      if (direction && kind === "button press") {
        add({ kind: "scroll", direction, place: { x: stroke.x, y: stroke.y, image: null }, window, at });
      }
      const button = BUTTONS.get(detail);
      if (!button) return;
      if (kind === "button press" && under) {
        if (window && window.hwnd === own) return;
        if (window && window.hwnd !== active?.hwnd) warnOfFocus(window);
        pressed.set(detail, { place: placeOf(stroke, before, under.around), window, at });
        return;
      }
      const down = pressed.get(detail);
      pressed.delete(detail);
      if (!down) return;
      const isDrag = Math.hypot(stroke.x - down.place.x, stroke.y - down.place.y) > DRAG_PX;
      const to = { x: stroke.x, y: stroke.y, image: null };
      if (isDrag) add({ kind: "drag", button, from: down.place, to, window: down.window, at: down.at });
      else add({ kind: "click", button, place: down.place, window: down.window, at: down.at });
    });
    handled = handled.catch((error) => {
      if (!ended) log.warn(`something that was done is left out: ${messageOf(error)}`);
    });
  };

  const { control, stop, close } = await listen((stroke) => take(stroke), end);
  const screen = createScreen(control);
  const windows = windowProperties(control);
  focused = await followFocus(control, windows);
  const look = async () => {
    const [{ rootX, rootY }, place] = await Promise.all([
      control.need.QueryPointer(control.screen.root),
      rootPlace(control),
    ]);
    const picture = await screen.capture(place);
    scenes.add({ picture, pointer: { x: rootX, y: rootY }, at: performance.now() });
    // One at a time: a search takes a while, and meanwhile no stroke is read.
    if (performance.now() - busyAt > QUIET_MS) waiting.shift()?.();
  };
  const { promise: ready, resolve: started } = Promise.withResolvers<void>();
  const looking = (async () => {
    for (let looks = 1; !ended; looks++) {
      await look();
      // What has just been opened or got the focus may fade in.
      if (looks === MAX_FIRST_LOOKS || (looks < MAX_FIRST_LOOKS && scenes.isStill)) started();
      await Promise.race([Bun.sleep(LOOK_MS), over]);
    }
  })();
  looking.catch((error) => {
    log.error(`the screen cannot be read any more: ${messageOf(error)}`);
    end();
  });
  try {
    if (parts.skipsOwnWindow) own = focused();
    if (signal.aborted) end();
    signal.addEventListener("abort", () => end(), { once: true });
    await Promise.race([ready, looking, over]);
    parts.begun();
    await over;
    // What was done before may not have been read yet.
    await stop();
    ended = true;
    await handled;
    drain();
    return deeds;
  } finally {
    ended = true;
    end();
    await looking.catch(() => {});
    close();
  }
}
