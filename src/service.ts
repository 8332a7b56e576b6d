/**
 * The composition root: makes the features of one process, each on first use, and stops them in reverse order.
 *
 * A feature's modules are imported on first use, so that an idle `svc serve` holds only what it needs. Features do not know
 * one another: this module supplies what one needs of another.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import * as v from "valibot";
import type { AuditLog } from "./audit/log";
import type { BundleMergers, BundleReaders } from "./config/bundle";
import type { Settings } from "./config/settings";
import { callOperation } from "./core/call";
import { type Caller, localCaller } from "./core/caller";
import { field, flag } from "./core/fields";
import { parseInput } from "./core/input";
import type { Operation } from "./core/operation";
import type { Permission } from "./core/rights";
import type { Desktop } from "./desktop/desktop";
import type { Diagnostics } from "./diagnostics/diagnostics";
import type { AddressBook } from "./fleet/address-book";
import type { Poller } from "./fleet/poll";
import type { PageAssets } from "./http/assets";
import type { overview as overviewOperation } from "./http/operations";
import { SERVER_FIELDS } from "./http/options";
import type { RestControl } from "./http/server";
import type { Inspector } from "./inspector/inspector";
import type { DeskTokens } from "./join/enter";
import type { JoinStrings } from "./join/join-strings";
import { badInput, forbidden, messageOf, systemCode, unavailable } from "./lib/errors";
import { ensurePrivateFolder } from "./lib/files";
import { requireInboxApart } from "./lib/inside";
import { type Log, silentLog } from "./lib/log";
import { once } from "./lib/once";
import { foreignOwner, isOpenToOthers, requireOwnInbox } from "./lib/owner";
import { configFiles } from "./lib/paths";
import { findRunningServer, type RunningServer } from "./lib/running-server";
import type { Metrics } from "./metrics/metrics";
import { iceOfFlags } from "./peers/ice";
import { ICE_FIELDS, INBOX_FIELDS } from "./peers/options";
import type { Sessions, SessionsOptions } from "./peers/sessions";
import type { Executor } from "./runs/executor";
import type { History } from "./runs/history";
import type { Runs } from "./runs/runs";
import type { StoredScripts } from "./runs/stored-scripts";
import type { Job } from "./scheduler/job";
import type { Scheduler } from "./scheduler/scheduler";
import type { Syncs } from "./sync/manager";
import type { NamedToken } from "./trust/named-tokens";
import { createRevocations } from "./trust/revocations";
import type { TokenList } from "./trust/token-list";
import type { Usb } from "./usb/usb";

/** What scripts may do only where svc was started with the flag. */
export const PERMISSION_FIELDS = {
  allow_shell: flag("Let scripts run programs (AC_shell_command)"),
  allow_audit_clear: flag("Let scripts and the dashboard clear the audit log (AC_audit_log_clear)"),
};

/** The options of a service that `svc serve` has as flags, each once, with its default, bounds and description. */
export const SERVICE_FIELDS = {
  audit: SERVER_FIELDS.audit,
  ...PERMISSION_FIELDS,
  history_rows: field(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)), 10_000),
    "Maximum number of runs in the history",
  ),
  mask_serials: flag("Hide serial numbers of USB devices"),
  ...INBOX_FIELDS,
  ...ICE_FIELDS,
};

const SERVICE_OPTIONS = v.strictObject(SERVICE_FIELDS);

/** What is left out has its default; without `history_rows`, a history that there is keeps as many as so far. */
export interface ServiceOptions extends v.InferInput<typeof SERVICE_OPTIONS> {
  /** `{config_dir}`, absolute; made (0700) when something is written to it. */
  readonly configDir: string;
  /** Where to log (default: nowhere). */
  readonly log?: Log;
  /** Whether link statistics also go to the server that runs on this `{config_dir}` (default false). */
  readonly forwardSamples?: boolean;
  /** Whether it is logged when audit rows cannot be written (default true); whoever needs one gets a failure anyway. */
  readonly logsAuditFailures?: boolean;
  /** Whether scripts may start and stop the REST server of this process (default true; false under `svc serve`). */
  readonly serverControl?: boolean;
  /** The table, when it is not svc's own: for programs that add operations of theirs, and for tests. */
  readonly operations?: readonly Operation[];
}

/** The state of one process. Each feature is a function that makes it on the first call. */
export interface Service {
  readonly configDir: string;
  /** The folder for files from peers, absolute. */
  readonly inbox: string;
  readonly log: Log;
  /** What its scripts may do, decided when the service is made. */
  permits(need: Permission): boolean;
  operations(): Promise<readonly Operation[]>;
  addressBook(): Promise<AddressBook>;
  /** Null when the service was made without an audit log. */
  audit(): Promise<AuditLog | null>;
  /** As `audit()`, but null where no log was ever kept: looking does not make one. */
  existingAudit(): Promise<AuditLog | null>;
  /** What checks that files of a bundle would load here. */
  bundleReaders(): Promise<BundleReaders>;
  /** What merges files of a bundle with those that are here. */
  bundleMergers(): Promise<BundleMergers>;
  settings(): Promise<Settings>;
  desktop(): Promise<Desktop>;
  diagnostics(): Promise<Diagnostics>;
  executor(): Promise<Executor>;
  history(): Promise<History>;
  inspector(): Promise<Inspector>;
  dashboard(): Promise<PageAssets>;
  explorer(): Promise<PageAssets>;
  /** The join strings of a desk. */
  joinStrings(): Promise<JoinStrings>;
  /** The tokens that this host makes for desks. */
  deskTokens(): Promise<DeskTokens>;
  /** The pin of the TLS key with which a server here speaks. */
  ownPin(): Promise<string>;
  metrics(): Promise<Metrics>;
  poller(): Promise<Poller>;
  rest(): Promise<RestControl>;
  sessions(): Promise<Sessions>;
  storedScripts(): Promise<StoredScripts>;
  syncs(): Promise<Syncs>;
  /** The named tokens, and when tokens were used last. */
  tokens(): Promise<TokenList>;
  /** The server that runs on `{config_dir}`, in this process or another; null when none does. */
  runningServer(): (RunningServer & ReturnType<typeof serverReport>) | null;
  /** The version of the WebRTC library. @throws when it does not work here. */
  probeWebRtc(): Promise<string>;
  usb(): Promise<Usb>;
  runs(): Promise<Runs>;
  scheduler(): Promise<Scheduler>;
  /**
   * Stops what a token that was revoked has started: disables its jobs; in this process, cancels its runs and requests, stops
   * its syncs and closes its sessions.
   *
   * @returns how many jobs it had.
   */
  endWorkOf(token: string): Promise<number>;
  /** Disables the jobs that a stored script has added for tokens that allow it alone. @returns how many they are. */
  endJobsOfScript(script: string): Promise<number>;
  /** Aborted once the token of that name is revoked. */
  untilRevoked(token: string): AbortSignal;
  /** Reads again the files that other processes change while a server runs: its tokens and jobs. Ends what was revoked. */
  refresh(): Promise<void>;
  /**
   * Runs the jobs in this process from now on, ends within a second what revoked tokens have started, and follows the hosts
   * of the address book to their next keys. A host without jobs does not load the scheduler.
   *
   * @returns a function that starts no further run.
   */
  runJobs(): Promise<() => void>;
  /**
   * Stops what was started, last first. The service is not used afterwards.
   *
   * @throws the first fault of those that could not be stopped as they should; the others are stopped all the same.
   */
  stop(): Promise<void>;
}

/** How often to look for a first jobs file and for revoked tokens, in milliseconds. */
const LOOK_MS = 1_000;

/**
 * How often a server asks hosts with a pinned key whether they will have another, which they announce for an hour at least, and
 * has tokens replaced that end soon, in milliseconds.
 */
const FOLLOW_MS = 30 * 60_000;

/** `{config_dir}` is made by what first writes to it, which may throw an `unavailable` failure. @throws `bad_input` for an unusable option. */
export function createService({
  configDir,
  log = silentLog,
  forwardSamples,
  serverControl = true,
  logsAuditFailures,
  operations,
  ...given
}: ServiceOptions): Service {
  const options = parseInput(SERVICE_OPTIONS, given);
  const permitted: Readonly<Record<Permission, boolean>> = {
    shell: options.allow_shell,
    audit_clear: options.allow_audit_clear,
    server_control: serverControl,
  };
  const ice = iceOfFlags(options);
  const files = configFiles(configDir);
  const inbox = resolve(options.inbox ?? files.inbox);
  let isChecked = false;
  const refuseForeign = () => {
    const uid = foreignOwner(configDir)?.uid;
    if (uid)
      throw unavailable(`${configDir} belongs to uid ${uid}, which root must become before it uses it`);
    requireOwnInbox(inbox);
    // Other processes take no files from peers: they work also where the folder leads astray.
    if (options.inbox !== undefined || !serverControl) requireInboxApart(inbox, configDir);
  };
  /** Whatever writes a file makes the folder: reading needs none. */
  const checkFolder = () => {
    if (isChecked) return;
    refuseForeign();
    if (process.geteuid?.() === 0 && isOpenToOthers(configDir)) ensurePrivateFolder(configDir);
    if (options.inbox !== undefined) makeInbox(inbox);
    // Somebody may have made one of them a moment before.
    refuseForeign();
    isChecked = true;
  };
  const stops: Array<() => Promise<void> | void> = [];
  let madeScheduler: Scheduler | undefined;
  let madeRuns: Runs | undefined;
  let madeSessions: Sessions | undefined;
  let madeSyncs: Syncs | undefined;
  const revocations = createRevocations();
  let runsJobs = false;
  const hasJobs = () => madeScheduler !== undefined || existsSync(files.jobs);

  /** `make` on the first call, its result ever after; what was made is stopped with the service. */
  const feature = <T>(make: () => Promise<T>, stop?: (made: T) => Promise<void> | void) =>
    once(async () => {
      checkFolder();
      const made = await make();
      if (stop) stops.push(() => stop(made));
      return made;
    });

  /** A feature that has a `stop` of its own. */
  const stoppable = <T extends { stop(): Promise<void> | void }>(make: () => Promise<T>) =>
    feature(make, (made) => made.stop());

  /** Made before the sessions, so that it stops after them. */
  const forwardedSamples = feature(
    async () => (forwardSamples ? (await import("./inspector/forward")).createForwarder(configDir) : null),
    (forwarder) => forwarder?.end(),
  );

  const namedTokens = once(async () => {
    const { tokenStore, worksNow } = await import("./trust/named-tokens");
    return { store: tokenStore(files, log), worksNow };
  });

  /**
   * How a named token ended: `was revoked` or `has expired`; null for one in force. While the file is broken, nothing is known
   * to have ended.
   */
  const endsOfTokens = async () => {
    const { store, worksNow } = await namedTokens();
    let known: ReadonlyMap<string, NamedToken> | undefined;
    return (name: string) => {
      try {
        // Most of the time nothing runs that a token started, and nobody asks.
        known ??= new Map(store.entries().map((token) => [token.name, token]));
      } catch {
        return null;
      }
      const found = known.get(name);
      if (!found) return "was revoked";
      return worksNow(found) ? null : "has expired";
    };
  };

  const endRevoked = async () => {
    const howEnded = await endsOfTokens();
    madeRuns?.endRevoked(howEnded);
    revocations.end(howEnded);
    // A sync would open its session again.
    await madeSyncs?.endRevoked(howEnded);
    await madeSessions?.endRevoked(howEnded);
  };

  /** A poll takes note of what hosts announce about their keys. */
  const followKeys = async (signal: AbortSignal) => {
    if (!existsSync(files.adminHosts)) return;
    const book = await service.addressBook();
    const hosts = book.hosts().filter(({ pin }) => pin?.startsWith("spki:"));
    if (hosts.length === 0) return;
    await (await service.poller()).poll(book, hosts, { concurrency: 16, timeoutMs: 10_000, signal });
  };

  /** Lets hosts that have joined follow this desk to another key. Never throws. */
  const tellPins = async () => {
    if (!existsSync(files.deskKey) || !existsSync(files.adminHosts)) return;
    try {
      await (await pinTeller())();
    } catch (error) {
      log.warn(`hosts were not told of the key of this desk: ${messageOf(error)}`);
    }
  };
  const pinTeller = once(async () => {
    const [{ createPinTeller }, { status }] = await Promise.all([
      import("./join/desk-pins"),
      import("./trust/operations/tls"),
    ]);
    const pins = async () => {
      const { pin, next_spki } = await status.run(service, {}, localCaller(service, "scheduler"));
      return { pin, ...(next_spki !== null && { next_pin: next_spki }) };
    };
    return createPinTeller({ configDir, log, addressBook: service.addressBook, pins });
  });

  const service: Service = {
    get configDir() {
      checkFolder();
      return configDir;
    },
    inbox,
    log,
    permits: (need) => permitted[need],
    addressBook: feature(async () => {
      const [{ createAddressBook }, { createRefusals }] = await Promise.all([
        import("./fleet/address-book"),
        import("./client/refusals"),
      ]);
      const lock = files.adminLock;
      const refusals = createRefusals({ file: files.refusedTokens, lock });
      return createAddressBook({ file: files.adminHosts, lock }, log, refusals);
    }),
    audit: feature(async () => {
      if (!options.audit) return null;
      const { openAuditLog } = await import("./audit/log");
      const audit = await openAuditLog({ path: files.auditLog, log, logsFailures: logsAuditFailures });
      // First in the list, last to stop: everything else may leave rows while it stops.
      stops.unshift(() => audit.close());
      return audit;
    }),
    existingAudit: async () =>
      [files.auditLog, files.auditHead].some(existsSync) || findRunningServer(configDir)?.pid === process.pid
        ? service.audit()
        : null,
    async bundleReaders() {
      const [{ addressBookFaults }, { identityFaults }, { settingsFaults }] = await Promise.all([
        import("./fleet/address-book"),
        import("./peers/identity"),
        import("./config/settings"),
      ]);
      const ids = { remote_host_id: identityFaults, viewer_id: identityFaults };
      return { "admin_hosts.json": addressBookFaults, "host_service.json": settingsFaults, ...ids };
    },
    bundleMergers: async () => ({
      "admin_hosts.json": (await import("./fleet/address-book")).mergeAddressBooks,
    }),
    desktop: stoppable(async () => {
      const { createDesktop } = await import("./desktop/desktop");
      return createDesktop({ lockFile: files.inputLock, log });
    }),
    diagnostics: feature(async () => {
      const [{ createDiagnostics }, { loadChecks }] = await Promise.all([
        import("./diagnostics/diagnostics"),
        import("./diagnostics/checks"),
      ]);
      return createDiagnostics(service, await loadChecks());
    }),
    settings: feature(async () => {
      const [{ createSettings }, { CHECK_NAMES }] = await Promise.all([
        import("./config/settings"),
        import("./diagnostics/checks"),
      ]);
      const paths = { file: files.settings, lock: files.importLock };
      return createSettings(paths, { "diagnose.skip": CHECK_NAMES });
    }),
    operations: feature(async () => operations ?? (await import("./operations")).operations),
    executor: feature(async () => {
      const { Executor } = await import("./runs/executor");
      return new Executor({
        service,
        operations: await service.operations(),
        log,
        permits: service.permits,
        runs: service.runs,
        inputLock: async () => (await service.desktop()).inputLock,
      });
    }),
    history: feature(
      async () => {
        const { createHistory } = await import("./runs/history");
        return createHistory({ path: files.history, maxRows: given.history_rows, log });
      },
      (history) => history.close(),
    ),
    inspector: feature(async () => {
      const { createInspector } = await import("./inspector/inspector");
      return createInspector({ recorded: (await service.metrics()).recordLink });
    }),
    dashboard: feature(async () => (await import("./http/page-files")).createDashboard()),
    explorer: feature(async () => (await import("./http/page-files")).createExplorer()),
    metrics: feature(async () => (await import("./metrics/metrics")).createMetrics(service)),
    joinStrings: feature(
      async () => (await import("./join/join-strings")).createJoinStrings(files.joinStrings),
      (strings) => strings.close(),
    ),
    async deskTokens() {
      const [{ store }, { addToken, NEW_TOKEN, removeToken }] = await Promise.all([
        namedTokens(),
        import("./trust/named-tokens"),
      ]);
      const isTaken = (name: string) => store.entries().some((token) => token.name === name);
      return {
        async add() {
          let name = "desk";
          for (let nth = 2; isTaken(name); nth++) name = `desk-${nth}`;
          const token = await addToken(store, v.parse(NEW_TOKEN, { name, scope: ["desk"] }));
          return { name, token, expires: store.entries().find((one) => one.name === name)?.expires };
        },
        async remove(name) {
          if (!isTaken(name)) return;
          await removeToken(store, name);
          await service.endWorkOf(name);
        },
      };
    },
    async ownPin() {
      const running = findRunningServer(configDir);
      if (running?.pin !== undefined) return running.pin;
      const [{ ownPair }, { spkiPin }] = await Promise.all([import("./trust/tls"), import("./lib/spki")]);
      return spkiPin((await ownPair(files)).cert);
    },
    poller: feature(async () => {
      const [{ createPoller }, { createFollower }] = await Promise.all([
        import("./fleet/poll"),
        import("./fleet/follow"),
      ]);
      return createPoller(createFollower(service));
    }),
    rest: stoppable(async () => (await import("./http/server")).createRestControl(service)),
    runningServer() {
      const running = findRunningServer(configDir);
      return running && { ...running, ...serverReport(service, running) };
    },
    probeWebRtc: async () => (await import("./peers/session")).probeWebRtc(log),
    usb: stoppable(async () => {
      const { createUsb } = await import("./usb/usb");
      return createUsb({ log, mask_serials: options.mask_serials });
    }),
    runs: stoppable(async () => {
      const { Runs } = await import("./runs/runs");
      const history = await service.history();
      madeRuns = new Runs((run) => history.note(run));
      return madeRuns;
    }),
    scheduler: stoppable(async () => {
      const { ENDED, Scheduler } = await import("./scheduler/scheduler");
      madeScheduler = new Scheduler({
        files: { file: files.jobs, lock: files.jobsLock },
        lock: files.schedulerLock,
        async start(job, signal) {
          const hasEnded = job.token !== null && (await endsOfTokens())(job.token) !== null;
          return startJob(service, job, hasEnded, signal);
        },
        // One that has expired can be replaced, and then its jobs run again.
        async ended({ token, script }) {
          if (token !== null && (await endsOfTokens())(token) === "was revoked") return ENDED.token(token);
          try {
            return script === null || (await service.storedScripts()).has(script)
              ? null
              : ENDED.script(script);
          } catch {
            // While the file is broken, nothing is known to have ended.
            return null;
          }
        },
        log,
      });
      if (runsJobs) await madeScheduler.start();
      return madeScheduler;
    }),
    async runJobs() {
      runsJobs = true;
      await madeScheduler?.start();
      const look = async () => {
        // Whoever revokes a token may not be able to tell this process.
        if (madeRuns || madeSessions || revocations.awaited()) await endRevoked();
        if (hasJobs()) await service.scheduler();
      };
      const failed = (error: unknown) => log.error("the scheduler did not start", error);
      const timer = setInterval(() => look().catch(failed), LOOK_MS);
      const ending = new AbortController();
      const follow = () =>
        followKeys(ending.signal).catch((error) =>
          log.warn(`hosts were not asked for their next keys: ${messageOf(error)}`),
        );
      const renew = () =>
        renewTokens(service).catch((error) =>
          log.warn(`the tokens of hosts were not replaced: ${messageOf(error)}`),
        );
      const first = setTimeout(() => Promise.all([renew(), tellPins()]), LOOK_MS);
      const following = setInterval(() => Promise.all([follow(), renew(), tellPins()]), FOLLOW_MS);
      const stop = () => {
        runsJobs = false;
        clearInterval(timer);
        clearTimeout(first);
        clearInterval(following);
        ending.abort();
        madeScheduler?.stop();
      };
      stops.push(stop);
      await look();
      return stop;
    },
    sessions: stoppable(async () => {
      const { openSessions } = await import("./peers/open");
      const inspector = await service.inspector();
      const forwarder = await forwardedSamples();
      const record: SessionsOptions["record"] = (sample, session) => {
        inspector.record(sample, session);
        forwarder?.take(sample, session);
      };
      const place = {
        folder: inbox,
        quota: options.inbox_quota,
        maxFiles: options.inbox_max_files,
        minFree: options.inbox_min_free,
      };
      madeSessions = await openSessions(configDir, place, ice, { log, record });
      return madeSessions;
    }),
    storedScripts: feature(async () => {
      const { createStoredScripts } = await import("./runs/stored-scripts");
      return createStoredScripts({ file: files.scripts, lock: files.scriptsLock }, log);
    }),
    tokens: feature(async () => (await import("./trust/token-list")).createTokenList(files, log)),
    syncs: feature(
      async () => {
        const { createSyncs } = await import("./sync/manager");
        const sessions = await service.sessions();
        const book = await service.addressBook();
        madeSyncs = createSyncs({
          configDir,
          folder: files.syncFolder,
          inbox,
          log,
          requireHost: (label) => void book.server(label),
          connect: async (label, folder, client, signal) =>
            sessions.connectTo(book.server(label), folder, client, signal),
        });
        return madeSyncs;
      },
      (syncs) => syncs.stopAll(),
    ),
    untilRevoked: revocations.until,
    async endWorkOf(token) {
      const jobs = hasJobs() ? await (await service.scheduler()).disown("token", token) : 0;
      await endRevoked();
      return jobs;
    },
    endJobsOfScript: async (name) => (hasJobs() ? (await service.scheduler()).disown("script", name) : 0),
    async refresh() {
      await (await service.rest()).server?.refresh();
      if (runsJobs && hasJobs()) await (await service.scheduler()).refresh();
      if (runsJobs) void tellPins();
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
      if (faults.length > 0) throw faults[0];
    },
  };
  return service;
}

/** Lets the hosts of the address book replace tokens that end soon, on record. */
async function renewTokens(service: Service): Promise<void> {
  if (!existsSync(configFiles(service.configDir).adminHosts)) return;
  const [{ renewDue }, { rotateHost }] = await Promise.all([
    import("./fleet/renewal"),
    import("./fleet/operations/hosts"),
  ]);
  const caller = localCaller(service, "scheduler");
  await renewDue(
    (await service.addressBook()).hosts(),
    async (label) => callOperation(service, rotateHost, { label }, caller),
    (label, error) =>
      service.log.warn(`the token of ${label} ends soon and was not replaced: ${messageOf(error)}`),
  );
}

/** What the running server says of itself. */
function serverReport(service: Service, { pid }: RunningServer) {
  const { configDir } = service;
  const modules = () => Promise.all([import("./client/local-server"), import("./http/operations")]);
  return {
    /** Asks over HTTP, also in this process: whether that works is the question. */
    async health(): Promise<unknown> {
      const [{ callLocalServer }, { health }] = await modules();
      return callLocalServer(configDir, health, {});
    },
    async overview(): Promise<v.InferInput<typeof overviewOperation.output>> {
      const [{ callLocalServer }, { overview }] = await modules();
      if (pid === process.pid) return callOperation(service, overview, {}, localCaller(service, "api"));
      return callLocalServer(configDir, overview, {});
    },
  };
}

async function startJob(
  service: Service,
  { job_id, script_path, timeout_seconds, token, scopes, script }: Job,
  hasEnded: boolean,
  signal?: AbortSignal,
) {
  const base = localCaller(service, "scheduler", {
    signal,
    grant: { name: token, scopes, ...(script !== null && { script }) },
  });
  const ending = token === null ? "" : ` token=${token}`;
  const announce = async (subject: string) => {
    if (hasEnded) throw forbidden(`its token ${token} has expired: \`svc token rotate ${token}\``);
    await base.announce(`job=${job_id} ${subject}${ending}`);
  };
  const caller: Caller = { ...base, announce };
  return (await service.executor()).startFile(script_path, caller, job_id, timeout_seconds);
}

/** Made at the start, where a person reads what is wrong with it. */
function makeInbox(path: string): void {
  try {
    ensurePrivateFolder(path);
  } catch (error) {
    throw badInput(`inbox: ${path} cannot be made (${systemCode(error) ?? messageOf(error)})`);
  }
}
