/**
 * What is remembered of programs that do not search themselves (Qt 5, GTK 4), so that a second walk through them is short; and names for
 * a moment, of all programs.
 *
 * A path there names one element for as long as the program runs: its role is asked once. What may hold others is listed anew each time.
 */
import type { Questions } from "./accessible";
import type { Ref } from "./ref";

/** What holds nothing in nearly all programs: labels, boxes, buttons, fields, bars. */
const LEAVES: ReadonlySet<number> = new Set([7, 26, 27, 29, 40, 42, 43, 44, 48, 50, 51, 61, 62, 79, 116]);
/** How long such an element is taken for empty, in milliseconds, once it said that it is. */
const EMPTY_MS = 10_000;
/** How long a name that does not fit is taken to be the same, where another fits. */
const NAME_MS = 1_000;
const MAX_REMEMBERED = 50_000;
const MAX_PROGRAMS = 200;

/** Answers of earlier walks. */
export interface Memory extends Pick<Questions, "role" | "children"> {
  /** Remembers what the program of this name says from now on. */
  begin(bus: string): void;
  /** Whether it does. */
  holds(bus: string): boolean;
  /** The role of an element that has said that it holds nothing; undefined where that is not known. */
  leaf(ref: Ref): number | undefined;
  /**
   * The names of elements. One that fits, and all where none does, are asked for now; others may be a second old: what was renamed
   * meanwhile is no rival yet of what has fitted for longer.
   */
  names(refs: readonly Ref[], fits: (name: string) => boolean): Promise<string[]>;
}

const keyOf = ({ bus, path }: Ref) => `${bus}${path}`;

export function remembering(ask: Questions): Memory {
  const programs = new Set<string>();
  const roles = new Map<string, number>();
  const empty = new Map<string, { readonly until: number; readonly role: number }>();
  const names = new Map<string, { readonly until: number; readonly name: string }>();
  const keep = <T>(memory: Map<string, T>, key: string, value: T) => {
    if (memory.size >= MAX_REMEMBERED) memory.clear();
    memory.set(key, value);
  };
  const role = async (ref: Ref) => {
    const known = roles.get(keyOf(ref));
    if (known !== undefined) return known;
    const asked = await ask.role(ref);
    // One that has gone has none.
    if (asked !== 0) keep(roles, keyOf(ref), asked);
    return asked;
  };
  const recent = (ref: Ref) => {
    const known = names.get(keyOf(ref));
    return known && known.until > performance.now() ? known.name : undefined;
  };
  const nameNow = async (ref: Ref) => {
    const name = await ask.name(ref);
    keep(names, keyOf(ref), { until: performance.now() + NAME_MS, name });
    return name;
  };
  return {
    begin(bus) {
      if (programs.size >= MAX_PROGRAMS) programs.clear();
      programs.add(bus);
    },
    holds: (bus) => programs.has(bus),
    leaf(ref) {
      const known = empty.get(keyOf(ref));
      return known && known.until > performance.now() ? known.role : undefined;
    },
    role,
    async children(ref) {
      const [children, own] = await Promise.all([ask.children(ref), role(ref)]);
      if (children.length === 0 && LEAVES.has(own))
        keep(empty, keyOf(ref), { until: performance.now() + EMPTY_MS, role: own });
      return children;
    },
    async names(refs, fits) {
      const known = refs.map(recent);
      const isFitting = known.some((name) => name !== undefined && fits(name));
      return Promise.all(
        refs.map((ref, nth) => {
          const name = isFitting ? known[nth] : undefined;
          return name === undefined || fits(name) ? nameNow(ref) : name;
        }),
      );
    },
  };
}
