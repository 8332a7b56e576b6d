/**
 * Perform Actions (W3C WebDriver, section 15): sources of pointer, keys and wheel that act tick by tick.
 */
import * as v from "valibot";
import { DEFAULT_PACE_S } from "../../../core/run";
import { sleep } from "../../../lib/deadline";
import { cancelled } from "../../../lib/errors";
import type { Requester } from "../../../lib/slots";
import { failing } from "../../../wire/webdriver/errors";
import type { Desktop } from "../desktop";
import { ELEMENT_KEY } from "./answers";
import { isTyped, keyOf } from "./keys";
import type { Session } from "./sessions";

const MILLISECONDS = v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(60_000)), 0);
const WHOLE = v.pipe(v.number(), v.finite(), v.minValue(-32_768), v.maxValue(32_767));
const BUTTON = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(2));
const ORIGIN = v.optional(
  v.union([v.picklist(["viewport", "pointer"]), v.object({ [ELEMENT_KEY]: v.string() })]),
  "viewport",
);
const CHARACTER = v.pipe(
  v.string(),
  v.check((text) => [...text].length === 1, "one character"),
);

const ITEM = v.variant("type", [
  v.object({ type: v.literal("pause"), duration: MILLISECONDS }),
  v.object({ type: v.literal("keyDown"), value: CHARACTER }),
  v.object({ type: v.literal("keyUp"), value: CHARACTER }),
  v.object({ type: v.literal("pointerDown"), button: BUTTON }),
  v.object({ type: v.literal("pointerUp"), button: BUTTON }),
  v.object({ type: v.literal("pointerMove"), x: WHOLE, y: WHOLE, duration: MILLISECONDS, origin: ORIGIN }),
  v.object({
    type: v.literal("scroll"),
    x: WHOLE,
    y: WHOLE,
    deltaX: WHOLE,
    deltaY: WHOLE,
    duration: MILLISECONDS,
    origin: ORIGIN,
  }),
]);
type Item = v.InferOutput<typeof ITEM>;

const SOURCE = v.object({
  type: v.picklist(["none", "key", "pointer", "wheel"]),
  id: v.string(),
  parameters: v.optional(
    v.object({ pointerType: v.optional(v.picklist(["mouse", "pen", "touch"]), "mouse") }),
  ),
  // As many as they are first: to check each takes time.
  actions: v.pipe(v.array(v.unknown()), v.maxLength(1_000), v.array(ITEM)),
});

/** The sources of a call, with their actions. */
export const SOURCES = v.pipe(v.array(SOURCE), v.maxLength(16));
type Source = v.InferOutput<typeof SOURCE>;

/** The notch of a wheel, in pixels. */
const NOTCH = 100;
const BUTTONS = ["left", "middle", "right"] as const;
const ALLOWED: Readonly<Record<Source["type"], readonly Item["type"][]>> = {
  none: ["pause"],
  key: ["pause", "keyDown", "keyUp"],
  pointer: ["pause", "pointerDown", "pointerUp", "pointerMove"],
  wheel: ["pause", "scroll"],
};

/** What acts for a session. */
export interface Actor {
  readonly desktop: Desktop;
  readonly requester: Requester;
  readonly session: Session;
  /** The middle of an element, in coordinates of the pointer. @throws `stale element reference`. */
  middleOf(reference: string): Promise<readonly [number, number]>;
}

/** Checks sources before any of them acts. @throws `invalid argument`. */
export function requireFitting(sources: readonly Source[]): void {
  for (const { type, actions, parameters } of sources) {
    const odd = actions.find((item) => !ALLOWED[type].includes(item.type));
    if (odd) throw failing("invalid argument", `actions: a source of type ${type} has no ${odd.type}`);
    if (parameters && parameters.pointerType !== "mouse")
      throw failing(
        "unsupported operation",
        `actions: a desktop has a mouse, and no ${parameters.pointerType}`,
      );
  }
}

/** Does the actions tick by tick; each tick lasts as long as the longest in it. */
export async function perform(actor: Actor, sources: readonly Source[]): Promise<void> {
  const ticks = Math.max(0, ...sources.map(({ actions }) => actions.length));
  for (let tick = 0; tick < ticks; tick++) {
    const started = performance.now();
    const items = sources.flatMap(({ actions }) => actions[tick] ?? []);
    for (const item of items) await act(actor, item);
    const lasting = Math.max(0, ...items.map((item) => ("duration" in item ? item.duration : 0)));
    await pause(lasting - (performance.now() - started), actor.requester.signal);
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (ms <= 0) return;
  await sleep(ms, signal, () => cancelled("cancelled between two actions"));
}

async function act(actor: Actor, item: Item): Promise<void> {
  const { desktop, requester, session } = actor;
  const { pressed } = session;
  switch (item.type) {
    case "pause":
      return;
    case "keyDown": {
      const key = keyOf(item.value);
      const held = pressed.flatMap((one) => ("key" in one ? one.key : []));
      // Keys go to what has the focus, which a click before them gives a moment later.
      await desktop.pointerRests(DEFAULT_PACE_S, requester);
      if (isTyped(item.value, held)) return desktop.type(item.value, requester);
      pressed.push({ key });
      return desktop.strike([key], "press", requester);
    }
    case "keyUp": {
      const key = keyOf(item.value);
      const isHeld = forget(pressed, (one) => "key" in one && one.key === key);
      if (!isHeld) return;
      return desktop.strike([key], "release", requester);
    }
    case "pointerDown": {
      const button = buttonOf(item.button);
      pressed.push({ button });
      await desktop.click({}, button, "press", requester);
      return;
    }
    case "pointerUp": {
      const button = buttonOf(item.button);
      forget(pressed, (one) => "button" in one && one.button === button);
      await desktop.click({}, button, "release", requester);
      return;
    }
    case "pointerMove":
      await desktop.move(await placeOf(actor, item), requester);
      return;
    case "scroll": {
      const place = await placeOf(actor, item);
      const notches = (delta: number) => Math.sign(delta) * Math.max(1, Math.round(Math.abs(delta) / NOTCH));
      if (item.deltaY !== 0) await desktop.scroll(place, "down", notches(item.deltaY), requester);
      if (item.deltaX !== 0) await desktop.scroll(place, "right", notches(item.deltaX), requester);
    }
  }
}

const buttonOf = (button: number) => BUTTONS[button] ?? "left";

/** @returns whether there was one. */
function forget<T>(list: T[], test: (one: T) => boolean): boolean {
  const at = list.findLastIndex(test);
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
}

/** Where an action goes. A place of the viewport is one of the desktop. */
async function placeOf(
  { desktop, requester, middleOf }: Actor,
  { x, y, origin }: Extract<Item, { origin: unknown }>,
): Promise<{ readonly x: number; readonly y: number }> {
  let [left, top]: readonly [number, number] = [0, 0];
  if (typeof origin === "object") [left, top] = await middleOf(origin[ELEMENT_KEY] ?? "");
  else if (origin === "pointer") {
    const pointer = await desktop.pointer(requester);
    [left, top] = [pointer.x, pointer.y];
  }
  return { x: Math.round(left + x), y: Math.round(top + y) };
}

/** Lets go of what actions have pressed, the last first. */
export async function releaseAll({ desktop, requester, session }: Omit<Actor, "middleOf">): Promise<void> {
  for (const one of session.pressed.splice(0).toReversed()) {
    if ("key" in one) await desktop.strike([one.key], "release", requester);
    else await desktop.click({}, one.button, "release", requester);
  }
}
