/**
 * This process as a desk with standbys, and as the standby of a desk.
 */
import { existsSync } from "node:fs";
import { localCaller } from "../../core/caller";
import type { Host } from "../../desk/fleet/host";
import type { DeskBundle } from "../../desk/join/desk-bundle";
import type { DeposedUses, OfficeNote } from "../../desk/join/standby/deposed";
import type { Beyond, Fence } from "../../desk/join/standby/fence";
import type { Follower, FollowerState } from "../../desk/join/standby/follower";
import type { StandbyState } from "../../desk/join/standby/operations/standing";
import type { Standbys } from "../../desk/join/standby/standbys";
import type { TakeOverUses } from "../../desk/join/standby/take-over";
import type { HeardCount, Notifier } from "../../desk/join/standby/telling";
import { conflict } from "../../lib/errors";
import { lazily, once } from "../../lib/once";
import { type ConfigFiles, hasBook } from "../../lib/paths";
import { printable } from "../../lib/sanitize";
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
  /**
   * Asks a host that has joined, before something is done there that the desk which has taken over could not take back.
   *
   * @throws `conflict` where the host proves that another machine has taken this desk over; a `RemoteError` where it does not say.
   */
  requireDeskAt(host: Host): Promise<void>;
  /** How many hosts have heard which desk this is, and what one has heard that cannot be; nothing of either where this process tells none. */
  hostsHeard(): { readonly hosts: HeardCount | null; readonly beyond: Beyond | null };
  /** What the server here knows, else this process; null where there is nothing to know. */
  standbyNow(): Promise<StandbyState | null>;
}

/** What a server looks after of them. */
export interface StandbyTasks {
  /** Follows the desk, and tells of standbys that are late. */
  lookAtStandbys(): Promise<void>;
  /** Whether plans of before the start may go on: not before standbys and hosts were asked whether one has taken over. */
  plansMayGoOn(): Promise<boolean>;
}

export function standbyFeatures(shared: ServiceParts): StandbyFeatures & StandbyTasks {
  const { configDir, files, log, events, publish, phase, feature, stoppable } = shared;
  let following: Follower | undefined;
  let fence: Fence | undefined;
  let telling: Notifier | undefined;
  const unwritten: OfficeNote = {};
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
  const announce = (subject: string) => localCaller(shared.service, "scheduler").announce(subject);
  const yieldUses = (): DeposedUses => ({
    ...{ files, publish, unwritten },
    yieldPlans: (by) => yieldPlans(shared, by),
  });
  const tells = stoppable(async () => {
    const [{ createTelling }, { isInOffice }, made, book] = await Promise.all([
      import("../../desk/join/standby/telling"),
      inOffice(),
      shared.service.deskFence(),
      shared.service.addressBook(),
    ]);
    telling = createTelling({
      ...{ fence: made, book, log, events },
      mayTell: () => phase.runsJobs && isInOffice(files, unwritten.taken),
      hasStandbys: () => existsSync(files.standbys),
    });
    return telling;
  });
  return {
    standbys,
    deskNow: async () => (await packer())(),
    followerState: () => following?.state() ?? null,
    takeOverUses: () => takeOverUses(shared),
    yieldUses,
    deskFence: feature(async () => {
      const [{ createFence }, { yieldTo }, { openSigningKey }] = await Promise.all([
        import("../../desk/join/standby/fence"),
        import("../../desk/join/standby/deposed"),
        import("../../trust/identity"),
      ]);
      fence = createFence({
        ...{ files, log },
        key: lazily(() => openSigningKey(files.deskKey)),
        yieldOffice: (by) => yieldTo(yieldUses(), by, announce),
        isYielding: () => unwritten.taken !== undefined,
      });
      return fence;
    }),
    requireDeskAt: (host) => requireDeskAt(shared, host),
    hostsHeard: () => ({ hosts: telling?.heard() ?? null, beyond: fence?.beyond() ?? null }),
    async standbyNow() {
      const isKnown = [files.standbys, files.following, files.takenOver].some((file) => existsSync(file));
      if (!isKnown && !fence?.beyond()) return null;
      const { show, standingOf } = await import("../../desk/join/standby/operations/standing");
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
      if (phase.runsJobs && mayBeOver(files) && hasBook(files)) (await tells()).look();
      // Last: as long as it cannot be written, it fails.
      if (unwritten.taken)
        await (await import("../../desk/join/standby/deposed")).writeUnwritten(yieldUses(), announce);
    },
    async plansMayGoOn() {
      if (unwritten.taken) return false;
      if (existsSync(files.takenOver) || existsSync(files.following)) {
        const [{ takenOverBy }, { requireInOffice }] = await Promise.all([office(), inOffice()]);
        const taken = takenOverBy(files);
        if (taken) await yieldPlans(shared, taken.by);
        else requireInOffice(files);
      }
      return !existsSync(files.standbys) || (await standbys()).mayGoOn(telling?.hasAsked() ?? true);
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

async function takeOverUses(shared: ServiceParts): Promise<TakeOverUses> {
  const { service, configDir, files, log, publish } = shared;
  const [{ openStandbyKey }, { createSnapshotCheck }, parts] = await Promise.all([
    import("../../desk/join/standby/snapshot"),
    import("../snapshot-check"),
    service.deskParts(),
  ]);
  return {
    ...{ configDir, files, parts, publish },
    identity: async () => (await openStandbyKey(files.standbyKey)).identity,
    check: createSnapshotCheck(files.standbyKey, log),
    hasServer: () => service.runningServer() !== null,
  };
}

/** Whether this is a desk that has a standby, or was taken over before: another machine may be the desk. */
const mayBeOver = (files: Pick<ConfigFiles, "standbys" | "deskGeneration">): boolean =>
  [files.standbys, files.deskGeneration].some((file) => existsSync(file));

async function requireDeskAt({ service, files }: ServiceParts, host: Host): Promise<void> {
  const { label, member } = host;
  // Without a standby, and on a desk that nobody has taken over, there is nobody to have done so.
  if (!member || !mayBeOver(files)) return;
  const [fence, book] = await Promise.all([service.deskFence(), service.addressBook()]);
  const reached = { label, server: book.reach(host), host_id: member.host_id };
  if (await fence.isOver(reached, {}))
    throw conflict(`this desk was taken over, as ${printable(label, 130)} proves: use the other one`);
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
