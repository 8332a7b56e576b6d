/**
 * How big a JSON value is, found out without writing it as text and without recursion.
 */

/** What a value may be at most. */
export interface SizeLimits {
  /** Roughly the bytes of its JSON; a string counts its characters. */
  readonly bytes: number;
  /** Levels of arrays and objects within one another. */
  readonly depth: number;
}

/** The size of `value`, or undefined when it is over `limits`; it stops looking as soon as it is. */
export function sizeWithin(value: unknown, limits: SizeLimits): number | undefined {
  let bytes = 0;
  const rest: Array<[value: unknown, depth: number]> = [[value, 0]];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [item, depth] = next;
    bytes += typeof item === "string" ? item.length + 2 : 8;
    if (bytes > limits.bytes || depth > limits.depth) return undefined;
    if (typeof item !== "object" || item === null) continue;
    for (const [key, inner] of Object.entries(item)) {
      bytes += Array.isArray(item) ? 1 : key.length + 3;
      rest.push([inner, depth + 1]);
    }
  }
  return bytes;
}
