/**
 * Places for hosts that get their file: some at a time, those at one server in the order in which they come.
 */
import { createSlots, type GiveBack, Requester } from "../../../lib/slots";

/** One of the places for one host, which has it for some time or not at all. */
interface Place {
  /** How long the host has had it without a break, and in all, in milliseconds. */
  heldMs(): number;
  totalMs(): number;
  /**
   * Waits for it, until `signal` is aborted: then the host does not have it.
   *
   * @returns false where the host has it already, so that no time has passed.
   */
  take(signal: AbortSignal): Promise<boolean>;
  /** Gives it to the next one; nothing where the host does not have it. */
  leave(): void;
}

/**
 * @param most how many hosts have one at a time.
 * @returns a function that makes the place of one host that is reached over this server (`serverOver`). Servers are served in turn, as users
 * of the slots are: while hosts at another wait, the next place is for that one.
 */
export function createUploadPlaces(most: number): (server: string) => Place {
  const slots = createSlots({ most, what: "hosts" });
  return (server) => {
    let since: number | undefined;
    let giveBack: GiveBack = () => {};
    let beforeMs = 0;
    const heldMs = () => (since === undefined ? 0 : performance.now() - since);
    return {
      heldMs,
      totalMs: () => beforeMs + heldMs(),
      async take(signal) {
        if (since !== undefined) return false;
        try {
          giveBack = await slots.take(new Requester(server, signal));
          since = performance.now();
        } catch (error) {
          if (!signal.aborted) throw error;
        }
        return true;
      },
      leave() {
        if (since === undefined) return;
        beforeMs += heldMs();
        since = undefined;
        giveBack();
      },
    };
  };
}
