/**
 * Scrolling until an element is on the screen: by its program, by the focus, else by the bar of what it is in.
 */
import { unavailable } from "../../../lib/errors";
import type { Rect } from "../geometry";
import { type Accessibles, FACES } from "./accessible";
import { above, change, property, type Reach } from "./child-actions";
import { comes } from "./deeds";
import type { Ref } from "./ref";
import { STATE } from "./said";

const ANYWHERE = 6;
const SCROLL_BAR = 48;
/** How far what scrolls may be above an element. */
const MAX_CLIMB = 20;
/** How many elements beside what it is in may be bars, or hold them. */
const MAX_BESIDE = 50;

/** @throws `unavailable` where the program does not. */
export async function scrollTo(reach: Reach, ref: Ref): Promise<void> {
  const { bus, ask } = reach;
  const before = await ask.bounds(ref);
  // Qt says of what is scrolled away that it shows: then all around it is looked at.
  const isTold = !(await ask.states(ref))(STATE.showing);
  const isThere = async () => isSeen(ask, ref, isTold);
  if (await isThere()) return;
  const did = await change(bus, ref, FACES.component, "ScrollTo", "u", [ANYWHERE]);
  if (did === true && (await comes(isThere))) return;
  // Some scroll to what has the focus.
  const focused = await change(bus, ref, FACES.component, "GrabFocus");
  if (focused === true && (await comes(isThere))) return;
  if (before && (await byBar(reach, ref)) && (await comes(isThere))) return;
  throw unavailable(`the program did not scroll to it${before ? "" : ", and does not say where it is"}`);
}

/** Whether it shows at a place; where its program does not tell what shows, whether all that it is in has room for its middle. */
async function isSeen(ask: Accessibles, ref: Ref, isTold: boolean): Promise<boolean> {
  const [has, own] = await Promise.all([ask.states(ref), ask.bounds(ref)]);
  if (!own || !has(STATE.showing)) return false;
  if (isTold) return true;
  const outer = await Promise.all((await above(ask, ref, MAX_CLIMB)).map((one) => ask.bounds(one)));
  return outer.every((place) => place === undefined || holds(place, own));
}

const holds = (place: Rect, { x, y, width, height }: Rect) => {
  const [middle, center] = [y + height / 2, x + width / 2];
  return (
    middle >= place.y &&
    middle <= place.y + place.height &&
    center >= place.x &&
    center <= place.x + place.width
  );
};

/** Moves the upright bar of what it is in: its number counts pixels. */
async function byBar({ bus, ask }: Reach, ref: Ref): Promise<boolean> {
  const own = await ask.bounds(ref);
  for (const outer of await above(ask, ref, MAX_CLIMB)) {
    const place = await ask.bounds(outer);
    if (!own || !place || holds(place, own)) continue;
    const bar = await barIn(ask, (await ask.parent(outer)) ?? outer);
    if (!bar) continue;
    const now = await property(bus, bar, FACES.value, "CurrentValue");
    if (typeof now !== "number") continue;
    const to = now + own.y + own.height / 2 - (place.y + place.height / 2);
    await bus.set(bar, FACES.value, "CurrentValue", "d", Math.max(0, to)).catch(() => {});
    return true;
  }
  return false;
}

/** The upright scroll bar that is in an element, or in a part of it. */
async function barIn(ask: Accessibles, outer: Ref): Promise<Ref | undefined> {
  const parts = (await ask.children(outer)).slice(0, MAX_BESIDE);
  const inner = (await Promise.all(parts.map((one) => ask.children(one)))).map((all) =>
    all.slice(0, MAX_BESIDE),
  );
  for (const one of [...parts, ...inner.flat()]) {
    if ((await ask.role(one)) !== SCROLL_BAR) continue;
    const place = await ask.bounds(one);
    if (place && place.height > place.width) return one;
  }
  return undefined;
}
