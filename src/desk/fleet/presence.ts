/**
 * Which hosts are there, as polls and links find them, and what was found of each last. It is kept in memory, by label.
 *
 * The promise: `host.up` and `host.down` take turns, whoever notices first.
 */
import { unheard } from "../../core/events";
import { hostDown, hostUp } from "./events";

/** A host of the address book. */
export interface HostAddress {
  readonly label: string;
  readonly base_url: string;
}

/** What a poll has found at a host that is healthy; null where the host does not say. */
export interface PollFinding {
  readonly latency_ms: number;
  readonly version: string | null;
  readonly clients: number | null;
  readonly jobs: number | null;
}

/** A host as it was seen last. */
export interface Sighting {
  readonly isUp: boolean;
  /** Why it is not up, or what a host that is asked too much says; null where neither is so. */
  readonly error: string | null;
  /** Since when it is up or not, as far as this process knows, and when it was up last, ISO 8601. */
  readonly since: string;
  readonly seen: string | null;
  /** What the last poll that found it healthy has found; null before. */
  readonly found: PollFinding | null;
}

/** Which hosts are there. */
export interface Presence {
  /** A poll found it healthy: that is no news of a host that nobody asked before. */
  healthy(shown: HostAddress, found?: PollFinding): void;
  /** It answers that it is asked too much: it is there, and nothing else is known. */
  busy(shown: HostAddress, error: string): void;
  linked(shown: HostAddress): void;
  /** It does not answer as a healthy one does, or its link ended. @param heard when its link was heard last, ISO 8601. */
  gone(shown: HostAddress, error: string, heard?: string | null): void;
  /** It has another label from now on. */
  rename(from: string, to: string): void;
  /** How the host with this label was seen last; undefined where nobody has looked. */
  sighting(label: string): Sighting | undefined;
}

export function createPresence(publish = unheard): Presence {
  const known = new Map<string, Sighting>();
  const note = ({ label }: HostAddress, isUp: boolean, error: string | null, found?: PollFinding) => {
    const before = known.get(label);
    const now = new Date().toISOString();
    known.set(label, {
      isUp,
      error,
      since: before?.isUp === isUp ? before.since : now,
      seen: isUp ? now : (before?.seen ?? null),
      found: found ?? before?.found ?? null,
    });
    return before?.isUp;
  };
  return {
    healthy(shown, found) {
      const { label, base_url } = shown;
      if (note(shown, true, null, found) === false) publish(hostUp, { label, base_url });
    },
    linked(shown) {
      const { label, base_url } = shown;
      if (note(shown, true, null) !== true) publish(hostUp, { label, base_url });
    },
    busy(shown, error) {
      const before = known.get(shown.label);
      // No news: who waits for the host to be up hears of its next answer.
      if (before) known.set(shown.label, { ...before, error, seen: new Date().toISOString() });
    },
    gone(shown, error, heard) {
      const { label, base_url } = shown;
      const before = known.get(label);
      // A link may have been there for days since it began, or since a poll.
      const seen =
        [before?.seen, heard]
          .filter((one) => one != null)
          .sort()
          .at(-1) ?? null;
      if (before && seen !== null) known.set(label, { ...before, seen });
      if (note(shown, false, error) !== false) publish(hostDown, { label, base_url, error, seen });
    },
    rename(from, to) {
      const state = known.get(from);
      known.delete(from);
      if (state === undefined) known.delete(to);
      else known.set(to, state);
    },
    sighting: (label) => known.get(label),
  };
}
