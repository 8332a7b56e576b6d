/**
 * The deeds of a person, read from strokes in their order, and from what the screen showed before each.
 */
import { messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { jsonLine } from "../../../lib/sanitize";
import type { Button } from "../backend";
import type { Point, Region } from "../geometry";
import type { XConnection } from "../x11/connection";
import type { WindowProperties } from "../x11/properties";
import { isStill, pictureOfChange } from "./changes";
import { type KeyReading, type Meaning, meaningOf, readKey } from "./keyboard";
import type { Stroke } from "./listen";
import type { NamedPlace, Names } from "./names";
import { type Scene, type Scenes, templateAt } from "./scenes";
import type { Deed, Ending, SeenPlace, SeenWindow, Sight } from "./script";
import { placeOnRoot, seenWindow, underPointer } from "./windows";

/** The most that is recorded: a script has 1,000 actions at most. */
const MAX_DEEDS = 5_000;

/** How far the pointer goes with a button down before that is a drag, in pixels. */
const DRAG_PX = 8;

/** The most clicks that wait for a search: each holds two pictures of the whole screen. */
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

/** What reading deeds needs. */
interface DeedParts {
  readonly log: Log;
  readonly control: XConnection;
  readonly windows: WindowProperties;
  readonly scenes: Scenes;
  /** What programs show by name. */
  readonly names: Names;
  /** The window that has the focus; undefined for none. */
  focused(): number | undefined;
  /** Takes a picture. @returns the path by which the script names it. */
  keep(png: Uint8Array): string;
  /** Called when the person ends it, or it becomes too long. */
  end(): void;
}

/** The screen before something is done: what the deed before it has changed. */
interface Moment {
  /** The newest look at it. */
  readonly newest: Scene | undefined;
  /** The last two looks since the deed before. */
  readonly two: readonly [Scene, Scene] | undefined;
}

interface StrokeContext {
  readonly moment: Moment;
  /** Where the window that had the focus was. */
  readonly inside: Region | undefined;
  /** The window that had the focus. */
  readonly active: SeenWindow | undefined;
  /** The window under the pointer, and the region around it, for a press of a button. */
  readonly under: Awaited<ReturnType<typeof underPointer>> | undefined;
  /** What the screen showed before. */
  readonly before: readonly Scene[];
  /** In milliseconds. */
  readonly at: number;
  /** What is there by name, for a press of a button. */
  readonly element: NamedPlace | undefined;
  /** Whether a secret field has the focus, for a key. */
  readonly secret: boolean;
}

interface PressedButton {
  readonly place: SeenPlace;
  readonly window: SeenWindow | undefined;
  readonly at: number;
  readonly context: StrokeContext;
}

/** Whether it types text, or takes it back. */
const isTyped = (deed: Deed): boolean =>
  deed.kind === "key" &&
  deed.with.length === 0 &&
  (/^(space|backspace)$/.test(deed.key) || [...deed.key].length === 1);

/** Reads deeds. */
export class DeedReader {
  readonly deeds: Deed[] = [];
  /** The modifiers that are down. */
  readonly #held = new Set<string>();
  readonly #pressed = new Map<number, PressedButton>();
  readonly #searches: Array<() => void> = [];
  #busyAt = 0;
  #handled: Promise<void> = Promise.resolve();
  #hasEnded = false;
  #own: number | undefined;
  /** Before the last deed. */
  #scene: Scene | undefined;
  #isText = false;
  /** Where the last deed left the pointer. */
  #pointer: Point | undefined;
  /** When Escape was pressed. */
  #last: Moment | undefined;

  constructor(private readonly parts: DeedParts) {}

  leaveOut(window: number | undefined): void {
    this.#own = window;
  }

  /** When the last stroke came, by performance.now(). */
  get busyAt(): number {
    return this.#busyAt;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Takes no more strokes. */
  end(): void {
    this.#hasEnded = true;
  }

  /** Takes no more strokes. Resolves with the deeds once all strokes have been read, and their pictures made. */
  async finish(): Promise<{ readonly deeds: Deed[]; readonly ending: Ending }> {
    this.end();
    const now = this.#momentAt(performance.now());
    await this.#handled;
    const { focused, control } = this.parts;
    const active = focused();
    const inside = active === undefined ? undefined : await placeOnRoot(control, active);
    const sight = this.#sightOf(this.#last ?? now, inside);
    const window = this.deeds.findLast((deed) => deed.window)?.window;
    const outcome = window && (await this.#outcomeOf(window));
    while (this.searchOne()) {}
    // Of a window that has gone, what is behind it is not there again.
    return { deeds: this.deeds, ending: { image: outcome?.gone ? null : sight.image, ...outcome } };
  }

  async #outcomeOf(window: SeenWindow): Promise<Pick<Ending, "gone" | "came">> {
    const { windows, focused } = this.parts;
    const all = await Promise.all((await windows.listed()).map((hwnd) => seenWindow(windows, hwnd)));
    const titled = all.filter(({ title }) => title.includes(window.title));
    if (window.title !== "" && titled.length === 0) return { gone: window };
    const came = all.find(({ hwnd }) => hwnd === focused());
    const isOther = came && came.hwnd !== window.hwnd && came.hwnd !== this.#own && came.title !== "";
    return isOther ? { came } : {};
  }

  #momentAt(at: number): Moment {
    const { scenes } = this.parts;
    return { newest: scenes.newest(at), two: scenes.lastTwo(at, this.#busyAt, this.#pointer) };
  }

  /** What is seen before a deed. Its picture is made when there is time. */
  #sightOf({ two }: Moment, inside: Region | undefined): Sight {
    const sight: Sight = { image: null, isStill: !two || isStill(...two) };
    const [before, isText] = [this.#scene, this.#isText];
    if (!before || !two) return sight;
    const [after, next] = two;
    this.#search(() => {
      const png = pictureOfChange({ before, after, next, inside }, isText);
      if (png) sight.image = this.parts.keep(png);
    });
    return sight;
  }

  #search(work: () => void): void {
    this.#searches.push(work);
    if (this.#searches.length > MAX_WAITING) while (this.searchOne()) {}
  }

  /** Makes the picture of one click. @returns whether there was one without. */
  searchOne(): boolean {
    const search = this.#searches.shift();
    search?.();
    return search !== undefined;
  }

  take(stroke: Stroke): void {
    if (this.#hasEnded) return;
    const { control, windows, scenes, names, focused, log } = this.parts;
    const at = performance.now();
    const { kind, detail } = stroke;
    const busyAt = this.#busyAt;
    const before = kind === "button press" ? scenes.before(at, stroke) : [];
    const moment = this.#momentAt(at);
    this.#busyAt = at;
    if (kind === "button release") this.#pointer = stroke;
    const active = focused();
    // Read now: a moment later the program may have changed it.
    const pointed = kind === "button press" ? underPointer(control, windows, stroke) : undefined;
    const reading = Promise.all([
      kind === "key press" || kind === "key release" ? readKey(control, detail) : undefined,
      active === undefined ? undefined : seenWindow(windows, active),
      pointed,
      active === undefined ? undefined : placeOnRoot(control, active),
      kind === "button press" && BUTTONS.has(detail)
        ? pointed?.then(({ window }) => names.at(stroke, busyAt, window === undefined))
        : undefined,
      kind === "key press" && names.isSecret(),
    ]);
    reading.catch(() => {});
    this.#handled = this.#handled
      .then(async () => {
        const [key, active, under, inside, element, secret] = await reading;
        const context = { active, under, before, at, moment, inside, element, secret };
        if (key) await this.#readKey(stroke, key, context);
        else this.#readButton(stroke, context);
      })
      .catch((error) => {
        if (!this.#hasEnded) log.warn(`something that was done is left out: ${messageOf(error)}`);
      });
  }

  async #readKey({ kind }: Stroke, key: KeyReading, context: StrokeContext): Promise<void> {
    const held = this.#held;
    const meaning = await meaningOf(key, { shift: held.has("shift"), third: held.has("altgr") });
    if (kind === "key press") {
      this.#addKey(meaning, await meaningOf(key, { shift: false, third: false }), context);
    } else if (meaning && "modifier" in meaning && meaning.modifier) held.delete(meaning.modifier);
  }

  #readButton(stroke: Stroke, context: StrokeContext): void {
    const { active, under, before, at } = context;
    const { kind, detail, x, y } = stroke;
    // A click acts on the window where it is, whichever has the focus.
    const window = under?.window ?? active;
    const direction = WHEEL.get(detail as 4);
    if (direction && kind === "button press") {
      this.#add({ kind: "scroll", direction, place: { x, y, image: null }, window, at }, context);
    }
    const button = BUTTONS.get(detail);
    if (!button) return;
    if (kind === "button press" && under) {
      if (window && window.hwnd === this.#own) return;
      if (window && window.hwnd !== active?.hwnd) this.#warnOfFocus(window);
      const place = this.#placeOf(stroke, before, under.around, context.element);
      this.#pressed.set(detail, { place, window, at, context });
      return;
    }
    const down = this.#pressed.get(detail);
    this.#pressed.delete(detail);
    if (!down) return;
    const { place, window: inside, at: since } = down;
    const to = { x, y, image: null };
    const isDrag = Math.hypot(x - place.x, y - place.y) > DRAG_PX;
    if (isDrag) this.#add({ kind: "drag", button, from: place, to, window: inside, at: since }, down.context);
    else this.#add({ kind: "click", button, place, window: inside, at: since }, down.context);
  }

  #addKey(meaning: Meaning, plain: Meaning, context: StrokeContext): void {
    const { active: window, at } = context;
    const held = this.#held;
    if (!meaning) {
      this.parts.log.warn("a key was pressed that actions have no name for: it is left out");
      return;
    }
    if ("modifier" in meaning) {
      if (meaning.modifier) held.add(meaning.modifier);
      return;
    }
    const chords = ["ctrl", "alt", "win"].filter((name) => held.has(name));
    const isChord = chords.length > 0 || !meaning.isCharacter;
    const shift = held.has("shift") && isChord ? ["shift"] : [];
    if (meaning.key === "esc" && chords.length + shift.length === 0) {
      this.#hasEnded = true;
      this.#last = context.moment;
      this.parts.end();
      return;
    }
    const named = chords.length > 0 && plain && "key" in plain ? plain.key : meaning.key;
    const { secret } = context;
    const key = { kind: "key", key: named, with: [...chords, ...shift], window, at } as const;
    this.#add(secret ? { ...key, secret } : key, context);
  }

  #add(deed: Deed, { moment, inside }: Pick<StrokeContext, "moment" | "inside">): void {
    if (deed.window && deed.window.hwnd === this.#own) return;
    if (this.deeds.length >= MAX_DEEDS) {
      this.parts.end();
      return;
    }
    const last = this.deeds.at(-1);
    const goesOn = last?.kind === deed.kind && (deed.kind === "scroll" || (isTyped(last) && isTyped(deed)));
    this.deeds.push(goesOn ? deed : { ...deed, sight: this.#sightOf(moment, inside) });
    if (!goesOn) this.#scene = moment.newest;
    this.#isText = isTyped(deed);
  }

  /** A place whose picture is made when there is time. */
  #placeOf(
    { x, y }: Stroke,
    before: readonly Scene[],
    around: Region,
    element: NamedPlace | undefined,
  ): SeenPlace {
    const { log, keep } = this.parts;
    const place = { x, y, image: null as string | null, offset: { x: 0, y: 0 }, element };
    if (element?.isNamed) return place;
    this.#search(() => {
      const found = templateAt({ x, y }, before, around);
      if (found) Object.assign(place, { image: keep(found.png), offset: found.offset });
      else if (!element) log.warn(`the place ${x}, ${y} looks like other places: its click has coordinates`);
    });
    return place;
  }

  /** The script focuses the window first, which may change how it looks. */
  #warnOfFocus({ title }: SeenWindow): void {
    this.parts.log.warn(
      `the window ${jsonLine(title)} did not have the focus when it was clicked: where it looks different with the focus, the click is not found again. Give it the focus first, with Alt-Tab`,
    );
  }
}
