/**
 * The labels that hosts get while plans for them are made, from when they are selected on: a plan that had a former label would run a host
 * beside the other plans that come to it.
 */
import { stepsInSlices } from "../../lib/turn";
import type { Host } from "../fleet/host";
import { identityOf, type PlannedHost } from "./plan";

/** What a plan that is being made hears of, until it is disposed. */
interface RenameWatch extends Disposable {
  /** The label that the host has by now. */
  labelOf(host: PlannedHost): string;
}

/** Tells plans that are being made of new labels. */
export interface Renames {
  /** Takes note of them from now on. */
  watch(): RenameWatch;
  /** The host of that identity has another label from now on. */
  renamed(identity: string, from: string, to: string): void;
}

export function createRenames(): Renames {
  const watches = new Set<Map<string, string>>();
  // No label has a line break.
  const keyOf = (identity: string, label: string) => `${label}\n${identity}`;
  return {
    watch() {
      /** The label that came after each. */
      const next = new Map<string, string>();
      watches.add(next);
      return {
        labelOf({ label, identity }) {
          // Asked for each host of a plan, and hardly ever has one been renamed.
          if (next.size === 0) return label;
          let last = label;
          for (let to = next.get(keyOf(identity, last)); to !== undefined; to = next.get(keyOf(identity, to)))
            last = to;
          return last;
        },
        [Symbol.dispose]: () => void watches.delete(next),
      };
    },
    renamed(identity, from, to) {
      for (const next of watches) {
        // It may have had that label before.
        next.delete(keyOf(identity, to));
        next.set(keyOf(identity, from), to);
      }
    },
  };
}

/**
 * What says which label a host has by now, also where it got that before the watch began. A host that the address book does not have any more,
 * or that it or the plan has more than once, keeps the label with which it was selected.
 *
 * @param planned the hosts as they were selected.
 * @param book the hosts of the address book by their labels, as they were when the watch began.
 */
export async function labelsSince(
  planned: readonly PlannedHost[],
  book: ReadonlyMap<string, Host>,
  { labelOf }: RenameWatch,
): Promise<RenameWatch["labelOf"]> {
  const found = await stepsInSlices(findRelabelled(planned, book));
  if (found.size === 0) return labelOf;
  return (host) => {
    const label = found.get(host.identity);
    return labelOf(label === undefined ? host : { ...host, label });
  };
}

/** How many hosts are looked at between two looks at the clock. */
const HOSTS_AT_ONCE = 64;

/** Those that have another label in the address book than in the plan, by identity. */
function* findRelabelled(
  planned: readonly PlannedHost[],
  book: ReadonlyMap<string, Host>,
): Generator<void, ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  /** Those that are not under their labels, by how many hosts of the plan they are. */
  const missing = new Map<string, number>();
  let count = 0;
  for (const { label, identity } of planned) {
    const host = book.get(label);
    if (!host || identityOf(host) !== identity) missing.set(identity, 0);
    if (++count % HOSTS_AT_ONCE === 0) yield;
  }
  if (missing.size === 0) return found;
  for (const { identity } of planned) {
    const times = missing.get(identity);
    if (times !== undefined) missing.set(identity, times + 1);
    if (++count % HOSTS_AT_ONCE === 0) yield;
  }
  for (const host of book.values()) {
    const identity = identityOf(host);
    if (found.has(identity)) missing.delete(identity);
    if (missing.get(identity) === 1) found.set(identity, host.label);
    else found.delete(identity);
    if (++count % HOSTS_AT_ONCE === 0) yield;
  }
  return found;
}
