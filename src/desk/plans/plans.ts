/**
 * The plans of a desk in one process: the ledger, the runner, and who may do what with a plan.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Publish } from "../../core/events";
import { type Grant, maySee } from "../../core/rights";
import { conflict, Failure, notFound, unavailable } from "../../lib/errors";
import { isLocked } from "../../lib/lock";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import type { CancelJob, DeliverJob } from "../../wire/job/job";
import type { AddressBook } from "../fleet/address-book";
import type { Host } from "../fleet/host";
import type { BroadcastCaller } from "./broadcast";
import { aboutPlan, planCreated, planPaused, planRemoved, planStarted } from "./events";
import type { ForeignPlans } from "./foreign-plans";
import { openLedger } from "./ledger/ledger";
import type { Applicant, Plan } from "./ledger/records";
import { ADOPTED_BY, digestOfPlan, type PlannedHost, RETRIED, type Spec } from "./plan";
import { plansToForget } from "./retention";
import { createRunner } from "./runner";
import type { HowEnded } from "./shared";

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
}

/** A broadcast, and who waits for it. */
export interface BroadcastRequest extends Omit<BroadcastCaller, "targetOf"> {
  readonly content_digest: string;
  readonly spec: Spec;
  readonly hosts: readonly Host[];
  readonly grant: Grant;
}

export type Plans = ReturnType<typeof createPlans>;

/** What makes sure that the host under a label is the one that was meant. */
export const identityOf = ({ member, base_url }: Host): string => member?.host_id ?? base_url;

export function createPlans(uses: PlansUses) {
  const { files, publish, book } = uses;
  const ledger = openLedger(files.plans);
  const hosts = kept(book.hosts, (all) => new Map(all.map((host) => [host.label, host])));
  const targetFor = (host: Host) => {
    const { label, member, base_url } = host;
    const records = uses.recordsAt(base_url);
    return { label, server: book.reach(host), host_id: member?.host_id ?? null, records };
  };
  const isExpected = (label: string) => {
    const host = hosts().get(label);
    return host !== undefined && uses.isExpected(host.base_url);
  };
  const isOffline = (label: string) => {
    const host = hosts().get(label);
    return host !== undefined && uses.isGone(host.base_url);
  };
  const runner = createRunner({
    ...uses,
    ledger,
    locks: files.planLocks,
    hostOf(label) {
      const host = hosts().get(label);
      if (!host && book.isGone?.(label) === false) throw unavailable(`the entry of ${label} cannot be used`);
      if (!host) return undefined;
      return { ...targetFor(host), identity: identityOf(host) };
    },
    isOffline,
    isExpected,
  });
  let seen = uses.events.newest;
  const endListening = uses.events.listen(() => {
    for (; seen < uses.events.newest; seen++) {
      const one = uses.events.at(seen + 1);
      if (one?.type.name === "host.up") runner.hostUp(String(Object(JSON.parse(one.text)).label));
    }
  });
  /** Who takes the place of the token that applied the plan; undefined while that is in force. */
  const heirOf = async ({ token, applied }: Plan, grant: Grant): Promise<Applicant | undefined> => {
    if (token === null || applied === null) return undefined;
    const ended = (await uses.endings())(token, new Date(applied).toISOString());
    return ended === null ? undefined : { token: grant.name };
  };
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

  const plans = {
    ledger,
    runner,
    goesOn: uses.goesOn,
    /** Stores a plan; the oldest are forgotten where there are too many. @throws `busy` where all of them run. */
    create(
      content: string,
      content_digest: string,
      spec: Spec,
      planned: readonly PlannedHost[],
      maker: string | null,
    ): Plan {
      const now = Date.now();
      forget(plansToForget(ledger.plans(), spec.kind, planned.length, now));
      const digest = digestOfPlan(content_digest, spec, planned);
      const id = crypto.randomUUID();
      const plan = ledger.create({ id, digest, content, content_digest, spec, maker }, planned, now);
      const waves = spec.waves.length;
      publish(planCreated, { ...aboutPlan(plan), digest, hosts: plan.hosts, waves, token: maker });
      return plan;
    },
    /** Runs a broadcast, as a plan that ends with this process. @returns when each host has its result. */
    async attend({ content_digest, spec, hosts: those, grant, ...caller }: BroadcastRequest): Promise<void> {
      const planned = those.map((host) => ({ label: host.label, identity: identityOf(host) }));
      const byLabel = new Map(those.map((host) => [host.label, host]));
      const targetOf = (label: string) => {
        const host = byLabel.get(label);
        return host && targetFor(host);
      };
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
    /** Whether the host has not dialled since this process started, and may do so soon. */
    isExpected,
    /** Whether the host dials this process, and has no link to it. */
    isOffline,
    /** Whether a plan is running, or its hosts are asked to end what they may have, and no process does that. */
    isStalled: ({ seq, id, state, applied, ended }: Plan): boolean =>
      applied !== null &&
      ended === null &&
      state !== "paused" &&
      !runner.has(seq) &&
      !isLocked(join(files.planLocks, `${id}.lock`)),
    /** The plan of that id, or that begins so; undefined where there is none that the caller may see. */
    here(id: string, grant: Grant): Plan | undefined {
      try {
        return ledger.find(id, (plan) => maySee(grant, plan));
      } catch (error) {
        if (error instanceof Failure && error.code === "not_found") return undefined;
        throw error;
      }
    },
    /** The same, to change it. @throws `not_found`; `conflict` for one of another desk, or that such a one has taken over. */
    find(id: string, grant: Grant): Plan {
      const found = plans.here(id, grant);
      const isElsewhere = found?.reason?.startsWith(ADOPTED_BY) && uses.others?.isHeard(found.id);
      if (found && !isElsewhere) return found;
      throw uses.others?.refusal(id, grant) ?? noPlan(id);
    },
    /** Those that it may see, the newest first. */
    list: (grant: Grant): Plan[] => ledger.plans().filter((plan) => maySee(grant, plan)),
    /** @throws `conflict` when the plan is another than that of this digest, or has been applied and is over. */
    apply(plan: Plan, digest: string, token: string | null): Plan {
      requirePlan(plan);
      if (digest !== plan.digest) {
        throw conflict(
          `digest: ${printable(digest, 80)} is not that of the plan ${plan.id}: look at what it does again`,
        );
      }
      // Whoever stopped waiting for it goes on so.
      if (plan.state === "running") return plan;
      return started(ledger.apply(plan.seq, token, Date.now()));
    },
    pause(plan: Plan, reason: string): Plan {
      requirePlan(plan);
      const paused = ledger.pause(plan.seq, reason);
      publish(planPaused, { ...aboutPlan(plan), reason });
      return paused;
    },
    /** Where the token of the plan has ended, `grant` takes its place; so it does for `retry`. */
    async resume(plan: Plan, grant: Grant): Promise<Plan> {
      requirePlan(plan);
      return started(ledger.resume(plan.seq, await heirOf(plan, grant)));
    },
    async retry(plan: Plan, states: Parameters<typeof ledger.retry>[1], grant: Grant): Promise<Plan> {
      requirePlan(plan);
      const heir = await heirOf(plan, grant);
      const { plan: now, retried } = ledger.retry(plan.seq, states, Date.now(), heir);
      const which = (states ?? RETRIED).join(" or ");
      const begun = states ? "" : "; where it may have run, it is repeated only if its state is named";
      if (retried === 0) throw conflict(`the plan ${plan.id} has no host that is ${which}${begun}`);
      return started(now);
    },
    /**
     * Takes over the plan of a desk that is gone.
     *
     * @param force whether also where that desk was heard a moment ago.
     * @throws as {@link adoptPlan}; `conflict` where the desk does not seem to be gone.
     */
    async adopt(file: string, id: string, grant: Grant, force: boolean): Promise<Plan> {
      const { adoptPlan } = await import("./adopt");
      if (!force) uses.others?.requireSilent(id);
      return started(adoptPlan(ledger, file, id, grant.name, files.planLocks));
    },
    /**
     * Pauses the plans of this desk that the desk `name` has taken over since.
     *
     * @param adopted when that desk took over each of its plans.
     * @returns whether it still has one that this desk took over from it, and so needs to hear that.
     */
    yieldTo(name: string, adopted: ReadonlyMap<string, number>): boolean {
      let isBehind = false;
      for (const plan of ledger.plans({ open: true })) {
        const since = adopted.get(plan.id);
        if (since === undefined) continue;
        if (since < plan.adopted) isBehind = true;
        else if (since > plan.adopted && plan.state === "running") plans.pause(plan, `${ADOPTED_BY} ${name}`);
      }
      return isBehind;
    },
    /** Forgets a plan. @throws `conflict` for one that has begun and is not over. */
    remove(plan: Plan): void {
      if (forget([plan]) > 0) return;
      const { id, state } = ledger.plan(plan.seq);
      throw conflict(`the plan ${id} is ${state}, and not over: \`svc plan cancel\` ends it`);
    },
    stop(): void {
      endListening();
      runner.stop();
      ledger.close();
    },
  };
  return plans;
}

/** No plan has the id. */
export const noPlan = (id: string): Failure => notFound(`there is no plan ${printable(id, 64)}`);

/** A broadcast keeps no actions, and ends with its process. @throws `conflict`. */
function requirePlan({ id, spec }: Plan): void {
  if (spec.kind === "plan") return;
  throw conflict(
    `the plan ${id} is a broadcast, which ends with the process that runs it: \`svc plan cancel\` ends it before, and \`svc admin broadcast --retry\` repeats it`,
  );
}

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
