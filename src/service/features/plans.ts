/**
 * The plans of this desk, what it knows of those of others, and the jobs of plans that this host takes.
 */
import { OWNER, shareOf } from "../../core/rights";
import type { BroadcastUses } from "../../desk/fleet/operations/fleet";
import type { ForeignPlans } from "../../desk/plans/foreign-plans";
import type { Plan } from "../../desk/plans/ledger/rows";
import type { Plans, PlansUses } from "../../desk/plans/plans";
import type { DriftFound } from "../../desk/plans/state/drift";
import type { FleetStates, PlanFates } from "../../desk/plans/state/kept";
import type { ExistingStates } from "../../desk/plans/state/operations/states";
import type { Releases } from "../../desk/release/store";
import type { TogetherUses } from "../../desk/together/operations";
import type { PlanJobs } from "../../host/jobs/accept";
import type { FromDesk } from "../../host/release/from-desk";
import { Failure, messageOf } from "../../lib/errors";
import { lazily, once } from "../../lib/once";
import { orFailure } from "../../lib/or-else";
import { isThere } from "../../lib/trust-files";
import type { HostsOnRecord } from "../../wire/receipt/plan-record";
import type { ServiceParts } from "../parts";
import type { Desk } from "./desk";

/** The plans of a process, and the jobs of plans that it takes. */
export interface PlanFeatures {
  /** The jobs that this host takes from a desk. */
  planJobs(): Promise<PlanJobs>;
  /** Upgrading this host from its desk. */
  fromDesk(): Promise<FromDesk>;
  /** The programs that this desk sends to hosts. */
  releases(): Promise<Releases>;
  plans(): Promise<Plans>;
  runBroadcast: BroadcastUses["runBroadcast"];
  /** Has hosts do their part of a script, by the server on the folder where one runs. */
  runTogether: TogetherUses["runTogether"];
  /** Runs a job of such a script on its host. */
  runOnHost: TogetherUses["runOnHost"];
  /** The plans of other desks of the same hosts. */
  foreignPlans(): Promise<ForeignPlans>;
  /** Null where no plan was ever made: looking does not make the file. */
  existingPlans(): Promise<Plans | null>;
  /** The states that this desk has applied to hosts. */
  fleetStates(): Promise<FleetStates>;
  /** The same with the looks for drift; null where none was ever applied. */
  existingStates(): Promise<ExistingStates | null>;
  /** What the last look for drift has found, by the name of the state; empty where nobody has looked. */
  driftFound(): ReadonlyMap<string, DriftFound>;
  /** Which machine is the desk where this one is not, in words; null where it is. */
  deskElsewhere(): Promise<string | null>;
}

export function planFeatures(
  shared: ServiceParts,
  links: Pick<Desk, "isGone" | "whyGone" | "isExpected" | "recordsAt">,
): PlanFeatures {
  const { files, log, events, publish, tokens, made, phase, feature, stoppable, prepareFor, stopLast } =
    shared;
  return {
    planJobs: feature(async () => {
      const [{ createPlanJobs }, { openSeenJobs }] = await Promise.all([
        import("../../host/jobs/accept"),
        import("../../host/jobs/seen"),
      ]);
      const { executor, runs } = shared.service;
      const jobs = createPlanJobs({
        ...{ folder: files.jobFiles, log, executor, runs },
        seen: () => openSeenJobs(files.seenJobs),
        async signer(token) {
          const membership = (await import("../../wire/join/membership")).readMembership(files.desk);
          return membership?.token === token ? membership : null;
        },
      });
      // Runs end while they stop, and say how.
      stopLast(() => jobs.close());
      return jobs;
    }),
    fromDesk: feature(async () => (await import("../from-desk")).openFromDesk(shared.service.configDir)),
    releases: feature(async () => (await import("../../desk/release/store")).createReleases(files.releases)),
    plans: stoppable(async () => {
      const [{ createPlans }, office, delivery] = await Promise.all([
        import("../../desk/plans/plans"),
        import("../../desk/join/standby/in-office"),
        deliveryOf(shared),
      ]);
      await prepareFor(files.plans);
      made.plans = createPlans({
        ...{ files, log, events, ...delivery, endings: tokens.endingsForPlans },
        others: await shared.service.foreignPlans(),
        publish(type, data) {
          publish(type, data);
          if (type.name !== "plan.target") made.nats?.plansChanged();
        },
        book: await shared.service.addressBook(),
        ...links,
        goesOn: () => phase.runsJobs,
        requireInOffice: () => office.requireInOffice(files, shared.service.yieldUses().unwritten.taken),
        ...(shared.options.audit && {
          recordEnd: (plan: Plan, hosts: HostsOnRecord) => recordEnd(shared, plan, hosts),
        }),
      });
      return made.plans;
    }),
    async runBroadcast({ input, before, hosts, commands, scope, maxFailures, maxParallel, grant, ...about }) {
      const [{ writeContent }, { writeContents }, { MAX_EXPIRES_S }] = await Promise.all([
        import("../../wire/job/content"),
        import("../../desk/plans/host-contents"),
        import("../../desk/plans/plan"),
      ]);
      const { on, isPart = false, ...waiting } = about;
      const { canary, delivery_timeout_s, timeout_s, stop_on_error, desktop } = input;
      const actions = [...before.common, ...input.actions];
      const names = [...new Set(commands)];
      const parts = { actions, commands: names, stop_on_error, desktop, timeout_s, scope };
      const common = writeContent(parts, Number.POSITIVE_INFINITY);
      const { content, digest } = before.own
        ? writeContents(common.content, before.own, before.names, Number.POSITIVE_INFINITY)
        : common;
      const first = Math.min(canary, hosts.length);
      const rounds = Math.ceil(hosts.length / maxParallel);
      await (await shared.service.plans()).attend({
        ...{ ...waiting, content, content_digest: digest, client: shareOf(grant), grant },
        hosts,
        spec: {
          ...{ kind: "broadcast", on, commands: names, delivery_timeout_s, timeout_s },
          ...(isPart && { part: true }),
          waves: first > 0 && first < hosts.length ? [first, hosts.length] : [hosts.length],
          ...{ pause_s: 0, max_failures: maxFailures, queue: false, max_parallel: maxParallel },
          // Hosts know its jobs for a week after that: no longer than it can take.
          expires_s: Math.min(MAX_EXPIRES_S, 3_600 + Math.ceil(rounds * (delivery_timeout_s + timeout_s))),
        },
      });
    },
    runTogether: async (...asked) => (await import("../together")).answerTogether(shared, ...asked),
    runOnHost: async (...job) => (await import("../together")).runOnHost(shared.service, ...job),
    foreignPlans: once(async () =>
      (await import("../../desk/plans/foreign-plans")).createForeignPlans(files.foreignPlans),
    ),
    existingPlans: async () => (isThere(files.plans) ? shared.service.plans() : null),
    ...stateFeatures(shared),
  };
}

/** How the jobs of this desk go to hosts. */
async function deliveryOf({
  files,
  service,
}: ServiceParts): Promise<Pick<PlansUses, "deliver" | "cancelJob">> {
  const [{ createDelivery }, { createUpgradeDelivery }, { openSigningKey }, fence] = await Promise.all([
    import("../../desk/plans/deliver"),
    import("../../desk/plans/upgrade/deliver"),
    import("../../trust/identity"),
    service.deskFence(),
  ]);
  const key = lazily(() => openSigningKey(files.deskKey));
  const { deliver, cancel: cancelJob } = createDelivery(key, {}, fence);
  return { deliver: createUpgradeDelivery({ deliver, key, folder: files.releases, fence }), cancelJob };
}

/** Leaves the row of the end of a plan. Never throws. */
async function recordEnd(
  { service, log }: ServiceParts,
  { id, created, state }: Plan,
  hosts: HostsOnRecord,
): Promise<void> {
  try {
    await (await service.receipts())?.planEnded({ id, created, state }, hosts);
  } catch (error) {
    const why = messageOf(error);
    log.warn(
      `the end of a plan is not on record, so that its receipt does not show whether it is whole: ${why}`,
    );
  }
}

/** What hosts should have, as files say. */
function stateFeatures(
  shared: ServiceParts,
): Pick<PlanFeatures, "fleetStates" | "existingStates" | "driftFound" | "deskElsewhere"> {
  const { files, log, made, feature, stoppable } = shared;
  const fates = async () => fatesIn(await shared.service.existingPlans());
  const fleetStates = feature(async () => {
    const { createFleetStates } = await import("../../desk/plans/state/kept");
    return createFleetStates({ file: files.fleetStates, lock: files.fleetStatesLock }, log, fates);
  });
  const looks = stoppable(async () => {
    const { createDriftLooks } = await import("../../desk/plans/state/drift");
    made.drift = createDriftLooks({
      ...{ states: await fleetStates(), log, book: shared.service.addressBook, fates },
    });
    return made.drift;
  });
  return {
    fleetStates,
    existingStates: async () =>
      isThere(files.fleetStates) ? { states: await fleetStates(), looks: await looks() } : null,
    driftFound: () => made.drift?.found() ?? new Map(),
    async deskElsewhere() {
      const { requireInOffice } = await import("../../desk/join/standby/in-office");
      const { taken } = shared.service.yieldUses().unwritten;
      const fault = orFailure(() => requireInOffice(files, taken));
      return fault instanceof Failure ? fault.message : null;
    },
  };
}

/** What became of plans. Only one that is no longer there is gone: where the ledger cannot be read, nobody knows. */
function fatesIn(plans: Plans | null): PlanFates {
  const find = (id: string) => plans?.here(id, OWNER);
  return {
    of(id) {
      const { applied, ended } = find(id) ?? { applied: null, ended: 0 };
      if (applied !== null) return { applied, isOver: ended !== null };
      return ended === null ? "new" : "gone";
    },
    open(id) {
      const plan = find(id);
      if (!plans || !plan || plan.ended !== null) return new Set();
      return new Set(Array.from(plans.ledger.open(plan.seq), ({ label }) => label));
    },
  };
}
