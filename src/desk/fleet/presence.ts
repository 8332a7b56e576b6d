/**
 * Which hosts are there, as polls and links find them. It is kept in memory, by label.
 *
 * The promise: `host.up` and `host.down` take turns, whoever notices first.
 */
import { unheard } from "../../core/events";
import { hostDown, hostUp } from "./events";

/** A host of the address book. */
interface Shown {
  readonly label: string;
  readonly base_url: string;
}

export type Presence = ReturnType<typeof createPresence>;

export function createPresence(publish = unheard) {
  const known = new Map<string, boolean>();
  return {
    /** A poll found it healthy: that is no news of a host that nobody asked before. */
    healthy({ label, base_url }: Shown): void {
      if (known.get(label) === false) publish(hostUp, { label, base_url });
      known.set(label, true);
    },
    /** It has a link now. */
    linked({ label, base_url }: Shown): void {
      if (known.get(label) !== true) publish(hostUp, { label, base_url });
      known.set(label, true);
    },
    /** It does not answer as a healthy one does, or its link ended. */
    gone({ label, base_url }: Shown, error: string): void {
      if (known.get(label) !== false) publish(hostDown, { label, base_url, error });
      known.set(label, false);
    },
  };
}
