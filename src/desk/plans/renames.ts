/**
 * The labels that hosts get while plans for them are made, which takes several turns of the event loop: a plan that had a former label
 * would run a host beside the other plans that come to it.
 */
import type { PlannedHost } from "./plan";

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
