/**
 * Which hosts are there, as polls and links find them. It is kept in memory, by label.
 *
 * The promise: `host.up` and `host.down` take turns, whoever notices first.
 */
import { unheard } from "../../core/events";
import { hostDown, hostUp } from "./events";

/** A host of the address book. */
interface HostAddress {
  readonly label: string;
  readonly base_url: string;
}

/** Which hosts are there. */
export interface Presence {
  /** A poll found it healthy: that is no news of a host that nobody asked before. */
  healthy(shown: HostAddress): void;
  linked(shown: HostAddress): void;
  /** It does not answer as a healthy one does, or its link ended. */
  gone(shown: HostAddress, error: string): void;
  /** It has another label from now on. */
  rename(from: string, to: string): void;
}

export function createPresence(publish = unheard): Presence {
  const known = new Map<string, boolean>();
  return {
    healthy({ label, base_url }) {
      if (known.get(label) === false) publish(hostUp, { label, base_url });
      known.set(label, true);
    },
    linked({ label, base_url }) {
      if (known.get(label) !== true) publish(hostUp, { label, base_url });
      known.set(label, true);
    },
    gone({ label, base_url }, error) {
      if (known.get(label) !== false) publish(hostDown, { label, base_url, error });
      known.set(label, false);
    },
    rename(from, to) {
      const state = known.get(from);
      known.delete(from);
      if (state === undefined) known.delete(to);
      else known.set(to, state);
    },
  };
}
