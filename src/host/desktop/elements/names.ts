/**
 * Whether an element is one that a locator names, and the label that names a field which has no name of its own.
 */
import type { Rect } from "../geometry";
import type { Locator, State } from "./locator";
import { normalized, STATE } from "./said";

/** The numbers of labels and plain texts. */
export const LABEL_ROLES: readonly number[] = [29, 116];

/** The numbers of what labels stand beside: fields to type into, to choose from, and to move. */
export const LABELLED: ReadonlySet<number> = new Set([11, 40, 51, 52, 61, 76, 77, 79]);

/** The numbers of what is named by its content where it has no name: list items, rows and tree items. */
export const NAMED_BY_CONTENT: ReadonlySet<number> = new Set([32, 90, 91]);

/** How far a label may stand before its field, in pixels. */
const MAX_GAP = 300;

export const folded = (text: string): string => text.toLowerCase();

/** A label without the colon or star at its end. */
export const labelText = (text: string): string => normalized(text).replace(/\s*[:*]+$/, "");

/** Whether a name is the one that the locator wants: white space counts once, and not at the ends. */
export function isNamed(name: string, { name: wanted, exact = true }: Locator): boolean {
  if (wanted === undefined) return true;
  const sought = normalized(wanted);
  return exact ? name === sought || name === labelText(sought) : folded(name).includes(folded(sought));
}

interface Placement {
  readonly bounds: Rect | undefined;
}

/** The text of the nearest label in the row of a field, to the left of it; empty where there is none. */
export function besideOf(
  { bounds }: Placement,
  labels: ReadonlyArray<Placement & { readonly name: string }>,
  fields: readonly Placement[],
): string {
  if (!bounds) return "";
  const middle = (one: Rect) => one.y + one.height / 2;
  const gap = (one: Rect) => bounds.x - (one.x + one.width);
  const isBefore = (one: Rect | undefined): one is Rect =>
    one !== undefined &&
    gap(one) > -2 &&
    gap(one) < MAX_GAP &&
    middle(one) > bounds.y &&
    middle(one) < bounds.y + bounds.height;
  const [nearest] = labels
    .flatMap(({ name, bounds: at }) => (name !== "" && isBefore(at) ? [{ name, gap: gap(at) }] : []))
    .toSorted((a, b) => a.gap - b.gap);
  if (!nearest) return "";
  // A label before another field is that field's.
  const isOfOther = fields.some(({ bounds: at }) => isBefore(at) && gap(at) < nearest.gap);
  return isOfOther ? "" : nearest.name;
}

/** What an element says of each state that a locator may ask for. */
export const stateOf: Readonly<Record<State, (has: (state: number) => boolean) => boolean>> = {
  enabled: (has) => has(STATE.enabled) || has(STATE.sensitive),
  checked: (has) => has(STATE.checked) || has(STATE.pressed),
  focused: (has) => has(STATE.focused),
  selected: (has) => has(STATE.selected),
  expanded: (has) => has(STATE.expanded),
};

/** Whether the element is in every state that the locator wants. */
export const hasStates = ({ has }: { has(state: number): boolean }, locator: Locator): boolean =>
  Object.entries(stateOf).every(([state, of]) => {
    const wanted = Reflect.get(locator, state);
    return wanted === undefined || of(has) === wanted;
  });

/**
 * What of those that match is meant: what is hidden, or on no screen (a bar of GTK for the full screen), is no rival of what can be
 * seen.
 */
export function mostVisible<T extends { readonly bounds: unknown }>(
  all: readonly T[],
  isVisible: (one: T) => boolean,
): readonly T[] {
  const visible = all.filter(isVisible);
  const placed = visible.filter(({ bounds }) => bounds !== undefined && bounds !== null);
  return [placed, visible].find((some) => some.length > 0) ?? all;
}
