/**
 * What the parts of the runner of plans share.
 */
import type { Publish } from "../../core/events";
import { type Backoff, doubled, jitter } from "../../lib/backoff";
import { createBuckets } from "../../lib/buckets";
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { perServer } from "../../lib/per-server";
import { oncePerTurn } from "../../lib/turn";
import type { CancelJob, DeliverJob, Target } from "../../wire/job/job";
import { createHostQueues, type HostQueues } from "./host-queue";
import { createHostSlots, type HostSlots } from "./host-slots";
import { createHosts, type Hosts } from "./hosts";
import type { Ledger } from "./ledger/ledger";
import type { Plan } from "./ledger/rows";
import type { PlannedHost } from "./plan";
import type { Entry, Run } from "./run";
import { createWriter, type Writer } from "./writer";

/** How a named token has ended; null while it is in force. @param since one of that name that was made later is another. */
export type HowEnded = (name: string, since?: string) => "was revoked" | "has expired" | null;

/** Where the jobs of a host go, and which host that is. */
export type FoundHost = Target & { readonly identity: string };

export interface RunnerUses {
  readonly ledger: Ledger;
  readonly locks: string;
  readonly log: Log;
  readonly publish: Publish;
  readonly deliver: DeliverJob;
  readonly cancelJob?: CancelJob;
  /** The host as the address book has it now; undefined where it has none. */
  hostOf(label: string, identity: string): FoundHost | undefined;
  /** Whether the host is known to be unreachable. */
  isOffline?(label: string): boolean;
  /** Why it is, where that is more than that it has no connection. */
  whyOffline?(label: string): string | undefined;
  /** Whether nobody can know yet, since this process has just started: it is waited for. */
  isExpected?(label: string): boolean;
  /** The server over which the host is reached (`lib/per-server.ts`); undefined where the address book has no such host. */
  serverAt?(label: string): string | undefined;
  /** As of {@link Hosts}. */
  sameTexts?(): (host: PlannedHost) => PlannedHost;
  endings(): Promise<HowEnded>;
  /** Takes note that every host of a plan has ended, and the ledger has that. */
  ended?(plan: Plan): void;
  /** How many waiting jobs begin in a minute, at each server (default 6,000). */
  readonly startsPerMinute?: number;
}

/** What one part does that others see. */
export interface RunnerParts {
  readonly uses: RunnerUses;
  readonly hosts: Hosts;
  /** The plans that this process runs, by their number. */
  readonly runs: Map<number, Run>;
  readonly queues: HostQueues<Entry>;
  /** Those of the hosts at a server. */
  slotsAt(server: string): HostSlots;
  readonly writer: Writer;
  /** Is aborted when the runner stops. */
  readonly stopping: AbortController;
  /** Takes a turn of those jobs at a server that have waited for their host. @returns false where the next one comes later. */
  mayStart(server: string): boolean;
  /** Has what may begin now begin, soon. */
  pump(): void;
  /** Logs what a plan waits for: once, until it is another thing. It is tried again with each look. */
  complain(run: Run | undefined, error: unknown): void;
}

/** @param begin has begin what may begin now. */
export function createRunnerParts(uses: RunnerUses, begin: (shared: RunnerParts) => void): RunnerParts {
  const { log, startsPerMinute: ratePerMinute = 6_000 } = uses;
  const startIn = createBuckets({ ratePerMinute, burst: Math.max(1, Math.floor(ratePerMinute / 60)) });
  const pump = oncePerTurn(() => begin(shared));
  const complaints = new WeakMap<object, string>();
  const shared: RunnerParts = {
    uses,
    hosts: createHosts(uses),
    runs: new Map(),
    queues: createHostQueues(),
    slotsAt: perServer(() => createHostSlots(pump)),
    writer: createWriter(uses.ledger, log, pump),
    stopping: new AbortController(),
    mayStart: (server) => startIn(server, performance.now()) === 0,
    pump,
    complain(run, error) {
      const what = `${run ? `the plan ${run.plan.id}` : "plans"} cannot go on for now: ${messageOf(error)}`;
      const about = run ?? shared;
      if (complaints.get(about) !== what) log.warn(what);
      complaints.set(about, what);
    },
  };
  return shared;
}

/** How often waiting hosts, waves and decisions of other processes are looked at, in milliseconds. */
export const LOOK_MS = 1_000;

/** After what time a host that was not there is tried again, and one whose answer was lost is asked. */
export const TRY: Backoff = { firstMs: 15_000, longestMs: 600_000 };
export const ASK: Backoff = { firstMs: 2_000, longestMs: 60_000 };

/** A random time from now on, by `performance.now()`, which grows with the number of tries. */
export const laterThan = (limits: Backoff, tries: number): number =>
  performance.now() + jitter(doubled(limits, tries), [0.5, 1]);
