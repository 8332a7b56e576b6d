/**
 * The plans of this desk, what it knows of those of others, and the jobs of plans that this host takes.
 */
import { existsSync } from "node:fs";
import { shareOf } from "../../core/rights";
import type { BroadcastUses } from "../../fleet/operations/fleet";
import { once } from "../../lib/once";
import type { PlanJobs } from "../../plans/job/accept";
import type { OtherPlans } from "../../plans/others";
import type { Plans } from "../../plans/plans";
import type { FromDesk } from "../../release/from-desk";
import type { Releases } from "../../release/store";
import type { SigningKey } from "../../trust/identity";
import type { Shared } from "../shared";
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
  /** The plans of other desks of the same hosts. */
  otherPlans(): Promise<OtherPlans>;
  /** Null where no plan was ever made: looking does not make the file. */
  existingPlans(): Promise<Plans | null>;
}

export function planFeatures(
  shared: Shared,
  { isGone, isExpected }: Pick<Desk, "isGone" | "isExpected">,
): PlanFeatures {
  const { files, log, events, publish, tokens, made, phase, feature, stoppable, prepareFor, stopLast } =
    shared;
  return {
    planJobs: feature(async () => {
      const [{ createPlanJobs }, { openSeenJobs }] = await Promise.all([
        import("../../plans/job/accept"),
        import("../../plans/job/seen"),
      ]);
      const { executor, runs } = shared.service;
      const jobs = createPlanJobs({
        ...{ folder: files.jobFiles, log, executor, runs },
        seen: () => openSeenJobs(files.seenJobs),
        async signer(token) {
          const membership = (await import("../../join/membership")).readMembership(files.desk);
          return membership?.token === token ? membership : null;
        },
      });
      // Runs end while they stop, and say how.
      stopLast(() => jobs.close());
      return jobs;
    }),
    fromDesk: feature(async () => (await import("../from-desk")).openFromDesk(shared.service.configDir)),
    releases: feature(async () => (await import("../../release/store")).createReleases(files.releases)),
    plans: stoppable(async () => {
      const [{ createPlans }, { createDelivery }, { createUpgradeDelivery }, { openSigningKey }] =
        await Promise.all([
          import("../../plans/plans"),
          import("../../plans/deliver"),
          import("../../plans/upgrade/deliver"),
          import("../../trust/identity"),
        ]);
      let opened: SigningKey | undefined;
      const key = () => {
        opened ??= openSigningKey(files.deskKey);
        return opened;
      };
      const { deliver: deliverJob, cancel: cancelJob } = createDelivery(key);
      const deliver = createUpgradeDelivery({ deliver: deliverJob, key, folder: files.releases });
      await prepareFor(files.plans);
      made.plans = createPlans({
        ...{ files, log, events, deliver, cancelJob, endings: tokens.endings },
        others: await shared.service.otherPlans(),
        publish(type, data) {
          publish(type, data);
          if (type.name !== "plan.target") made.nats?.current()?.plansChanged();
        },
        book: await shared.service.addressBook(),
        ...{ isGone, isExpected },
        goesOn: () => phase.runsJobs,
      });
      return made.plans;
    }),
    async runBroadcast({ input, hosts, commands, scope, maxFailures, maxParallel, grant, ...about }) {
      const [{ writeContent }, { MAX_EXPIRES_S }] = await Promise.all([
        import("../../plans/job/content"),
        import("../../plans/plan"),
      ]);
      const { on, ...waiting } = about;
      const { canary, delivery_timeout_s, timeout_s, actions, stop_on_error } = input;
      const names = [...new Set(commands)];
      const parts = { actions, commands: names, stop_on_error, timeout_s, scope };
      const { content, digest } = writeContent(parts, Number.POSITIVE_INFINITY);
      const first = Math.min(canary, hosts.length);
      const rounds = Math.ceil(hosts.length / maxParallel);
      await (await shared.service.plans()).attend({
        ...{ ...waiting, content, content_digest: digest, client: shareOf(grant), grant },
        hosts,
        spec: {
          ...{ kind: "broadcast", on, commands: names, delivery_timeout_s, timeout_s },
          waves: first > 0 && first < hosts.length ? [first, hosts.length] : [hosts.length],
          ...{ pause_s: 0, max_failures: maxFailures, queue: false, max_parallel: maxParallel },
          // Hosts know its jobs for a week after that: no longer than it can take.
          expires_s: Math.min(MAX_EXPIRES_S, 3_600 + Math.ceil(rounds * (delivery_timeout_s + timeout_s))),
        },
      });
    },
    otherPlans: once(async () => (await import("../../plans/others")).createOtherPlans(files.otherPlans)),
    existingPlans: async () => (existsSync(files.plans) ? shared.service.plans() : null),
  };
}
