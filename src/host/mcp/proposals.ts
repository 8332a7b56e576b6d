/**
 * What agents have proposed and not confirmed yet.
 *
 * The promise: a proposal is one user's, is done once at most, and is forgotten after {@link LIFETIME_MS}. Its digest is of the
 * tool and of all that it was given, so what is confirmed is what was proposed, and what a person was asked.
 */

import type { Operation } from "../../core/operation";
import { RecentMap } from "../../lib/buckets";
import { cancelled, notFound } from "../../lib/errors";
import type { Effects } from "./effects";

/** As long as an approval waits, in milliseconds. */
export const LIFETIME_MS = 600_000;

/** How many of one user are kept; the oldest goes first. */
const OF_A_USER = 32;

/** How many users have some. */
const MAX_USERS = 1_024;

export type Decision = "allowed" | "denied" | "expired";

/** A change that was proposed. */
export interface Proposal {
  readonly operation: Operation;
  readonly input: Readonly<Record<string, unknown>>;
  readonly effects: Effects;
  readonly digest: string;
  /** By the clock of the proposals. */
  expires: number;
  /** What a person says, once one was asked. */
  decision?: Promise<Decision>;
  /** Aborted when it is forgotten, or the agent has gone: then nobody is asked any longer. */
  readonly dropped: AbortController;
}

/** What agents propose to change, by user. */
export interface Proposals {
  /** Keeps it. The same once more is the same proposal, which lasts as long as a new one unless a person is asked already. */
  add(user: string, proposed: Pick<Proposal, "operation" | "input" | "effects">): Proposal;
  /** @throws a `not_found` failure. */
  find(user: string, digest: string): Proposal;
  /** Lets it last for `ms` from now on. */
  extend(proposal: Proposal, ms: number): void;
  /** What is left of its time, in whole minutes, one at least. */
  minutesOf(proposal: Proposal): number;
  /** Forgets it, where it is still there. */
  forget(user: string, digest: string): void;
  /** Takes it away: nobody else does it. @throws as `find`. */
  take(user: string, digest: string): Proposal;
  /** Forgets all of them. Resolves when no person is asked any longer. */
  close(): Promise<void>;
}

/** @param now milliseconds of a clock that nobody sets. */
export function createProposals(now = () => performance.now()): Proposals {
  // In each digest: from one on record, nobody finds out a short text that was to be typed.
  const salt = crypto.randomUUID();
  const users = new RecentMap<Map<string, Proposal>>(MAX_USERS);
  const of = (user: string) => {
    const own = users.get(user) ?? new Map<string, Proposal>();
    for (const [digest, { expires }] of own) if (expires <= now()) drop(own, digest, "it is too old");
    return own;
  };
  return {
    add(user, proposed) {
      const own = of(user);
      const digest = digestOf(salt, proposed.operation.name, proposed.input);
      const kept = own.get(digest);
      const expires = now() + LIFETIME_MS;
      if (kept && !kept.decision) kept.expires = expires;
      if (kept) return kept;
      const proposal = { ...proposed, digest, expires, dropped: new AbortController() };
      own.set(digest, proposal);
      for (const oldest of [...own.keys()].slice(0, -OF_A_USER))
        drop(own, oldest, "newer proposals have taken its place");
      users.set(user, own);
      return proposal;
    },
    find(user, digest) {
      const found = of(user).get(digest);
      if (found) return found;
      throw notFound(
        "no proposal has this digest: it was done, denied or never made, or is older than 10 minutes",
      );
    },
    extend(proposal, ms) {
      proposal.expires = now() + ms;
    },
    minutesOf: ({ expires }) => Math.max(1, Math.floor((expires - now()) / 60_000)),
    forget: (user, digest) => drop(of(user), digest, "it was decided"),
    take(user, digest) {
      const found = this.find(user, digest);
      of(user).delete(digest);
      return found;
    },
    async close() {
      const all = [...users.values()].flatMap((own) => [...own.values()]);
      for (const { dropped } of all) dropped.abort(cancelled("the agent has gone"));
      await Promise.allSettled(all.map(({ decision }) => decision));
    },
  };
}

/** Takes it away; a person who was asked about it is asked no longer. */
function drop(own: Map<string, Proposal>, digest: string, why: string): void {
  own.get(digest)?.dropped.abort(cancelled(why));
  own.delete(digest);
}

/** SHA-256 of the tool and its input, in hexadecimal; the order of fields makes no difference. */
const digestOf = (salt: string, name: string, input: unknown): string =>
  Bun.SHA256.hash(`svc-mcp-v1\n${salt}\n${name}\n${JSON.stringify(sorted(input))}`, "hex");

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}
