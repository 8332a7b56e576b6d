/**
 * Which events a client asks for, and which of them its token may see.
 */
import type { EventHost, EventType } from "../core/events";
import { allows, beyond, type Grant, isAdminHere, LOOKS, maySee } from "../core/rights";
import { badInput, forbidden } from "../lib/errors";
import { meant } from "../lib/nearest";
import { printable } from "../lib/sanitize";
import type { KeptEvent } from "./bus";

/** The labels of hosts of the address book. */
interface Book {
  hosts(): ReadonlyArray<{ readonly label: string }>;
}

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
 * @param book the hosts for which the grant is, where it is for some alone; without it, such a grant sees no event about a host.
 * @throws `bad_input` for a type that there is not; `forbidden` for one named in full that the grant may not see, and where
 *   it may see none.
 */
export function filterOf(
  types: readonly EventType[],
  asked: readonly string[],
  grant: Grant,
  book?: Book,
): Filter {
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
  const isKnown = grant.on === undefined ? () => true : knownIn(book);
  // What such a stream has depends on which hosts there were since it began.
  const own = grant.on === undefined ? [] : [crypto.randomUUID()];
  return {
    key: [...[...names].sort(), ...who, ...own].join(),
    names,
    has: ({ type, origin, host }) =>
      names.has(type.name) &&
      (origin === undefined || (origin === null ? isAdminHere(grant) : maySee(grant, origin))) &&
      (host === undefined || isKnown(host)),
  };
}

/** Whether a host is in the book; of one that is gone, whether it was since this was made. */
function knownIn(book: Book = { hosts: () => [] }): (host: EventHost | null) => boolean {
  let hosts = book.hosts();
  let labels = new Set(hosts.map(({ label }) => label));
  const seen = new Set(labels);
  return (host) => {
    if (host === null) return false;
    const { label, isGone } = host;
    const now = book.hosts();
    // Their list is the same while they are.
    if (now !== hosts) {
      hosts = now;
      labels = new Set(hosts.map((one) => one.label));
      for (const known of labels) seen.add(known);
    }
    return isGone ? seen.has(label) : labels.has(label);
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
