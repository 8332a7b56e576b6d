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
import { createHandOver, type HandOver } from "../events/hand-over";
import { iceOfFlags } from "../host/peers/ice";
import { messageOf } from "../lib/errors";
import type { Release } from "../lib/lock";
import { silentLog } from "../lib/log";
import { once } from "../lib/once";
import { ownForLife } from "../lib/ownership";
import { configFiles } from "../lib/paths";
import { claimConfigDir } from "../lib/running-server";
import { createRevocations } from "../trust/revocations";
import { LIST_NOT_KEPT, runBackground } from "./background";
import { agentFeatures } from "./features/agents";
import { auditFeatures } from "./features/audit";
import { deskFeatures } from "./features/desk";
import { desktopFeatures } from "./features/desktop";
import { hostFeatures } from "./features/host";
import { peerFeatures } from "./features/peers";
import { planFeatures } from "./features/plans";
import { runFeatures } from "./features/runs";
import { standbyFeatures } from "./features/standby";
import { surfaceFeatures } from "./features/surfaces";
import { createFolders } from "./folders";
import type { Service } from "./interface";
import { SERVICE_OPTIONS, type ServiceOptions } from "./options";
import type { Phase, ServiceParts } from "./parts";
import { createTokenUses } from "./token-uses";
import { createNotifyPins } from "./upkeep";

export type { Service } from "./interface";
export { PERMISSION_FIELDS, SERVICE_FIELDS, type ServiceOptions } from "./options";

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
  const { inbox, check: checkFolder } = createFolders({
    configDir,
    givenInbox: options.inbox,
    takesFiles: !serverControl,
  });
  const stops: Stops = [];
  const whole = { service: () => service, checkFolder, stops };
  const shared = createShared({ configDir, log, handsOver, eventTypes, options, ...whole });
  const { revocations, phase } = shared;
  const handOver = handsOver && handOverOf(shared);
  const { watchLogs, ...audit } = auditFeatures(shared, logsAuditFailures);
  const { isGone, whyGone, isExpected, recordsAt, lookAtBook, lookAtDesk, lookAtNats, stopLink, ...desk } =
    deskFeatures(shared);
  const { hasJobs, ...runs } = runFeatures(shared, given.history_rows);

  const endRevoked = () => endRevokedWork(shared);
  const folderFiles = once(async () =>
    (await import("../lib/folder-files")).createFolderFiles(configDir, log),
  );
  const listFiles = async () => (await folderFiles())();

  const { lookAtStandbys, plansMayGoOn, ...standby } = standbyFeatures(shared);

  const service: Service = {
    ...audit,
    ...desk,
    ...standby,
    ...runs,
    ...planFeatures(shared, { isGone, whyGone, isExpected, recordsAt }),
    ...desktopFeatures(shared),
    ...peerFeatures(shared, forwardSamples),
    ...surfaceFeatures(shared, { operations, eventTypes }),
    ...hostFeatures(shared),
    ...agentFeatures(shared),
    get configDir() {
      checkFolder();
      return configDir;
    },
    onlyOn: (selection) => onlyOn(service, selection),
    inbox,
    log,
    prepareFolder: once(async () => {
      checkFolder();
      await (await import("./prepare-folder")).prepareFolder(configDir, log);
      // A list that cannot be kept now is kept by a later look.
      await listFiles().catch((error) => log.warn(`${LIST_NOT_KEPT}: ${messageOf(error)}`));
      // What this process makes is listed also when no server looks.
      stops.unshift(listFiles);
    }),
    async claimFolder() {
      await service.prepareFolder();
      return claimForLife(configDir, phase);
    },
    answerAsOwner: async () => (await import("./owner")).answerAsOwner(service),
    permits: (need) => permitted[need],
    runJobs: () =>
      runBackground(shared, {
        hasJobs,
        lookAtBook,
        lookAtDesk,
        lookAtNats,
        stopLink,
        watchLogs,
        endRevoked,
        listFiles,
        tellPins,
        ...{ lookAtStandbys, plansMayGoOn },
      }),
    untilRevoked: revocations.until,
    async endWorkOf(token) {
      const jobs = hasJobs() ? await (await service.scheduler()).disown("token", token) : 0;
      await endRevoked();
      return jobs;
    },
    async refresh() {
      await (await service.rest()).server?.refresh();
      if (phase.runsJobs && hasJobs()) await (await service.scheduler()).refresh();
      if (phase.runsJobs) await lookAtDesk();
      if (phase.runsJobs) void tellPins();
      await endRevoked();
    },
    async stop() {
      const faults = await stopAll(stops);
      if (handOver) await handOver.end();
      if (faults.length > 0) throw faults[0];
    },
  };
  const tellPins = createNotifyPins(service, configDir);
  return service;
}

/** `service` for who may act on the hosts of a selection alone. */
const onlyOn = (service: Service, selection: string): Service =>
  Object.create(service, {
    addressBook: {
      async value() {
        const [book, { limitedBook }] = await Promise.all([
          service.addressBook(),
          import("../desk/fleet/limited-book"),
        ]);
        return limitedBook(book, selection);
      },
    },
  });

/** What is stopped with the service, last first. */
type Stops = Array<() => Promise<void> | void>;

/** What a service is made with that its features share. */
interface SharedParts extends Pick<ServiceParts, "configDir" | "log" | "options"> {
  readonly handsOver: boolean;
  readonly eventTypes: ServiceOptions["eventTypes"];
  /** The whole. Callers must not ask for it before it is made. */
  service(): Service;
  /** @throws `unavailable` where no folder can be made. */
  checkFolder(): void;
  readonly stops: Stops;
}

/** Makes what the features of one process share. */
function createShared(parts: SharedParts): ServiceParts {
  const { configDir, log, handsOver, eventTypes, options, service, checkFolder, stops } = parts;
  const files = configFiles(configDir);
  const events = createBus(log);
  // Nobody can ask for a type that is not in the list.
  const publish: Publish = (type, data) => {
    if (!eventTypes || eventTypes.includes(type)) events.publish(type, data);
  };
  const feature: ServiceParts["feature"] = (make, stop) =>
    once(async () => {
      checkFolder();
      const one = await make();
      if (stop) stops.push(() => stop(one));
      return one;
    });
  return {
    get service() {
      return service();
    },
    configDir,
    files,
    options,
    ice: iceOfFlags(options),
    log,
    isBeside: handsOver,
    events,
    publish,
    observed: handsOver ? unheard : publish,
    tokens: createTokenUses(files, log, (name) => service().endWorkOf(name)),
    revocations: createRevocations(),
    made: {},
    phase: { runsJobs: false, hasLooked: false, isClaimed: false },
    feature,
    stoppable: (make) => feature(make, (one) => one.stop()),
    async prepareFor(database) {
      if (existsSync(database)) await service().prepareFolder();
    },
    stopFirst: (stop) => void stops.push(stop),
    stopLast: (stop) => void stops.unshift(stop),
  };
}

/** Ends what tokens have started that have ended since. */
async function endRevokedWork({ service, files, tokens, revocations, made }: ServiceParts): Promise<void> {
  const howEnded = await tokens.endings();
  made.runs?.endRevoked(howEnded);
  revocations.end(howEnded);
  // A sync would open its session again.
  await made.syncs?.endRevoked(howEnded);
  await made.sessions?.endRevoked(howEnded);
  await made.recordings?.endRevoked(howEnded);
  if (existsSync(files.webhooks)) await (await service.webhooks()).endRevoked();
}

/** Sends the events of this process, which is no server, to the server of the folder. Where none runs, nobody follows. */
function handOverOf({ events, configDir, log }: ServiceParts): HandOver {
  return createHandOver(events, async (happened) => {
    const [{ askOwner }, { handOver }] = await Promise.all([
      import("../client/owner"),
      import("../events/operations"),
    ]);
    await askOwner(configDir, handOver, { events: [...happened] }).catch((error) =>
      log.warn(
        `the server on ${configDir} did not take events of this process (${happened.length}): ${messageOf(error)}`,
      ),
    );
  });
}

/** Claims the folder for a server. @returns undefined where another server has it. */
async function claimForLife(configDir: string, phase: Phase): Promise<Release | undefined> {
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
}

/** Stops what was started, last first. @returns why some could not be stopped as they should. */
async function stopAll(stops: Stops): Promise<unknown[]> {
  const faults: unknown[] = [];
  for (let stop = stops.pop(); stop; stop = stops.pop()) {
    try {
      await stop();
    } catch (error) {
      faults.push(error);
    }
  }
  return faults;
}
