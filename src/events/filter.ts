/**
 * Which events a client asks for, and which of them its token may see.
 */
import type { EventType } from "../core/events";
import { allows, beyond, type Grant, isAdminHere, LOOKS, maySee } from "../core/rights";
import { badInput, forbidden } from "../lib/errors";
import { meant } from "../lib/nearest";
import { printable } from "../lib/sanitize";
import type { KeptEvent } from "./bus";

/** The events that a stream has. */
export interface Filter {
  /** The same for the same events. */
  readonly key: string;
  readonly names: ReadonlySet<string>;
  has(event: KeptEvent): boolean;
}

/**
 * The events of `asked` (all, where it asks for none) that `grant` may see.
 *
 * @param asked names of types, also `run.*`, each item one or several with commas.
 * @throws `bad_input` for a type that there is not; `forbidden` for one named in full that the grant may not see, and where
 *   it may see none.
 */
export function filterOf(types: readonly EventType[], asked: readonly string[], grant: Grant): Filter {
  const patterns = asked.flatMap((text) => text.split(",")).map((text) => text.trim());
  const chosen =
    patterns.length === 0 ? types : patterns.flatMap((pattern) => matching(types, pattern, grant));
  const mayHave = ({ scope, origin }: EventType) =>
    allows(grant, scope) && (grant.on === undefined || origin !== undefined || LOOKS.includes(scope));
  const names = new Set(chosen.filter(mayHave).map(({ name }) => name));
  const needed = new Set(chosen.map(({ scope }) => scope));
  if (names.size === 0) throw forbidden(beyond(grant, `these events need ${[...needed].join(" or ")}`));
  const mayDiffer = !isAdminHere(grant) && chosen.some(({ name, origin }) => origin && names.has(name));
  const who = mayDiffer ? [JSON.stringify([grant.name, grant.since, grant.limited])] : [];
  return {
    key: [...[...names].sort(), ...who].join(),
    names,
    has: ({ type, origin }) =>
      names.has(type.name) &&
      (origin === undefined || (origin === null ? isAdminHere(grant) : maySee(grant, origin))),
  };
}

function matching(types: readonly EventType[], pattern: string, grant: Grant): EventType[] {
  const start = pattern.endsWith(".*") ? pattern.slice(0, -1) : undefined;
  const found = types.filter(({ name }) => (start === undefined ? name === pattern : name.startsWith(start)));
  if (found.length === 0) {
    const names = types.map(({ name }) => name);
    const shown = printable(JSON.stringify(pattern), 100);
    throw badInput(`types: no type ${shown}${meant(pattern, names)}; \`svc events types\` lists them`);
  }
  const refused = found.find(({ scope }) => !allows(grant, scope));
  if (start === undefined && refused)
    throw forbidden(beyond(grant, `events of the type ${refused.name} need ${refused.scope}`));
  return found;
}
