/**
 * The composition root: makes the features of one process, each on first use, and stops them in reverse order.
 *
 * A feature's modules are imported on first use, so that an idle `svc serve` holds only what it needs. Features do not know
 * one another: `service/features/` supplies what one needs of another. Here is what concerns all of them: the start of a
 * server, what ends with a token, and the end.
 */
import { existsSync } from "node:fs";
import { type Publish, unheard } from "../core/events";
import { parseInput } from "../core/input";
import type { Permission } from "../core/rights";
import { createBus } from "../events/bus";
import { createHandOver } from "../events/hand-over";
import { iceOfFlags } from "../host/peers/ice";
import { messageOf } from "../lib/errors";
import { silentLog } from "../lib/log";
import { once } from "../lib/once";
import { ownForLife } from "../lib/ownership";
import { configFiles } from "../lib/paths";
import { claimConfigDir } from "../lib/running-server";
import { isThere } from "../lib/trust-files";
import { createRevocations } from "../trust/revocations";
import { auditFeatures } from "./features/audit";
import { deskFeatures } from "./features/desk";
import { desktopFeatures } from "./features/desktop";
import { hostFeatures } from "./features/host";
import { peerFeatures } from "./features/peers";
import { planFeatures } from "./features/plans";
import { runFeatures } from "./features/runs";
import { surfaceFeatures } from "./features/surfaces";
import { createFolders } from "./folders";
import type { Service } from "./interface";
import { SERVICE_OPTIONS, type ServiceOptions } from "./options";
import type { Made, Phase, Shared } from "./shared";
import { createTokenUses } from "./token-uses";
import { watchOwnUpgrade } from "./upgraded";
import { createLooking, createNotifyPins, startUpkeep } from "./upkeep";

export type { Service } from "./interface";
export { PERMISSION_FIELDS, SERVICE_FIELDS, type ServiceOptions } from "./options";

const LIST_NOT_KEPT = "the list of files in format.json was not kept";

/** `{config_dir}` is made by what first writes to it, which may throw an `unavailable` failure. @throws `bad_input` for an unusable option. */
export function createService({
  configDir,
  log = silentLog,
  forwardSamples = false,
  handsOver = false,
  serverControl = true,
  logsAuditFailures,
  operations,
  eventTypes,
  ...given
}: ServiceOptions): Service {
  const options = parseInput(SERVICE_OPTIONS, given);
  const permitted: Readonly<Record<Permission, boolean>> = {
    shell: options.allow_shell,
    audit_clear: options.allow_audit_clear,
    server_control: serverControl,
  };
  const files = configFiles(configDir);
  const { inbox, check: checkFolder } = createFolders({
    configDir,
    givenInbox: options.inbox,
    takesFiles: !serverControl,
  });
  const stops: Array<() => Promise<void> | void> = [];
  const made: Made = {};
  const phase: Phase = { runsJobs: false, hasLooked: false, isClaimed: false };
  const revocations = createRevocations();
  const events = createBus(log);
  // Nobody can ask for a type that is not in the list.
  const publish: Publish = (type, data) => {
    if (!eventTypes || eventTypes.includes(type)) events.publish(type, data);
  };
  const handOver =
    handsOver &&
    createHandOver(events, async (happened, refreshes) => {
      const { handOver, refreshServer } = await import("./notify");
      const lost = await (refreshes ? refreshServer : handOver)(configDir, happened);
      if (lost !== undefined && happened.length > 0)
        log.warn(
          `the server on ${configDir} did not take events of this process (${happened.length}): ${lost}`,
        );
    });
  const feature: Shared["feature"] = (make, stop) =>
    once(async () => {
      checkFolder();
      const one = await make();
      if (stop) stops.push(() => stop(one));
      return one;
    });
  const tokens = createTokenUses(files, log, (name) => service.endWorkOf(name));

  const shared: Shared = {
    get service() {
      return service;
    },
    ...{ configDir, files, options, ice: iceOfFlags(options), log, events, publish },
    observed: handsOver ? unheard : publish,
    ...{ tokens, revocations, made, phase, feature },
    stoppable: (make) => feature(make, (one) => one.stop()),
    async prepareFor(database) {
      if (existsSync(database)) await service.prepareFolder();
    },
    stopFirst: (stop) => void stops.push(stop),
    stopLast: (stop) => void stops.unshift(stop),
  };
  const { watchLogs, ...audit } = auditFeatures(shared, logsAuditFailures);
  const { isGone, isExpected, recordsAt, lookAtDesk, lookAtNats, stopLink, ...desk } = deskFeatures(shared);
  const { hasJobs, ...runs } = runFeatures(shared, given.history_rows);

  const endRevoked = async () => {
    const howEnded = await tokens.endings();
    made.runs?.endRevoked(howEnded);
    revocations.end(howEnded);
    // A sync would open its session again.
    await made.syncs?.endRevoked(howEnded);
    await made.sessions?.endRevoked(howEnded);
    await made.recordings?.endRevoked(howEnded);
    if (existsSync(files.webhooks)) await (await service.webhooks()).endRevoked();
  };

  const folderFiles = once(async () =>
    (await import("../lib/folder-files")).createFolderFiles(configDir, log),
  );
  const lookAtFiles = async () => (await folderFiles())();

  const service: Service = {
    ...audit,
    ...desk,
    ...runs,
    ...planFeatures(shared, { isGone, isExpected, recordsAt }),
    ...desktopFeatures(shared),
    ...peerFeatures(shared, forwardSamples),
    ...surfaceFeatures(shared, { operations, eventTypes }),
    ...hostFeatures(shared),
    get configDir() {
      checkFolder();
      return configDir;
    },
    inbox,
    log,
    prepareFolder: once(async () => {
      checkFolder();
      await (await import("./prepare-folder")).prepareFolder(configDir, log);
      // A list that cannot be kept now is kept by a later look.
      await lookAtFiles().catch((error) => log.warn(`${LIST_NOT_KEPT}: ${messageOf(error)}`));
      // What this process makes is listed also when no server looks.
      stops.unshift(lookAtFiles);
    }),
    async claimFolder() {
      await service.prepareFolder();
      const release = await claimConfigDir(configDir);
      if (!release) return undefined;
      try {
        const leave = await ownForLife(configDir);
        phase.isClaimed = true;
        return () => {
          phase.isClaimed = false;
          leave();
          release();
        };
      } catch (error) {
        release();
        throw error;
      }
    },
    answerAsOwner: async () => (await import("./owner")).answerAsOwner(service),
    permits: (need) => permitted[need],
    async runJobs() {
      phase.runsJobs = true;
      if (existsSync(files.traces)) (await service.traces()).clear();
      await made.scheduler?.start();
      const hasHooks = () => existsSync(files.webhooks);
      const looks = {
        // Whoever revokes a token may not be able to notify this process.
        "what revoked tokens have started was not ended": async () => {
          if (made.runs || made.sessions || made.recordings || hasHooks() || revocations.awaited())
            await endRevoked();
        },
        "the scheduler did not start": async () => {
          if (hasJobs()) await service.scheduler();
        },
        "the webhooks did not start": async () => {
          if (hasHooks()) (await service.webhooks()).start();
        },
        "the link to the desk did not start or end": lookAtDesk,
        "the connection to the NATS server did not start": lookAtNats,
        "the audit logs of the hosts are not watched": async () => {
          if (phase.runsJobs && existsSync(files.deskKey) && existsSync(files.adminHosts)) await watchLogs();
        },
        // Last: it may wait for a lock.
        [LIST_NOT_KEPT]: lookAtFiles,
      };
      const later = {
        // Not at the start: no server ends because its plans cannot go on yet.
        "not every plan was taken over": async () => {
          if (isThere(files.plans)) (await service.plans()).runner.takeOver();
        },
      };
      // Before plans go on, which would take its hosts for gone.
      await service.openHub();
      const look = createLooking(log);
      const endUpkeep = startUpkeep(service, () => look({ ...looks, ...later }), tellPins);
      const endWatch = watchOwnUpgrade({
        ...{ log, publish, seenFile: files.upgradeSeen },
        async forgetOld() {
          if (existsSync(files.upgrade)) (await service.fromDesk()).forgetOld();
        },
        async record(detail) {
          const row = { event_type: "upgrade", host_id: null, viewer_id: null, detail };
          await (await service.audit())?.append(row);
        },
      });
      const stop = () => {
        phase.runsJobs = false;
        endUpkeep();
        endWatch();
        made.scheduler?.stop();
        return stopLink();
      };
      stops.push(stop);
      // One that fails keeps no server from starting: whoever is to mend the file may have no other way to this host.
      await look(looks);
      // Once the webhooks take events.
      if (existsSync(files.history)) await (await service.history()).settle();
      phase.hasLooked = true;
      return stop;
    },
    untilRevoked: revocations.until,
    async endWorkOf(token) {
      const jobs = hasJobs() ? await (await service.scheduler()).disown("token", token) : 0;
      await endRevoked();
      return jobs;
    },
    async notifyServer() {
      if (handOver) return handOver.refresh();
      if (phase.isClaimed) return service.refresh();
      await (await import("./notify")).refreshServer(configDir);
    },
    async refresh(happened = []) {
      if (happened.length > 0) {
        const [{ takeOver }, types] = await Promise.all([
          import("../events/take-over"),
          service.eventTypes(),
        ]);
        takeOver(events, types, happened);
      }
      await (await service.rest()).server?.refresh();
      if (phase.runsJobs && hasJobs()) await (await service.scheduler()).refresh();
      if (phase.runsJobs) await lookAtDesk();
      if (phase.runsJobs) void tellPins();
      await endRevoked();
    },
    async stop() {
      const faults: unknown[] = [];
      for (let stop = stops.pop(); stop; stop = stops.pop()) {
        try {
          await stop();
        } catch (error) {
          faults.push(error);
        }
      }
      if (handOver) await handOver.end();
      if (faults.length > 0) throw faults[0];
    },
  };
  const tellPins = createNotifyPins(service, configDir);
  return service;
}
