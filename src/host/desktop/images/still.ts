/**
 * Whether the screen stays as it is, but for a caret that blinks: in the child process, which keeps the picture that later ones are
 * compared with.
 */
import { busy } from "../../../lib/errors";
import type { Picture } from "../backend";
import type { Region } from "../geometry";

/** What counts as a change. */
interface Stillness {
  readonly region: Region | undefined;
  /** By how much red, green or blue of a pixel may differ, of 255. */
  readonly tolerance: number;
  /** How many pixels may differ. */
  readonly max_changed: number;
}

/** The calls of the child process for one who waits; `wait` names the wait. */
export interface StillCalls {
  /**
   * How many pixels differ from the picture that is kept for the wait. Where they are too many, the picture of now is kept in its
   * place; so a slow change adds up, and what blinks does not.
   *
   * @returns null for the first look. @throws an `unavailable` failure when too many wait.
   */
  changedPixels(wait: string, stillness: Stillness): Promise<number | null>;
  endWait(wait: string): Promise<void>;
}

/** How many may wait at once: each picture of a screen is several MiB. */
const MAX_WAITS = 16;

/** @param capture takes a picture of a region. */
export function createStillness(capture: (region: Region | undefined) => Promise<Picture>): StillCalls {
  const kept = new Map<string, Picture>();
  return {
    async changedPixels(wait, { region, tolerance, max_changed }) {
      const before = kept.get(wait);
      if (!before && kept.size >= MAX_WAITS)
        throw busy(`there are already ${MAX_WAITS} waits for a still screen`);
      const now = await capture(region);
      const changed = before ? countChanged(before, now, tolerance) : null;
      if (changed === null || changed > max_changed) kept.set(wait, { ...now, pixels: now.pixels.slice() });
      return changed;
    },
    async endWait(wait) {
      kept.delete(wait);
    },
  };
}

/** How many pixels differ; all of them when the pictures have different sizes. */
function countChanged(before: Picture, now: Picture, tolerance: number): number {
  if (before.width !== now.width || before.height !== now.height) return now.width * now.height;
  let changed = 0;
  for (let at = 0; at < now.pixels.length; at += 4) {
    const differs = (part: number) =>
      Math.abs((now.pixels[at + part] as number) - (before.pixels[at + part] as number)) > tolerance;
    if (differs(0) || differs(1) || differs(2)) changed++;
  }
  return changed;
}
