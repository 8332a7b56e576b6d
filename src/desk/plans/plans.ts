/**
 * The plans of a desk in one process: the ledger, the runner, and who may do what with a plan.
 */
import { join } from "node:path";
import { type EventFeed, newEvents } from "../../core/events";
import { type Grant, maySee } from "../../core/rights";
import { conflict, Failure, notFound } from "../../lib/errors";
import { isLocked } from "../../lib/lock";
import { orElse } from "../../lib/or-else";
import { printable } from "../../lib/sanitize";
import { digestOfTargets, type HostsOnRecord } from "../../wire/receipt/plan-record";
import type { AddressBook } from "../fleet/address-book";
import type { Host } from "../fleet/host";
import { byLabel, type HostLinks, hostsIn } from "./book-hosts";
import type { BroadcastCaller } from "./broadcast";
import { createChanges, type PlanChanges } from "./changes";
import { aboutPlan, planStarted } from "./events";
import type { ForeignPlans } from "./foreign-plans";
import { type Ledger, openLedger } from "./ledger/ledger";
import type { Plan } from "./ledger/rows";
import { createMaking, type PlanMaking } from "./making";
import { ADOPTED_BY, identityOf, type Spec } from "./plan";
import { createRunner, type Runner } from "./runner";
import type { RunnerUses } from "./runner-parts";

export interface PlansUses extends Pick<RunnerUses, "log" | "publish" | "deliver" | "cancelJob" | "endings"> {
  /** The file, and the folder of its locks. */
  readonly files: { readonly plans: string; readonly planLocks: string };
  readonly book: Pick<AddressBook, "hosts" | "reach"> & Partial<Pick<AddressBook, "isGone">>;
  /** The plans of other desks. */
  readonly others?: Pick<ForeignPlans, "refusal" | "requireSilent" | "isHeard">;
  /** Whether the host at that address has no connection to this process, and had the time to make one. */
  isGone(address: string): boolean;
  /** Why it has none, where that is known. */
  whyGone?(address: string): string | undefined;
  /** Whether the host at that address has no connection to this process yet, and may have one soon. */
  isExpected(address: string): boolean;
  /** The id of the records of jobs of the host at that address, as it said when it connected; undefined where it did not. */
  recordsAt(address: string): string | undefined;
  /** What happens in this process: hosts that are there again, and entries that have changed. */
  readonly events: EventFeed;
  /** Whether this process goes on after it has answered. */
  goesOn(): boolean;
  /** @throws `conflict` where another machine has taken this desk over: then nothing begins here. */
  requireInOffice?(): void;
  /** Puts on record that a plan is over; absent where nothing is. Never rejects. */
  recordEnd?(plan: Plan, hosts: HostsOnRecord): Promise<void>;
}

/** A broadcast, and who waits for it. */
interface BroadcastRequest extends Omit<BroadcastCaller, "targetOf" | "hostAt"> {
  readonly content_digest: string;
  readonly spec: Spec;
  readonly hosts: readonly Host[];
  readonly grant: Grant;
}

/** The plans of a process. */
export interface Plans extends PlanChanges, PlanMaking, HostLinks {
  readonly ledger: Ledger;
  readonly runner: Runner;
  /** Whether this process goes on after it has answered. */
  goesOn(): boolean;
  /** Runs a broadcast, as a plan that ends with this process. @returns when each host has its result. */
  attend(request: BroadcastRequest): Promise<void>;
  /** Whether a plan is running, or its hosts are asked to end what they may have, and no process does that. */
  isStalled(plan: Plan): boolean;
  /** The plan of that id, or that begins so; undefined where there is none that the caller may see. */
  here(id: string, grant: Grant): Plan | undefined;
  /** The same, to change it. @throws `not_found`; `conflict` for one of another desk, or that such a one has taken over. */
  find(id: string, grant: Grant): Plan;
  /** Those that it may see, the newest first. */
  list(grant: Grant): Plan[];
  /** The host has another label than `from`, from now on. */
  rename(host: Host, from: string): void;
  /** Cancels a plan or a broadcast, as the ledger does, and has that known at once. */
  cancel(plan: Plan, reason: string): Promise<void>;
  /** Resolves when what this process puts on record of plans that are over is there. */
  recorded(): Promise<void>;
  /** Forgets a plan. @throws `conflict` for one that has begun and is not over. */
  remove(plan: Plan): void;
  /** Resolves when what it puts on record is there. */
  stop(): Promise<void>;
}

export function createPlans(uses: PlansUses): Plans {
  const { files, publish } = uses;
  const ledger = openLedger(files.plans);
  const { targetFor, hostOf, hostsNow, sameTexts, changed, ...links } = hostsIn(uses);
  const records = createRecords(uses, ledger);
  const { ended } = records;
  const runner = createRunner({
    ...uses,
    ...links,
    hostOf,
    sameTexts,
    ended,
    ledger,
    locks: files.planLocks,
  });
  const endListening = hearHosts(uses.events, runner, changed);
  const started = (plan: Plan): Plan => {
    publish(planStarted, { ...aboutPlan(plan), hosts: plan.hosts, token: plan.token });
    return plan;
  };
  const lockOf = (id: string) => join(files.planLocks, `${id}.lock`);
  const isHeld = (id: string) => isLocked(lockOf(id));
  const { forget, renamed, ...making } = createMaking({
    ...uses,
    ledger,
    hostsNow: () => orElse(hostsNow, new Map<string, Host>()),
    lockOf,
    isLocked: isHeld,
  });

  const plans: Plans = {
    ledger,
    runner,
    goesOn: uses.goesOn,
    ...making,
    async attend({ content_digest, spec, hosts: those, grant, ...caller }) {
      const planned = those.map((host) => ({ label: host.label, identity: identityOf(host) }));
      const all = byLabel(those);
      const targetOf = (label: string) => {
        const host = all.get(label);
        return host && { ...targetFor(host), identity: identityOf(host) };
      };
      const hostAt = (n: number) => planned[n];
      const made = await plans.create("", content_digest, spec, planned, grant.name);
      const apply = () => started(ledger.apply(made.seq, grant.name, Date.now()));
      try {
        await runner.attend(made, apply, { ...caller, targetOf, hostAt });
      } catch (error) {
        // One that has begun is kept; so is each, where that cannot be written now.
        await Promise.try(() => forget([made])).catch(() => {});
        throw error;
      }
    },
    ...links,
    ...createChanges(uses, ledger, started),
    isStalled: ({ seq, id, state, applied, ended }) =>
      applied !== null && ended === null && state !== "paused" && !runner.has(seq) && !isHeld(id),
    here(id, grant) {
      try {
        return ledger.find(id, (plan) => maySee(grant, plan));
      } catch (error) {
        if (error instanceof Failure && error.code === "not_found") return undefined;
        throw error;
      }
    },
    find(id, grant) {
      const found = plans.here(id, grant);
      const isElsewhere = found?.reason?.startsWith(ADOPTED_BY) && uses.others?.isHeard(found.id);
      if (found && !isElsewhere) return found;
      throw uses.others?.refusal(id, grant) ?? noPlan(id);
    },
    list: (grant) => ledger.plans().filter((plan) => maySee(grant, plan)),
    rename(host, from) {
      const [identity, to] = [identityOf(host), host.label];
      renamed(identity, from, to);
      ledger.rename(identity, from, to);
      runner.rename(identity, from, to);
    },
    async cancel({ seq }, reason) {
      const plan = ledger.cancel(seq, reason, Date.now());
      await runner.wake();
      // Whoever runs it takes note itself.
      if (plan.ended !== null && plan.applied !== null && !runner.has(seq)) ended(plan);
    },
    recorded: records.written,
    remove(plan) {
      if (forget([plan]) > 0) return;
      const { id, state } = ledger.plan(plan.seq);
      throw conflict(`the plan ${id} is ${state}, and not over: \`svc plan cancel\` ends it`);
    },
    stop() {
      endListening();
      runner.stop();
      ledger.close();
      return records.written();
    },
  };
  return plans;
}

/** What this process puts on record of plans that are over. */
function createRecords({ recordEnd }: Pick<PlansUses, "recordEnd">, ledger: Ledger) {
  const open = new Set<Promise<void>>();
  return {
    ended(plan: Plan): void {
      // A broadcast has no receipt.
      if (!recordEnd || plan.spec.kind !== "plan") return;
      const hosts = { hosts: plan.hosts, hostsDigest: digestOfTargets(ledger.ends(plan.seq)) };
      const one = recordEnd(plan, hosts).finally(() => open.delete(one));
      open.add(one);
    },
    written: async () => void (await Promise.all(open)),
  };
}

/** The events of entries that may name another server: one that was removed may be there again. */
const ENTRY_EVENTS: readonly string[] = ["host.added", "host.changed"];

/** How long changes of entries are gathered, in milliseconds: with them, what is known of all hosts is made anew. */
const GATHERED_MS = 500;

/**
 * Tells the runner which hosts are there again, and soon also whose entries have changed.
 *
 * @param bookChanged takes note that entries have changed, first. @returns what ends that.
 */
function hearHosts(events: EventFeed, runner: Runner, bookChanged: () => void): () => void {
  let changed = new Set<string>();
  let areKnown = true;
  let timer: Timer | undefined;
  const tellChanges = () => {
    timer = undefined;
    bookChanged();
    runner.hostsChanged(areKnown ? changed : undefined);
    changed = new Set();
    areKnown = true;
  };
  const cameBack = newEvents<{ readonly label: string }>(events, ["host.up"]);
  const entries = newEvents<{ readonly label: string }>(events, ENTRY_EVENTS, () => {
    areKnown = false;
  });
  const endListening = events.listen(() => {
    for (const { label } of cameBack()) runner.hostUp(label);
    for (const { label } of entries()) changed.add(label);
    if (areKnown && changed.size === 0) return;
    timer ??= setTimeout(tellChanges, GATHERED_MS).unref();
  });
  return () => {
    endListening();
    clearTimeout(timer);
  };
}

/** No plan has the id. */
export const noPlan = (id: string): Failure => notFound(`there is no plan ${printable(id, 64)}`);
