/** What leases are made with, and what is kept of one. */
import type { Caller } from "../../core/caller";
import type { Publish } from "../../core/events";
import type { Operation } from "../../core/operation";
import { type Grant, OWNER_NAME } from "../../core/rights";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import type { Approvals } from "../approvals/approvals";
import type { Desktop } from "../desktop/desktop";
import { HANDS, type Lease, type Terms } from "./lease";

/** Where a lease acts. */
export interface LeasePlace {
  /** The name of the desktop on demand; null for that of the session. */
  readonly name: string | null;
  readonly desktop: Desktop;
  /** Aborted once the desktop has ended, with the reason in words; absent for that of the session. */
  readonly lost?: AbortSignal | undefined;
  /** Starts a program there, which ends with the lease. */
  launch(command: readonly string[]): Promise<unknown>;
  /** Gives it back. Implementations must not throw. */
  end(): Promise<void>;
}

/** What leases are made with. */
export interface LeasesParts {
  readonly log: Log;
  readonly publish: Publish;
  approvals(): Promise<Pick<Approvals, "begin" | "withdraw" | "decidable" | "decide" | "asked">>;
  /** Where an agent acts. @param desktop `new`, `session`, or a name. */
  open(desktop: string, id: string, grant: Grant, signal: AbortSignal): Promise<LeasePlace>;
  /** Leaves a row in the audit log. @throws `unavailable` when it cannot. */
  record(detail: string): Promise<unknown>;
  /** Aborted once the token of that name is revoked or has expired. */
  untilRevoked(token: string): AbortSignal;
  /** The names of operations that a lease for these has. */
  offered(toolsets: Terms["toolsets"]): ReadonlySet<string>;
  /** @throws `not_found`. */
  operation(name: string): Promise<Operation>;
  /** Runs an operation on this desktop. @param written the input as the agent wrote it, and the values of secrets that are in `input`. */
  perform(
    operation: Operation,
    input: unknown,
    desktop: Desktop,
    caller: Caller,
    written: { readonly input: unknown; readonly secrets: readonly string[] },
  ): Promise<unknown>;
  /** The values of secrets of this host. */
  secrets(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Begins to record the screen for a lease. @param desktop the name of one on demand. @returns what ends that recording, and no other. */
  film(id: string, desktop: string | null, ms: number): Promise<() => Promise<unknown>>;
  /** How long a minute is, in milliseconds (default: 60,000). */
  readonly minuteMs?: number | undefined;
}

/** Who asks for a lease. */
export interface LeaseAsker {
  /** Whose lease it is: nobody else uses it. */
  readonly holder: string;
  /** What the client calls itself. */
  readonly agent: string;
  readonly caller: Pick<Caller, "grant" | "client">;
  /** Whether the process that asks is still there, where that can be seen. */
  isThere?(): boolean;
}

/** A lease as it is kept. */
export interface Entry {
  readonly id: string;
  readonly holder: string;
  readonly asker: LeaseAsker;
  /** What of it a person has left. */
  terms: Terms;
  /** As it was asked for: the same asked for again is the same lease, also where a person has left less of it. */
  readonly asked: Terms;
  state: Lease["state"];
  used: number;
  readonly askedAt: string;
  beganAt: string | null;
  endedAt: string | null;
  reason: string | null;
  /** By the monotonic clock. */
  until: number | undefined;
  readonly control: AbortController;
  /** Resolves once it is active or has ended. */
  readonly settled: PromiseWithResolvers<void>;
  place?: LeasePlace | undefined;
  hands?: Desktop | undefined;
  /** The values of secrets that were put into fields: the desktop may show them from then on. */
  readonly filled: Map<string, string>;
  /** What ends with it, last first. */
  readonly ends: Array<() => unknown>;
  /** Resolves once all of that has ended. */
  over?: Promise<void>;
  /** Whether its agent knows that it has ended. */
  isTold: boolean;
}

/** How rows of the audit log show it. */
export const aboutText = ({ id, asker, terms }: Entry): string => {
  const { agent, caller } = asker;
  return `id=${id} agent=${printable(agent, 100)} token=${caller.grant.name ?? OWNER_NAME} desktop=${terms.desktop}`;
};

/** As it is shown. */
export const viewOf = (entry: Entry): Lease => {
  const { id, state, asker, terms, place, used, until } = entry;
  const { toolsets, windows, programs, secrets, start, ...others } = terms;
  return {
    id,
    state,
    agent: asker.agent,
    token: asker.caller.grant.name,
    ...others,
    desktop_name: place?.name ?? null,
    toolsets: HANDS.filter((one) => toolsets.includes(one)),
    windows: [...windows],
    programs: [...programs],
    secrets: [...secrets],
    start: start.map((command) => [...command]),
    used,
    asked_at: entry.askedAt,
    began_at: entry.beganAt,
    left_s: until === undefined ? null : Math.max(0, Math.round((until - performance.now()) / 1_000)),
    ended_at: entry.endedAt,
    reason: entry.reason,
  };
};
