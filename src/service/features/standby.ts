/**
 * This process as a desk with standbys, and as the standby of a desk.
 */
import { existsSync } from "node:fs";
import { localCaller } from "../../core/caller";
import type { DeskBundle } from "../../desk/join/desk-bundle";
import type { DeposedUses } from "../../desk/join/standby/deposed";
import type { Fence } from "../../desk/join/standby/fence";
import type { Follower, FollowerState } from "../../desk/join/standby/follower";
import type { Standing } from "../../desk/join/standby/operations";
import type { Standbys } from "../../desk/join/standby/standbys";
import type { TakeOverUses } from "../../desk/join/standby/take-over";
import { once } from "../../lib/once";
import type { SigningKey } from "../../trust/identity";
import type { ServiceParts } from "../parts";

/** What a process has of desks and their standbys. */
export interface StandbyFeatures {
  /** The machines that may follow this desk. */
  standbys(): Promise<Standbys>;
  /** What makes this machine the desk, as it is now, and the stamp of that. @throws `unavailable` where it is none. */
  deskNow(): Promise<{ readonly bundle: DeskBundle; readonly stamp: string }>;
  /** How this machine follows a desk; null where this process does not. */
  followerState(): FollowerState | null;
  takeOverUses(): Promise<TakeOverUses>;
  /** What this desk uses once it was taken over. */
  yieldUses(): DeposedUses;
  /** What hosts know of this desk. */
  deskFence(): Promise<Fence>;
  /** What the server here knows, else this process; null where there is nothing to know. */
  standbyNow(): Promise<Standing | null>;
}

/** What a server looks after of them. */
export interface StandbyTasks {
  /** Follows the desk, and tells of standbys that are late. */
  lookAtStandbys(): Promise<void>;
  /** Whether plans of before the start may go on: not before it is known that no standby has taken over. */
  plansMayGoOn(): Promise<boolean>;
}

export function standbyFeatures(shared: ServiceParts): StandbyFeatures & StandbyTasks {
  const { configDir, files, log, publish, phase, feature, stoppable } = shared;
  let following: Follower | undefined;
  const office = once(() => import("../../desk/join/standby/office"));
  const inOffice = once(() => import("../../desk/join/standby/in-office"));
  const standbys = feature(async () =>
    (await import("../../desk/join/standby/standbys")).createStandbys(files, log, publish),
  );
  const packer = once(() => packerOf(shared));
  const follower = stoppable(async () => {
    const { createFollower } = await import("../../desk/join/standby/follower");
    following = createFollower({ ...(await takeOverUses(shared)), log });
    return following;
  });
  return {
    standbys,
    deskNow: async () => (await packer())(),
    followerState: () => following?.state() ?? null,
    takeOverUses: () => takeOverUses(shared),
    yieldUses: () => ({ files, publish, yieldPlans: (by) => yieldPlans(shared, by) }),
    deskFence: feature(async () => {
      const [{ createFence }, { yieldTo }, { openSigningKey }] = await Promise.all([
        import("../../desk/join/standby/fence"),
        import("../../desk/join/standby/deposed"),
        import("../../trust/identity"),
      ]);
      let opened: SigningKey | undefined;
      return createFence({
        ...{ files, log },
        key() {
          opened ??= openSigningKey(files.deskKey);
          return opened;
        },
        yieldOffice: (by) =>
          yieldTo(shared.service.yieldUses(), by, localCaller(shared.service, "scheduler").announce),
      });
    }),
    async standbyNow() {
      if (![files.standbys, files.following, files.takenOver].some((file) => existsSync(file))) return null;
      const { show, standingOf } = await import("../../desk/join/standby/operations");
      if (!phase.isClaimed) {
        const { askServer } = await import("../../client/owner");
        const asked = await askServer(configDir, show, {}).catch(() => undefined);
        if (asked) return asked.answer;
      }
      return standingOf(shared.service);
    },
    async lookAtStandbys() {
      if (existsSync(files.standbys)) (await standbys()).look();
      if (phase.runsJobs && (following || existsSync(files.following))) (await follower()).look();
    },
    async plansMayGoOn() {
      if (existsSync(files.takenOver) || existsSync(files.following)) {
        const [{ takenOverBy }, { requireInOffice }] = await Promise.all([office(), inOffice()]);
        const taken = takenOverBy(files);
        if (taken) await yieldPlans(shared, taken.by);
        else requireInOffice(files);
      }
      return !existsSync(files.standbys) || (await standbys()).mayGoOn();
    },
  };
}

async function packerOf({ service, configDir }: ServiceParts) {
  const [{ createPacker }, { gzipAside }] = await Promise.all([
    import("../../desk/join/standby/packer"),
    import("../../lib/gzip"),
  ]);
  return createPacker({
    ...{ configDir, gzip: gzipAside },
    async kept() {
      const addressBook = await service.addressBook();
      return () => {
        const book = addressBook.content();
        return book ? { "admin_hosts.json": `${JSON.stringify(book, null, 2)}\n` } : {};
      };
    },
  });
}

async function takeOverUses({ service, configDir, files, publish }: ServiceParts): Promise<TakeOverUses> {
  const [{ openStandbyKey }, { checked }, { DATABASE_NAMES, unpacked }, parts] = await Promise.all([
    import("../../desk/join/standby/snapshot"),
    import("../../desk/join/desk-bundle"),
    import("../../desk/join/desk-databases"),
    service.deskParts(),
  ]);
  return {
    ...{ configDir, files, parts, publish },
    identity: async () => (await openStandbyKey(files.standbyKey)).identity,
    async check(bundle) {
      const { databases } = await checked(bundle, parts.readers);
      for (const name of DATABASE_NAMES)
        if (databases[name] !== undefined) unpacked(name, databases[name]).close();
    },
    hasServer: () => service.runningServer() !== null,
  };
}

/** Pauses the plans of this desk that run, and ends its broadcasts: hosts are asked what became of what they have, and get nothing more. */
async function yieldPlans({ service }: ServiceParts, by: string): Promise<void> {
  const plans = await service.existingPlans();
  const reason = `the standby ${by} has taken this desk over`;
  for (const plan of plans?.ledger.plans({ open: true }) ?? []) {
    if (plan.state !== "running") continue;
    if (plan.spec.kind === "plan") plans?.pause(plan, reason);
    else await plans?.cancel(plan, reason);
  }
}
