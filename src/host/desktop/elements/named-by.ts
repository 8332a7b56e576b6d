/**
 * Whether a name is the one that a locator wants, also by a pattern: read once for all the names of a search.
 */
import { createPattern } from "../text/pattern";
import type { Locator } from "./locator";
import { isNamed } from "./names";

/** @throws a `bad_input` failure where the pattern is none. */
export function namedBy(locator: Locator): (name: string) => boolean {
  const { pattern } = locator;
  if (pattern === undefined) return (name) => isNamed(name, locator);
  const find = createPattern(pattern, true, "pattern: ");
  return (name) => isNamed(name, locator) && find(name).length > 0;
}
