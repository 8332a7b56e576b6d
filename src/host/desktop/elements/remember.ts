/**
 * What an act on the desktop used, so that a script can do it again: a locator that was unique at that time, the label of a field,
 * whether it is secret; and what showed afterwards that the act had its effect.
 *
 * Promise: nothing here fails an act. Where it cannot be known whether a field is secret, it counts as secret.
 */
import type { ActedOn, ActTarget, ScriptAction } from "../../../core/acted";
import type { Caller } from "../../../core/caller";
import { deadline } from "../../../lib/deadline";
import type { Requester } from "../../../lib/slots";
import type { Desktop } from "../desktop";
import { decodePng } from "../images/decode";
import { templateAt } from "../record/scenes";
import type { ActStep, Remember } from "./act";
import type { Element } from "./calls";
import type { Elements } from "./elements";
import { type Locator, parseLocator, printLocator } from "./locator";
import { differenceOf, type Entry } from "./snapshot-lines";
import { REFERENCE } from "./snapshots";
import { ACTIONABLE, type LocatorMatch, locatedAt, locatedElement } from "./unique";

/** How long programs are asked for one act, in milliseconds. */
const LIMIT_MS = 3_000;
/** How long a script waits for what is to come, in seconds. */
const PATIENCE_S = 10;
/** How many things that have come, and that have gone, a script looks for after a call. */
const MAX_CAME = 2;
const MAX_SAID = 100;
const MAX_PIXELS = 64 * 1024 * 1024;
/** The largest picture of a place, in bytes. */
const MAX_PICTURE = 24 * 1024;

/** What shows its own name. */
const WITH_TEXT: ReadonlySet<string> = new Set(["button", "link", "tab", "menuitem"]);
/** What says how an act has ended. */
const SAYS: ReadonlySet<string> = new Set(["text", "heading", "alert", "status", "log"]);

/** What remembers the steps of one call. */
export function remembering(elements: Elements, caller: Caller) {
  const targets: ActTarget[] = [];
  /** The fields that were set, by the number of their step. */
  const set = new Map<number, { readonly id: string; readonly text: string }>();
  const tell = (checks: readonly ScriptAction[]) =>
    caller.acted?.({ place: caller.run?.place, targets, checks } satisfies ActedOn);
  const step: Remember = async (element, act) => {
    const target = await targetOfStep(elements, element, act);
    return () => {
      if (act.do === "set_text" && target.secret !== true)
        set.set(targets.length, { id: element.native_id, text: act.text ?? "" });
      targets.push(target);
    };
  };
  return {
    step,
    /** The call failed: those steps count that are done. */
    failed: () => targets.length > 0 && tell([]),
    /** @param before and `now`: what showed before the first step and after the last one. */
    async done(before: readonly Entry[], now: readonly Entry[]): Promise<void> {
      // A field that takes a text in a form of its own would never hold what was put into it.
      for (const [at, { id, text }] of set) {
        const isHeld = now.find((one) => one.id === id)?.words.endsWith(` = ${JSON.stringify(text)}`);
        const target = targets[at];
        if (target && isHeld) targets[at] = { ...target, holds: true };
      }
      const shown = await deadline(effectsOf(elements, before, now), { ms: LIMIT_MS, late: () => [] }).catch(
        () => [],
      );
      tell(shown);
    },
  };
}

async function targetOfStep(
  elements: Elements,
  element: Element,
  { element: line }: ActStep,
): Promise<ActTarget> {
  const match = REFERENCE.test(line) ? await located(locatedElement(elements, element)) : undefined;
  const own = match ? lineOf(match) : REFERENCE.test(line) ? undefined : line;
  return { ...described(element), ...(own !== undefined && { element: own }) };
}

const described = ({ name, secret, role }: Element): ActTarget => ({
  label: name,
  secret,
  isText: WITH_TEXT.has(role) && /\p{L}{3}/u.test(name),
});

const located = (looking: Promise<LocatorMatch | undefined>) =>
  deadline(looking, { ms: LIMIT_MS, late: () => undefined }).catch(() => undefined);

/** In one line, with the program, so that a window of another one is no rival; undefined where it names others too. */
function lineOf({ element, locator, unique }: LocatorMatch): string | undefined {
  if (!unique) return undefined;
  const { app_name } = element;
  const named = locator.window !== undefined || app_name === "" || locator.nth !== undefined;
  return printLocator(named ? locator : { ...locator, app: app_name });
}

/** What has come and gone, as what a script waits for: windows, and words that say how it ended. */
async function effectsOf(
  elements: Elements,
  before: readonly Entry[],
  now: readonly Entry[],
): Promise<ScriptAction[]> {
  const { added, changed, gone } = differenceOf(before, now);
  const named = ({ element: { name } }: Entry) => name !== "" && name.length <= MAX_SAID;
  const isWindow = ({ use, element: { role } }: Entry) => use === "window" || role === "dialog";
  // Numbers are those of this time: an order, an hour.
  const says = ({ element: { role, name } }: Entry) => SAYS.has(role) && !/\d/.test(name) && name.length > 2;
  const renamed = changed.filter(
    ({ id, element }) => before.find((one) => one.id === id)?.element.name !== element.name,
  );
  const came = [
    ...added.filter((entry) => isWindow(entry) && named(entry)).slice(0, 1),
    ...[...added, ...renamed].filter((entry) => says(entry) && named(entry)),
  ].slice(0, MAX_CAME);
  const left = gone.filter((entry) => isWindow(entry) && named(entry)).slice(0, 1);
  const isOnly = async (locator: Locator, count: number) =>
    (await elements.find(locator, 2)).elements.filter(({ visible }) => visible).length === count;
  const actions: ScriptAction[] = [];
  for (const [entries, command, count] of [
    [came, "AC_wait_element", 1],
    [left, "AC_wait_element_gone", 0],
  ] as const) {
    for (const { element } of entries) {
      const { role, name, app_name: app } = element;
      const locator = { role, name, ...(app !== "" && { app }) };
      if (!(await isOnly(locator, count))) continue;
      const line = printLocator(locator);
      parseLocator(line);
      actions.push([command, { element: line, timeout: PATIENCE_S }]);
    }
  }
  return actions;
}

const TYPES: ReadonlySet<string> = new Set(["write", "type_keyboard", "press_keyboard_key", "hotkey"]);

/** What pointer or keyboard are about to use; undefined where the action says it itself. @param verb of the operation. */
export async function targetOf(
  desktop: Desktop,
  verb: string,
  input: Readonly<Record<string, unknown>>,
  requester: Requester,
): Promise<ActTarget | undefined> {
  if (TYPES.has(verb)) return focusedField(desktop.elements);
  const { x, y } = input;
  if (verb !== "click_mouse" || typeof x !== "number" || typeof y !== "number") return undefined;
  const match = await located(locatedAt(desktop.elements, x, y));
  const line = match && ACTIONABLE.has(match.element.role) ? lineOf(match) : undefined;
  if (match && line !== undefined) return { ...described(match.element), element: line };
  return pictureOf(desktop, x, y, requester).catch(() => undefined);
}

/**
 * The field that has the focus: secret where that cannot be known, as in a program that tells of no focus, and in a terminal, which may ask for a
 * password at any time.
 */
async function focusedField(elements: Elements): Promise<ActTarget> {
  const fields = (role: string) => elements.find({ role, focused: true }, 10);
  const ask = async (): Promise<ActTarget> => {
    const { elements: secret } = await fields("password text");
    const [hidden] = secret.filter(({ focused }) => focused);
    if (hidden) return { label: hidden.name, secret: true };
    const { elements: plain } = await fields("textbox");
    const [field] = plain.filter(({ focused }) => focused);
    if (field) return { label: field.name, secret: field.secret };
    const { elements: others } = await elements.find({ focused: true }, 10);
    const isPlain = others.some(({ focused, native_role }) => focused && native_role !== "terminal");
    return { label: "", secret: !isPlain };
  };
  return deadline(ask(), { ms: LIMIT_MS, late: () => ({ secret: true }) }).catch(() => ({ secret: true }));
}

/** A picture by which the place is found again. */
async function pictureOf(
  desktop: Desktop,
  x: number,
  y: number,
  requester: Requester,
): Promise<ActTarget | undefined> {
  const { base64, shown } = await desktop.screenshot(
    { monitor: undefined, region: undefined },
    null,
    requester,
  );
  const picture = decodePng(Buffer.from(base64 ?? "", "base64"), MAX_PIXELS, "screen");
  // Of a screen with more pixels than the pointer has places, a place is another pixel.
  if (picture.width !== shown.x2 - shown.x1) return undefined;
  const point = { x: x - shown.x1, y: y - shown.y1 };
  const around = { x1: 0, y1: 0, x2: picture.width, y2: picture.height };
  const found = templateAt(point, [{ picture, pointer: { x: -1_000, y: -1_000 }, at: 0 }], around);
  if (!found || found.png.byteLength > MAX_PICTURE) return undefined;
  const { offset, png } = found;
  return { image: { data: Buffer.from(png).toString("base64"), offset_x: offset.x, offset_y: offset.y } };
}
