/**
 * What a server does besides answering, from its start on: it runs jobs and plans, keeps its links, ends what revoked tokens have
 * started, and follows upgrades of its program.
 */
import { existsSync } from "node:fs";
import { messageOf } from "../lib/errors";
import { hasBook } from "../lib/paths";
import { isThere } from "../lib/trust-files";
import type { Desk } from "./features/desk";
import type { StandbyTasks } from "./features/standby";
import { watchOwnUpgrade } from "./own-upgrade";
import type { ServiceParts } from "./parts";
import { createLooking, startUpkeep } from "./upkeep";

/** What is logged when the list of files of the folder cannot be kept. */
export const LIST_NOT_KEPT = "the list of files in format.json was not kept";

/** What the features of a process leave to its background. */
interface BackgroundTasks
  extends Pick<Desk, "lookAtBook" | "lookAtDesk" | "lookAtNats" | "stopLink">,
    Pick<StandbyTasks, "lookAtStandbys" | "plansMayGoOn"> {
  /** Whether there are scripts on a schedule. */
  hasJobs(): boolean;
  /** Watches the audit logs of the hosts of this desk. */
  watchLogs(): Promise<void>;
  /** Ends what revoked tokens have started. */
  endRevoked(): Promise<void>;
  /** Keeps the list of the files in the folder. */
  listFiles(): Promise<void>;
  /** Lets hosts that have joined follow this desk to another key. Implementations must not throw. */
  tellPins(): Promise<void>;
}

/** Starts it all. @returns a function that starts no further run, and ends the rest. */
export async function runBackground(shared: ServiceParts, tasks: BackgroundTasks): Promise<() => void> {
  const { service, files, log, made, phase, options } = shared;
  phase.runsJobs = true;
  await made.scheduler?.start();
  const looks = looksOf(shared, tasks);
  const later = {
    // Not at the start: no server ends because its plans cannot go on yet.
    "not every plan was taken over": async () => {
      if (!isThere(files.plans) || !(await tasks.plansMayGoOn())) return;
      const plans = await service.plans();
      plans.runner.takeOver();
      await plans.removeUnfinished();
    },
  };
  // Before plans go on, which would take its hosts for gone.
  await service.openHub();
  const look = createLooking(log);
  const first = {
    "what runs that died have left of traces was not removed": async () => {
      if (existsSync(files.traces)) (await service.traces()).clear();
    },
  };
  const endUpkeep = startUpkeep(service, () => look({ ...looks, ...later }), tasks.tellPins);
  const endWatch = watchUpgrades(shared);
  const stop = () => {
    phase.runsJobs = false;
    endUpkeep();
    endWatch();
    made.scheduler?.stop();
    return tasks.stopLink();
  };
  shared.stopFirst(stop);
  // One that fails keeps no server from starting: whoever is to mend the file may have no other way to this host.
  await look({ ...first, ...looks });
  // Of a svc that was killed.
  if (process.platform === "linux") await (await import("../host/desktops/keeper")).sweep();
  if (options.black_box !== undefined || existsSync(files.blackBox)) (await service.blackBox()).start();
  await watchScreens(shared);
  // Once the webhooks take events.
  if (existsSync(files.history)) await (await service.history()).settle();
  phase.hasLooked = true;
  return stop;
}

/** What is looked at every second, by what is logged where that fails. */
function looksOf(
  { service, files, made, phase, options, revocations }: ServiceParts,
  tasks: BackgroundTasks,
) {
  const { hasJobs, lookAtBook, lookAtDesk, lookAtNats, watchLogs, endRevoked, listFiles } = tasks;
  const hasHooks = () => existsSync(files.webhooks);
  return {
    // Whoever revokes a token may not be able to notify this process.
    "what revoked tokens have started was not ended": async () => {
      if (made.runs || made.sessions || made.recordings || hasHooks() || revocations.awaited())
        await endRevoked();
    },
    "sessions that began while the clock was ahead were not ended": async () => {
      if (options.oidc !== undefined) await (await service.signIn())?.endUnbegun();
    },
    "the scheduler did not start": async () => {
      if (hasJobs()) await service.scheduler();
    },
    "the webhooks did not start": async () => {
      if (hasHooks()) (await service.webhooks()).start();
    },
    "the address book of an earlier svc was not taken over": lookAtBook,
    "the link to the desk did not start or end": lookAtDesk,
    "what nats.json says was not taken over": lookAtNats,
    "the audit logs of the hosts are not watched": async () => {
      if (phase.runsJobs && existsSync(files.deskKey) && hasBook(files)) await watchLogs();
    },
    "the desk and its standbys do not hear of each other": tasks.lookAtStandbys,
    "no drift was looked for": async () => {
      if (phase.runsJobs && isThere(files.fleetStates))
        await (await service.existingStates())?.looks.lookIfDue();
    },
    // Last: it may wait for a lock.
    [LIST_NOT_KEPT]: listFiles,
  };
}

/** Compares the screens of hosts again and again, where that is wanted. That it begins is on record, as it looks at screens. */
async function watchScreens({ service, options, log }: ServiceParts): Promise<void> {
  const watch = await service.oddWatch();
  if (!watch) return;
  const detail = `admin.odd on=${JSON.stringify(options.odd_on)}: compares the screens of hosts every minute`;
  try {
    await (await service.audit())?.log("desk", { detail });
    watch.start();
  } catch (error) {
    log.warn(`the screens are not compared: ${messageOf(error)}`);
  }
}

/** @returns a function that ends the wait for an upgrade that is under way. */
function watchUpgrades({ service, files, log, publish }: ServiceParts): () => void {
  return watchOwnUpgrade({
    log,
    publish,
    seenFile: files.upgradeSeen,
    async forgetOld() {
      if (existsSync(files.upgrade)) (await service.fromDesk()).forgetOld();
    },
    async record(detail) {
      await (await service.audit())?.log("upgrade", { detail });
    },
  });
}
