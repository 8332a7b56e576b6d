/**
 * The plans of a desk in one process: the ledger, the runner, and who may do what with a plan.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Publish } from "../../core/events";
import { type Grant, maySee } from "../../core/rights";
import { oldestKept } from "../../lib/age";
import { conflict, Failure, notFound, unavailable } from "../../lib/errors";
import { isLocked } from "../../lib/lock";
import type { Log } from "../../lib/log";
import { serverOver } from "../../lib/per-server";
import { printable } from "../../lib/sanitize";
import type { CancelJob, DeliverJob } from "../../wire/job/job";
import { digestOfPlan } from "../../wire/job/plan-digest";
import { digestOfTargets, type HostsOnRecord } from "../../wire/receipt/plan-record";
import type { AddressBook } from "../fleet/address-book";
import type { Host } from "../fleet/host";
import type { BroadcastCaller } from "./broadcast";
import { createChanges, type PlanChanges } from "./changes";
import { aboutPlan, planCreated, planRemoved, planStarted } from "./events";
import type { ForeignPlans } from "./foreign-plans";
import { kindOfContents } from "./host-contents";
import { type Ledger, openLedger } from "./ledger/ledger";
import type { Plan } from "./ledger/rows";
import { ADOPTED_BY, identityOf, type PlannedHost, type Spec } from "./plan";
import { plansToForget } from "./retention";
import { createRunner, type Runner } from "./runner";
import type { HowEnded } from "./runner-parts";

/** For how long what the address book says of all hosts is used again, in milliseconds. */
const SAME_MS = 500;

export interface PlansUses {
  /** The file, and the folder of its locks. */
  readonly files: { readonly plans: string; readonly planLocks: string };
  readonly log: Log;
  readonly publish: Publish;
  readonly book: Pick<AddressBook, "hosts" | "reach"> & Partial<Pick<AddressBook, "isGone">>;
  readonly deliver: DeliverJob;
  readonly cancelJob?: CancelJob;
  endings(): Promise<HowEnded>;
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
  /** What happens in this process: hosts that are there again. */
  readonly events: {
    readonly newest: number;
    at(seq: number): { readonly type: { readonly name: string }; readonly text: string } | undefined;
    listen(listener: () => void): () => void;
  };
  /** Whether this process goes on after it has answered. */
  goesOn(): boolean;
  /** @throws `conflict` where another machine has taken this desk over: then nothing begins here. */
  requireInOffice?(): void;
  /** Puts on record that a plan is over; absent where nothing is. Never rejects. */
  recordEnd?(plan: Plan, hosts: HostsOnRecord): Promise<void>;
}

/** A broadcast, and who waits for it. */
interface BroadcastRequest extends Omit<BroadcastCaller, "targetOf"> {
  readonly content_digest: string;
  readonly spec: Spec;
  readonly hosts: readonly Host[];
  readonly grant: Grant;
}

/** The hosts of the address book, as plans reach them. */
interface HostLinks {
  /** Whether the host has not dialled since this process started, and may do so soon. */
  isExpected(label: string): boolean;
  /** Whether the host dials this process, and has no link to it. */
  isOffline(label: string): boolean;
  /** Why it has none, where that is known. */
  whyOffline(label: string): string | undefined;
}

/** The plans of a process. */
export interface Plans extends PlanChanges, HostLinks {
  readonly ledger: Ledger;
  readonly runner: Runner;
  /** Whether this process goes on after it has answered. */
  goesOn(): boolean;
  /** Stores a plan; the oldest are forgotten where there are too many. @throws `busy` where all of them run. */
  create(
    content: string,
    content_digest: string,
    spec: Spec,
    planned: readonly PlannedHost[],
    maker: string | null,
  ): Plan;
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
  const { targetFor, hostOf, ...links } = hostsIn(uses);
  const records = createRecords(uses, ledger);
  const { ended } = records;
  const runner = createRunner({ ...uses, ...links, hostOf, ended, ledger, locks: files.planLocks });
  const endListening = hearHosts(uses.events, runner);
  const started = (plan: Plan): Plan => {
    publish(planStarted, { ...aboutPlan(plan), hosts: plan.hosts, token: plan.token });
    return plan;
  };
  const forget = (those: readonly Plan[]): number => {
    const forgotten = ledger.remove(those);
    for (const plan of forgotten) {
      rmSync(join(files.planLocks, `${plan.id}.lock`), { force: true });
      publish(planRemoved, aboutPlan(plan));
    }
    return forgotten.length;
  };

  const plans: Plans = {
    ledger,
    runner,
    goesOn: uses.goesOn,
    create(content, content_digest, given, planned, maker) {
      uses.requireInOffice?.();
      const now = Date.now();
      const spec = given.kind === "plan" ? { ...given, contents: kindOfContents(content) } : given;
      forget(plansToForget(ledger.plans(), spec, planned.length, oldestKept));
      const digest = digestOfPlan(content_digest, spec, planned);
      const id = crypto.randomUUID();
      const plan = ledger.create({ id, digest, content, content_digest, spec, maker }, planned, now);
      const about = { digest, hosts: plan.hosts, waves: spec.waves.length, token: maker };
      publish(planCreated, { ...aboutPlan(plan), ...about });
      return plan;
    },
    async attend({ content_digest, spec, hosts: those, grant, ...caller }) {
      const planned = those.map((host) => ({ label: host.label, identity: identityOf(host) }));
      const byLabel = new Map(those.map((host) => [host.label, () => targetFor(host)]));
      const targetOf = (label: string) => byLabel.get(label)?.();
      const made = plans.create("", content_digest, spec, planned, grant.name);
      const apply = () => started(ledger.apply(made.seq, grant.name, Date.now()));
      try {
        await runner.attend(made, apply, { ...caller, targetOf });
      } catch (error) {
        // One that has begun is kept; so is each, where that cannot be written now.
        await Promise.try(() => forget([made])).catch(() => {});
        throw error;
      }
    },
    ...links,
    ...createChanges(uses, ledger, started),
    isStalled: ({ seq, id, state, applied, ended }) =>
      applied !== null &&
      ended === null &&
      state !== "paused" &&
      !runner.has(seq) &&
      !isLocked(join(files.planLocks, `${id}.lock`)),
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

/** Tells the runner which hosts are there again. @returns what ends that. */
function hearHosts(events: PlansUses["events"], runner: Runner): () => void {
  let seen = events.newest;
  return events.listen(() => {
    for (; seen < events.newest; seen++) {
      const one = events.at(seen + 1);
      if (one?.type.name === "host.up") runner.hostUp(String(Object(JSON.parse(one.text)).label));
    }
  });
}

/** The hosts of the address book, as plans reach them. */
function hostsIn({ book, ...uses }: PlansUses) {
  const all = kept(book.hosts, (hosts) => new Map(hosts.map((host) => [host.label, host])));
  /** The only host with that identity: one that has another label than when its plan was made. */
  const renamed = (identity: string) => {
    const [host, second] = book.hosts().filter((one) => identityOf(one) === identity);
    return second ? undefined : host;
  };
  const targetFor = (host: Host) => {
    const { label, member, base_url } = host;
    const records = uses.recordsAt(base_url);
    return { label, server: book.reach(host), host_id: member?.host_id ?? null, records };
  };
  return {
    targetFor,
    /** Where the jobs of the host go, which may have another label now; undefined where there is none. @throws `unavailable` where its entry cannot be used. */
    hostOf(label: string, identity: string) {
      const labelled = all().get(label);
      const isMeant = labelled !== undefined && identityOf(labelled) === identity;
      const host = isMeant ? labelled : (renamed(identity) ?? labelled);
      if (!host && book.isGone?.(label) === false) throw unavailable(`the entry of ${label} cannot be used`);
      return host && { ...targetFor(host), identity: identityOf(host) };
    },
    isExpected(label: string): boolean {
      const host = all().get(label);
      return host !== undefined && uses.isExpected(host.base_url);
    },
    isOffline(label: string): boolean {
      const host = all().get(label);
      return host !== undefined && uses.isGone(host.base_url);
    },
    whyOffline(label: string): string | undefined {
      const host = all().get(label);
      return host && uses.whyGone?.(host.base_url);
    },
    serverAt(label: string): string | undefined {
      const host = all().get(label);
      return host && serverOver(host.base_url);
    },
  };
}

/** No plan has the id. */
export const noPlan = (id: string): Failure => notFound(`there is no plan ${printable(id, 64)}`);

/** What is made of what `read` returned less than {@link SAME_MS} ago: once, as long as it returns the same. */
function kept<S, T>(read: () => S, make: (found: S) => T): () => T {
  let known: { readonly from: S; readonly value: T; at: number } | undefined;
  return () => {
    const now = performance.now();
    if (known && now - known.at <= SAME_MS) return known.value;
    const from = read();
    if (known?.from === from) known.at = now;
    else known = { from, value: make(from), at: now };
    return known.value;
  };
}
