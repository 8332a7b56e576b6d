/**
 * Dragging: a button goes down at one place and up at another, with the pointer on the way in between.
 */
import { sleep } from "../../lib/deadline";
import type { Requester } from "../../lib/slots";
import type { Button } from "./backend";
import type { Desktop } from "./desktop";
import type { Point } from "./geometry";

/** How often the pointer moves, in milliseconds: as often as most screens show a picture. */
const STEP_MS = 16;
/** Programs tell a drag from a click by moves on the way. */
const MIN_STEPS = 3;

/** @param duration_s how long the way takes. The button goes up wherever the pointer is when it is called off. */
export async function drag(
  desktop: Desktop,
  { from, to, duration_s, button }: { from: Point; to: Point; duration_s: number; button: Button },
  requester: Requester,
): Promise<Point> {
  // A place that is not on the desktop is refused before the button goes down.
  await desktop.move(to, requester);
  await desktop.click(from, button, "press", requester);
  let isDone = false;
  try {
    const began = performance.now();
    const steps = Math.max(MIN_STEPS, Math.ceil((duration_s * 1_000) / STEP_MS));
    // A busy display takes fewer steps, not longer.
    const due = () => Math.ceil((performance.now() - began) / STEP_MS);
    for (let step = 1; step < steps; step = Math.max(step + 1, due())) {
      await desktop.move(between(from, to, step / steps), requester);
      await sleep(Math.min(STEP_MS, (duration_s * 1_000) / steps), requester.signal);
    }
    const place = await desktop.click(to, button, "release", requester);
    isDone = true;
    return place;
  } finally {
    if (!isDone) await desktop.click({}, button, "release").catch(() => {});
  }
}

const between = (from: Point, to: Point, part: number): Point => ({
  x: Math.round(from.x + (to.x - from.x) * part),
  y: Math.round(from.y + (to.y - from.y) * part),
});
