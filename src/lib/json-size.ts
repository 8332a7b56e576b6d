/**
 * The size of a JSON value, without writing it as text, for which it may be nested too deep.
 */
import { innerValues } from "./inner-values";

interface SizeLimits {
  /** Roughly the bytes of its JSON; a string counts its characters. */
  readonly bytes: number;
  /** Levels of nesting. */
  readonly depth: number;
  /** What each value counts at least, in bytes. */
  readonly least?: number;
}

/** The size of `value`; undefined as soon as it exceeds `limits`. */
export function sizeWithin(value: unknown, limits: SizeLimits): number | undefined {
  let bytes = 0;
  const { least = 0 } = limits;
  const fits = (item: unknown, depth: number): boolean => {
    bytes += Math.max(least, typeof item === "string" ? item.length + 2 : 8);
    if (bytes > limits.bytes || depth > limits.depth) return false;
    if (typeof item !== "object" || item === null) return true;
    if (Array.isArray(item)) {
      bytes += item.length;
      return item.every((inner) => fits(inner, depth + 1));
    }
    return Object.entries(item).every(([key, inner]) => {
      bytes += key.length + 3;
      return fits(inner, depth + 1);
    });
  };
  return fits(value, 0) ? bytes : undefined;
}

/** Whether `value` is, or has inside, more than `most` values. */
export function hasMoreValues(value: unknown, most: number): boolean {
  const waiting = [value];
  for (let found = 1; waiting.length > 0; ) {
    const one = waiting.pop();
    if (typeof one !== "object" || one === null) continue;
    const inside = innerValues(one);
    found += inside.length;
    if (found > most) return true;
    for (const next of inside) waiting.push(next);
  }
  return false;
}
