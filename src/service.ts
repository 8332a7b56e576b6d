/**
 * The composition root: makes the features of one process, each on first use, and stops them in reverse order.
 *
 * A feature's modules are imported on first use, so that an idle `svc serve` holds only what it needs. Features do not know
 * one another: this module supplies what one needs of another.
 */
import { existsSync } from "node:fs";
import type { Via } from "./client/carrier";
import { type Publish, unheard } from "./core/events";
import { parseInput } from "./core/input";
import { allows, OWNER, type Permission, shareOf } from "./core/rights";
import type { Recordings } from "./desktop/screen/record/recordings";
import type { Screens } from "./desktop/screen/screens";
import { createBus } from "./events/bus";
import { createHandOver } from "./events/hand-over";
import { forbidden, messageOf } from "./lib/errors";
import { requireKnownFormat } from "./lib/format";
import { silentLog } from "./lib/log";
import { once } from "./lib/once";
import { configFiles } from "./lib/paths";
import { claimConfigDir, findRunningServer } from "./lib/running-server";
import type { LinkHub } from "./link/hub";
import type { AskPerson } from "./mcp/calls";
import { iceOfFlags } from "./peers/ice";
import type { Sessions, SessionsOptions } from "./peers/sessions";
import type { Plans } from "./plans/plans";
import type { Runs } from "./runs/runs";
import type { Scheduler } from "./scheduler/scheduler";
import { createFolders } from "./service/folders";
import type { Service } from "./service/interface";
import type { DeskOverNats } from "./service/nats";
import { SERVICE_OPTIONS, type ServiceOptions } from "./service/options";
import { serverReport } from "./service/running";
import { startJob } from "./service/start-job";
import { createTokenUses } from "./service/token-uses";
import { watchOwnUpgrade } from "./service/upgraded";
import { createNotifyPins, startUpkeep } from "./service/upkeep";
import type { Syncs } from "./sync/manager";
import { createRevocations } from "./trust/revocations";
import type { Collector } from "./witness/collector";

export type { Service } from "./service/interface";
export { PERMISSION_FIELDS, SERVICE_FIELDS, type ServiceOptions } from "./service/options";

/** `{config_dir}` is made by what first writes to it, which may throw an `unavailable` failure. @throws `bad_input` for an unusable option. */
export function createService({
  configDir,
  log = silentLog,
  forwardSamples,
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
  const ice = iceOfFlags(options);
  const files = configFiles(configDir);
  const { inbox, check: checkFolder } = createFolders({
    configDir,
    givenInbox: options.inbox,
    takesFiles: !serverControl,
  });
  const stops: Array<() => Promise<void> | void> = [];
  let madeScheduler: Scheduler | undefined;
  let madeRuns: Runs | undefined;
  let madeSessions: Sessions | undefined;
  let madeSyncs: Syncs | undefined;
  let madeScreens: Screens | undefined;
  let madeRecordings: Recordings | undefined;
  let madeHub: LinkHub | undefined;
  /** Whether this host had a membership when it looked last. */
  let hasJoined = false;
  let madeCollector: (() => Promise<Collector>) | undefined;
  const revocations = createRevocations();
  const events = createBus(log);
  // Nobody can ask for a type that is not in the list.
  const publish: Publish = (type, data) => {
    if (!eventTypes || eventTypes.includes(type)) events.publish(type, data);
  };
  /** What a process sees and does not do: where a server runs beside it, that sees the same. */
  const observed = handsOver ? unheard : publish;
  const handOver =
    handsOver &&
    createHandOver(events, async (happened, refreshes) => {
      const { refreshLocalServer, sendToLocalServer } = await import("./client/local-server");
      const lost = await (refreshes ? refreshLocalServer : sendToLocalServer)(configDir, happened);
      if (lost !== undefined)
        log.warn(
          `the server on ${configDir} did not take events of this process (${happened.length}): ${lost}`,
        );
    });
  /** Whether the server of this process has the folder. */
  let isClaimed = false;
  let runsJobs = false;
  /** Whether the jobs of the start are known: a scheduler that is made later has none of before. */
  let hasLooked = false;
  const hasJobs = () => madeScheduler !== undefined || existsSync(files.jobs);

  /** `make` on the first call, its result ever after; what was made is stopped with the service. */
  const feature = <T>(make: () => Promise<T>, stop?: (made: T) => Promise<void> | void) =>
    once(async () => {
      checkFolder();
      const made = await make();
      if (stop) stops.push(() => stop(made));
      return made;
    });

  /** Before a database is opened, also to look: that changes it, and the format of the folder says so first. Looking makes no folder. */
  const prepareFor = async (database: string) => {
    if (existsSync(database)) await service.prepareFolder();
  };

  /** A feature that has a `stop` of its own. */
  const stoppable = <T extends { stop(): Promise<void> | void }>(make: () => Promise<T>) =>
    feature(make, (made) => made.stop());

  /** Made before the sessions, so that it stops after them. */
  const forwardedSamples = feature(
    async () => (forwardSamples ? (await import("./inspector/forward")).createForwarder(configDir) : null),
    (forwarder) => forwarder?.end(),
  );

  const tokens = createTokenUses(files, log, (name) => service.endWorkOf(name));

  const endRevoked = async () => {
    const howEnded = await tokens.endings();
    madeRuns?.endRevoked(howEnded);
    revocations.end(howEnded);
    // A sync would open its session again.
    await madeSyncs?.endRevoked(howEnded);
    await madeSessions?.endRevoked(howEnded);
    await madeRecordings?.endRevoked(howEnded);
    if (existsSync(files.webhooks)) await (await service.webhooks()).endRevoked();
  };

  const presence = once(async () => (await import("./fleet/presence")).createPresence(observed));
  const linkHub = stoppable(async () => {
    const { openHub } = await import("./service/links");
    madeHub = await openHub(service, publish, await presence());
    return madeHub;
  });
  const lookAtDesk = async () => {
    const joined = existsSync(files.desk);
    if (joined || hasJoined) await (await keeper()).look();
    hasJoined = joined;
  };
  const linkWay = stoppable(async () => (await import("./link/via")).createLinkWay(service));
  let madeNats: DeskOverNats | undefined;
  let madePlans: Plans | undefined;
  const overNats = stoppable(async () => {
    const { createDeskOverNats } = await import("./service/nats");
    const reached = (label: string) => madePlans?.runner.hostUp(label);
    const others = await service.otherPlans();
    madeNats = createDeskOverNats(
      {
        ...{ reached, log, addressBook: service.addressBook },
        async heardPlans(heard) {
          try {
            const adopted = others.heard(heard);
            const plans = await service.existingPlans();
            if (plans?.yieldTo(heard.name, adopted)) madeNats?.current()?.plansChanged();
          } catch (error) {
            log.warn(`the plans of other desks are not kept: ${messageOf(error)}`);
          }
        },
        async ownPlans() {
          const plans = await service.existingPlans();
          return plans ? (await import("./plans/others")).announced(plans) : [];
        },
      },
      configDir,
      presence,
    );
    return madeNats;
  });
  /** What knows which hosts are there that are reached like this. */
  const hostsBy = (address: string) => {
    if (address.startsWith("link:")) return service.hub();
    return address.startsWith("nats:") ? madeNats?.current()?.presence : undefined;
  };
  /** Whether this server is only about to know which hosts are there that are reached like this. */
  const isStarting = (address: string) =>
    address.startsWith("link:")
      ? options.hub === true
      : address.startsWith("nats:") && runsJobs && !hasLooked && existsSync(files.nats);
  const keeper = once(async () =>
    (await import("./service/links")).createHostLink(service, configDir, tokens.prolong),
  );

  /** @throws `forbidden` with `--no-screen`. */
  const shownDesktop = async () => {
    if (!options.screen) throw forbidden("the live screen is off here (svc serve --no-screen)");
    return service.desktop();
  };

  const service: Service = {
    get configDir() {
      checkFolder();
      return configDir;
    },
    inbox,
    log,
    prepareFolder: once(async () => {
      checkFolder();
      await (await import("./service/prepare-folder")).prepareFolder(configDir, log);
    }),
    async claimFolder() {
      await service.prepareFolder();
      const release = await claimConfigDir(configDir);
      if (!release) return undefined;
      isClaimed = true;
      return () => {
        isClaimed = false;
        release();
      };
    },
    permits: (need) => permitted[need],
    addressBook: feature(async () => {
      const [{ createAddressBook }, { createRefusals }] = await Promise.all([
        import("./fleet/address-book"),
        import("./client/refusals"),
      ]);
      const lock = files.adminLock;
      const refusals = createRefusals({ file: files.refusedTokens, lock });
      const via: Via = async (...asked) => (await linkWay()).via(...asked);
      const natsVia: Via = async (...asked) => (await overNats()).via(...asked);
      const ways = { "link:": via, "nats:": natsVia };
      return createAddressBook({ file: files.adminHosts, lock }, log, refusals, publish, ways);
    }),
    approvals: feature(async () => {
      const { createApprovals } = await import("./approvals/approvals");
      const made = createApprovals({
        publish,
        async record(detail) {
          const row = { event_type: "approval", host_id: null, viewer_id: null, detail };
          await (await service.audit())?.append(row);
        },
      });
      const ask: typeof made.ask = async (question) => {
        if (findRunningServer(configDir)?.pid === process.pid) return made.ask(question);
        return (await import("./approvals/elsewhere")).askServer(configDir, question);
      };
      return { ...made, ask };
    }),
    audit: feature(async () => {
      if (!options.audit) return null;
      const { openAuditLog } = await import("./audit/log");
      const audit = await openAuditLog({
        ...{ path: files.auditLog, log, publish },
        logsFailures: logsAuditFailures,
        // A row comes before each change.
        async beforeWriting() {
          await service.prepareFolder();
          // Since then, a newer svc may have given the folder its format: only a server keeps it from that.
          if (!isClaimed) requireKnownFormat(configDir);
        },
      });
      // First in the list, last to stop: everything else may leave rows while it stops.
      stops.unshift(() => audit.close());
      return audit;
    }),
    existingAudit: async () =>
      [files.auditLog, files.auditHead].some(existsSync) || findRunningServer(configDir)?.pid === process.pid
        ? service.audit()
        : null,
    async bundleReaders() {
      const [{ addressBookFaults }, { identityFaults }, { settingsFaults }, { trustedFaults }] =
        await Promise.all([
          import("./fleet/address-book"),
          import("./peers/identity"),
          import("./config/settings"),
          import("./desktop/screen/trusted"),
        ]);
      const ids = { remote_host_id: identityFaults, viewer_id: identityFaults };
      return {
        "admin_hosts.json": addressBookFaults,
        "host_service.json": settingsFaults,
        "trusted_viewers.json": trustedFaults,
        ...ids,
      };
    },
    async deskReaders() {
      const [{ addressBookFaults }, { deskPartFaults }, { operatorFaults }] = await Promise.all([
        import("./fleet/address-book"),
        import("./nats/desk-part"),
        import("./nats/operator"),
      ]);
      return {
        "admin_hosts.json": addressBookFaults,
        "nats.json": deskPartFaults,
        "nats_operator.json": operatorFaults,
      };
    },
    bundleMergers: async () => ({
      "admin_hosts.json": (await import("./fleet/address-book")).mergeAddressBooks,
    }),
    desktop: stoppable(async () => {
      const { createDesktop } = await import("./desktop/desktop");
      const desktop = createDesktop({
        lockFile: files.inputLock,
        imagesFolder: files.images,
        ocrFolder: files.ocr,
        log,
      });
      const { createViewerSamples } = await import("./service/viewer-samples");
      desktop.viewerListeners.add(createViewerSamples(service.inspector, log));
      return desktop;
    }),
    thumbnails: feature(async () => {
      const { createThumbnails } = await import("./desktop/screen/thumbnail/thumbnails");
      return createThumbnails(async (size) => (await shownDesktop()).snapshot(size));
    }),
    recordings: feature(
      async () => {
        const { createRecordings } = await import("./desktop/screen/record/recordings");
        // Made first, so that it stops last.
        await service.desktop();
        madeRecordings = createRecordings({ folder: files.recordings, desktop: shownDesktop, publish, log });
        return madeRecordings;
      },
      (recordings) => recordings.stopAll(),
    ),
    programs: stoppable(async () => (await import("./desktop/programs")).createPrograms(publish)),
    diagnostics: feature(async () => {
      const [{ createDiagnostics }, { loadChecks }] = await Promise.all([
        import("./diagnostics/diagnostics"),
        import("./diagnostics/checks"),
      ]);
      return createDiagnostics(service, await loadChecks(), observed);
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
    eventTypes: feature(async () => eventTypes ?? (await import("./operations")).eventTypes),
    async eventSchemas() {
      const { schemasOf } = await import("./events/schema");
      return schemasOf(await service.eventTypes());
    },
    events: () => events,
    eventStreams: feature(async () => (await import("./events/stream")).createStreams(events)),
    executor: feature(async () => {
      const { Executor } = await import("./runs/executor");
      return new Executor({
        service,
        operations: await service.operations(),
        log,
        permits: service.permits,
        runs: service.runs,
        stored: async (name) => (await service.storedScripts()).get(name),
        inputLock: async () => (await service.desktop()).inputLock,
        trace: async (start, asked) => (await service.traces()).begin(start, asked),
      });
    }),
    traces: feature(async () => {
      const { Traces } = await import("./trace/traces");
      const shoot = async (file: string) => (await service.desktop()).screenshot({}, file);
      return new Traces({ folder: files.traces, jobTraces: options.job_traces, shoot, log });
    }),
    history: feature(
      async () => {
        const { createHistory } = await import("./runs/history");
        const { endOfInterrupted } = await import("./runs/interrupted");
        await prepareFor(files.history);
        return createHistory({
          ...{ path: files.history, maxRows: given.history_rows, log },
          interrupted: endOfInterrupted(publish),
        });
      },
      (history) => history.close(),
    ),
    inspector: feature(async () => {
      const { createInspector } = await import("./inspector/inspector");
      return createInspector({ recorded: (await service.metrics()).recordLink, publish: observed });
    }),
    dashboard: feature(async () => (await import("./http/page-files")).createDashboard()),
    explorer: feature(async () => (await import("./http/page-files")).createExplorer()),
    mcp: stoppable(async () => {
      const { createMcp } = await import("./mcp/open");
      const { mcp_write: write, mcp_on: on, mcp_exclude_tools: exclude, allow_origin: origins } = options;
      const ask: AskPerson = async (question) => (await service.approvals()).ask(question);
      return createMcp(service, { write, ask: options.mcp_approve ? ask : null, on, exclude, origins });
    }),
    async agentsOverStdio(how) {
      return (await import("./service/agents")).openStdio(service, how);
    },
    metrics: feature(async () => (await import("./metrics/metrics")).createMetrics(service, observed)),
    joinStrings: feature(
      async () => {
        await prepareFor(files.joinStrings);
        return (await import("./join/join-strings")).createJoinStrings(files.joinStrings, publish);
      },
      (strings) => strings.close(),
    ),
    hub: () => madeHub ?? null,
    async openHub() {
      return options.hub ? linkHub() : null;
    },
    async hostLink() {
      return (await keeper()).state();
    },
    async natsHost() {
      return (await keeper()).natsState();
    },
    natsDesk: () => madeNats?.current() ?? null,
    async natsKey() {
      return (await import("./nats/host-key")).openHostKey(files.natsKey);
    },
    async natsCarrier(id, name, proof) {
      if (!existsSync(files.nats)) return null;
      const { mintHost, readDeskPart, requireProof } = await import("./nats/desk-part");
      const part = readDeskPart(files.nats);
      if (part?.host_signer === undefined) return null;
      requireProof(id, proof);
      return { kind: "nats", id, server: part.server, jwt: mintHost(part, id, name) };
    },
    async deskWith(token) {
      const membership = (await import("./join/membership")).readMembership(files.desk);
      return membership?.token === token ? membership.desk : null;
    },
    membership: async () => (await import("./join/membership")).readMembership(files.desk),
    witness: feature(
      async () => {
        const [{ openStore }, { createWitness }, { openSigningKey }] = await Promise.all([
          import("./witness/store"),
          import("./witness/witness"),
          import("./lib/signing-key"),
        ]);
        await prepareFor(files.witness);
        const store = openStore(files.witness);
        return { store, witness: createWitness({ store, key: openSigningKey(files.witnessKey), publish }) };
      },
      ({ store }) => store.close(),
    ),
    existingWitness: async () => (existsSync(files.witness) ? service.witness() : null),
    async newestRestore() {
      const log = await (await service.audit())?.witness();
      if (!log) return null;
      const { newestRestore } = await import("./witness/restored");
      return newestRestore(log, (await service.membership())?.desk_key);
    },
    watchedLogs: async () => madeCollector?.() ?? null,
    async foundLogs() {
      const watched = await service.watchedLogs();
      const open = watched ? null : await service.existingWitness();
      if (!watched && !open) return new Map();
      const { recordsIn, watchedIn } = await import("./witness/states");
      return watchedIn(watched?.records() ?? recordsIn(open?.store.records() ?? new Map()));
    },
    deskTokens: tokens.forDesks,
    async ownPin() {
      const running = findRunningServer(configDir);
      if (running?.pin !== undefined) return running.pin;
      const [{ ownPair }, { spkiPin }] = await Promise.all([import("./trust/tls"), import("./lib/spki")]);
      return spkiPin((await ownPair(files)).cert);
    },
    planJobs: feature(async () => {
      const [{ createPlanJobs }, { openSeenJobs }] = await Promise.all([
        import("./plans/job/accept"),
        import("./plans/job/seen"),
      ]);
      const jobs = createPlanJobs({
        ...{ folder: files.jobFiles, log, executor: service.executor, runs: service.runs },
        seen: () => openSeenJobs(files.seenJobs),
        async signer(token) {
          const membership = (await import("./join/membership")).readMembership(files.desk);
          return membership?.token === token ? membership : null;
        },
      });
      // As the audit log: runs end while they stop, and say how.
      stops.unshift(() => jobs.close());
      return jobs;
    }),
    plans: stoppable(async () => {
      const [{ createPlans }, { createDelivery }, { openSigningKey }] = await Promise.all([
        import("./plans/plans"),
        import("./plans/deliver"),
        import("./trust/identity"),
      ]);
      const { deliver, cancel: cancelJob } = createDelivery(() => openSigningKey(files.deskKey));
      await prepareFor(files.plans);
      madePlans = createPlans({
        ...{ files, log, events, deliver, cancelJob, endings: tokens.endings },
        others: await service.otherPlans(),
        publish(type, data) {
          publish(type, data);
          if (type.name !== "plan.target") madeNats?.current()?.plansChanged();
        },
        book: await service.addressBook(),
        isGone: (address) => hostsBy(address)?.isGone(address.slice(address.indexOf(":") + 1)) ?? false,
        isExpected: (address) =>
          hostsBy(address)?.isExpected(address.slice(address.indexOf(":") + 1)) ?? isStarting(address),
        goesOn: () => runsJobs,
      });
      return madePlans;
    }),
    async runBroadcast({ input, hosts, commands, scope, maxFailures, maxParallel, grant, ...about }) {
      const [{ writeContent }, { MAX_EXPIRES_S }] = await Promise.all([
        import("./plans/job/content"),
        import("./plans/plan"),
      ]);
      const { on, ...waiting } = about;
      const { canary, delivery_timeout_s, timeout_s, actions, stop_on_error } = input;
      const names = [...new Set(commands)];
      const parts = { actions, commands: names, stop_on_error, timeout_s, scope };
      const { content, digest } = writeContent(parts, Number.POSITIVE_INFINITY);
      const first = Math.min(canary, hosts.length);
      const rounds = Math.ceil(hosts.length / maxParallel);
      await (await service.plans()).attend({
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
    otherPlans: once(async () => (await import("./plans/others")).createOtherPlans(files.otherPlans)),
    existingPlans: async () => (existsSync(files.plans) ? service.plans() : null),
    poller: feature(async () => {
      const [{ createPoller }, { createFollower }] = await Promise.all([
        import("./fleet/poll"),
        import("./fleet/follow"),
      ]);
      return createPoller(createFollower(service), await presence());
    }),
    rest: stoppable(async () => (await import("./http/server")).createRestControl(service)),
    runningServer() {
      const running = findRunningServer(configDir);
      return running && { ...running, ...serverReport(service, running) };
    },
    probeWebRtc: async () => (await import("./peers/session")).probeWebRtc(log),
    usb: stoppable(async () => {
      const { createUsb } = await import("./usb/usb");
      return createUsb({ log, mask_serials: options.mask_serials, publish: observed });
    }),
    runs: stoppable(async () => {
      const { Runs } = await import("./runs/runs");
      const history = await service.history();
      madeRuns = new Runs((run) => history.note(run), publish);
      return madeRuns;
    }),
    scheduler: stoppable(async () => {
      const { ENDED, Scheduler } = await import("./scheduler/scheduler");
      madeScheduler = new Scheduler({
        files: { file: files.jobs, lock: files.jobsLock },
        lock: files.schedulerLock,
        async start(job, signal) {
          const hasEnded = job.token !== null && (await tokens.endings())(job.token) !== null;
          return startJob(service, job, hasEnded, signal);
        },
        // One that has expired can be replaced, and then its jobs run again.
        async ended({ token, script }) {
          if (token !== null && (await tokens.endings())(token) === "was revoked") return ENDED.token(token);
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
        publish: observed,
        hadNone: hasLooked,
      });
      if (runsJobs) await madeScheduler.start();
      return madeScheduler;
    }),
    async runJobs() {
      runsJobs = true;
      if (existsSync(files.traces)) (await service.traces()).clear();
      await madeScheduler?.start();
      const hasHooks = () => existsSync(files.webhooks);
      const looks = {
        // Whoever revokes a token may not be able to notify this process.
        "what revoked tokens have started was not ended": async () => {
          if (madeRuns || madeSessions || madeRecordings || hasHooks() || revocations.awaited())
            await endRevoked();
        },
        "the scheduler did not start": async () => {
          if (hasJobs()) await service.scheduler();
        },
        "the webhooks did not start": async () => {
          if (hasHooks()) (await service.webhooks()).start();
        },
        "the link to the desk did not start or end": lookAtDesk,
        "the connection to the NATS server did not start": async () => {
          if (runsJobs && (madeNats || existsSync(files.nats))) await (await overNats()).look();
        },
        "the audit logs of the hosts are not watched": async () => {
          if (runsJobs && existsSync(files.deskKey) && existsSync(files.adminHosts)) await watchLogs();
        },
      };
      const later = {
        // Not at the start: no server ends because its plans cannot go on yet.
        "not every plan was taken over": async () => {
          if (existsSync(files.plans)) (await service.plans()).runner.takeOver();
        },
      };
      // Before plans go on, which would take its hosts for gone.
      await service.openHub();
      const endUpkeep = startUpkeep(service, { ...looks, ...later }, tellPins);
      const endWatch = watchOwnUpgrade({
        ...{ log, publish, seenFile: files.upgradeSeen },
        async record(detail) {
          const row = { event_type: "upgrade", host_id: null, viewer_id: null, detail };
          await (await service.audit())?.append(row);
        },
      });
      let leaving: Promise<void> | undefined;
      const stop = () => {
        runsJobs = false;
        endUpkeep();
        endWatch();
        madeScheduler?.stop();
        if (hasJoined) leaving ??= keeper().then((link) => link.stop());
        return leaving;
      };
      stops.push(stop);
      for (const look of Object.values(looks)) await look();
      // Once the webhooks take events.
      if (existsSync(files.history)) await (await service.history()).settle();
      hasLooked = true;
      return stop;
    },
    trustedViewers: feature(async () => {
      const { createTrusted } = await import("./desktop/screen/trusted");
      return createTrusted(files.trustedViewers, files.importLock, log);
    }),
    async asksPerson() {
      if (!options.screen_approval) return undefined;
      const isTrusted = await service.trustedViewers();
      // Who may act on this host has scripts take pictures.
      return (grant) => allows(grant, "screen") && !allows(grant, "operate") && !isTrusted(grant);
    },
    screens: stoppable(async () => {
      const [{ createScreens }, isTrusted, desktop] = await Promise.all([
        import("./desktop/screen/screens"),
        service.trustedViewers(),
        service.desktop(),
      ]);
      madeScreens = createScreens({
        ...{ log, desktop, isOn: options.screen, asksFirst: options.screen_approval, isTrusted, publish },
        approvals: service.approvals,
        async record(detail, viewer_id, host_id) {
          const row = { event_type: "screen", host_id, viewer_id, detail };
          await (await service.audit())?.append(row);
        },
        async cancelRun(id, why) {
          const runs = await service.runs();
          runs.cancel(runs.show(id).run_id, why);
        },
        untilRevoked: revocations.until,
      });
      return madeScreens;
    }),
    screenTickets: feature(async () => (await import("./desktop/screen/tickets")).createTickets()),
    relayedViewers: feature(async () => {
      const { createRelayedViewers } = await import("./desktop/screen/operations/relayed");
      return createRelayedViewers(log, async (label) => (await service.addressBook()).server(label));
    }),
    viewersNow: () => madeScreens?.count() ?? 0,
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
      const others = {
        list: () => madeScreens?.sessions() ?? [],
        close: async (id: string) => (await madeScreens?.end(id, "it was closed here")) ?? false,
      };
      madeSessions = await openSessions(configDir, place, ice, { log, record, publish, others });
      return madeSessions;
    }),
    screenPeers: stoppable(async () => {
      const [{ createScreenPeers }, { readIceConfig }] = await Promise.all([
        import("./peers/screen-peers"),
        import("./peers/ice"),
      ]);
      return createScreenPeers({ log, ice: () => ice ?? readIceConfig(files.ice) });
    }),
    keepScreenProxy: (proxy) => void stops.push(() => proxy.stop()),
    storedScripts: feature(async () => {
      const { createStoredScripts } = await import("./runs/stored-scripts");
      return createStoredScripts({ file: files.scripts, lock: files.scriptsLock }, log);
    }),
    async eventNames(types) {
      const [{ filterOf }, known] = await Promise.all([import("./events/filter"), service.eventTypes()]);
      return filterOf(known, types, OWNER).names;
    },
    webhooks: feature(async () => {
      const { createWebhooks } = await import("./webhooks/webhooks");
      await prepareFor(files.webhookQueue);
      const webhooks = createWebhooks({
        ...{ files, log, events, namesOf: service.eventNames, endings: tokens.endings },
        delivers: () => runsJobs,
      });
      // As the audit log: runs end while they stop, and say so.
      stops.unshift(() => webhooks.stop());
      return webhooks;
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
          publish,
          requireHost: (label) => void book.server(label),
          connect: async (label, folder, client, signal) =>
            sessions.connectTo(book.server(label), folder, client, signal),
        });
        return madeSyncs;
      },
      (syncs) => syncs.stopAll(),
    ),
    untilRevoked: revocations.until,
    daemonsRunning: async (binary) => (await import("./service/daemons")).daemonsRunning(binary),
    async endWorkOf(token) {
      const jobs = hasJobs() ? await (await service.scheduler()).disown("token", token) : 0;
      await endRevoked();
      return jobs;
    },
    endJobsOfScript: async (name) => (hasJobs() ? (await service.scheduler()).disown("script", name) : 0),
    notifyServer: async () =>
      handOver
        ? handOver.refresh()
        : void (await (await import("./client/local-server")).refreshLocalServer(configDir)),
    async refresh(happened = []) {
      if (happened.length > 0) {
        const [{ takeOver }, types] = await Promise.all([import("./events/take-over"), service.eventTypes()]);
        takeOver(events, types, happened);
      }
      await (await service.rest()).server?.refresh();
      if (runsJobs && hasJobs()) await (await service.scheduler()).refresh();
      if (runsJobs) await lookAtDesk();
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
      if (handOver) await handOver.end();
      if (faults.length > 0) throw faults[0];
    },
  };
  /** Looks at the audit logs of hosts that have joined this desk, once there is one. */
  const collector = stoppable(async () => {
    const [{ createCollector }, { openSigningKey }] = await Promise.all([
      import("./witness/collector"),
      import("./lib/signing-key"),
    ]);
    return createCollector({
      ...(await service.witness()),
      ...{ book: await service.addressBook(), deskKey: openSigningKey(files.deskKey), log, publish },
      async verifyRow(proof, vkey) {
        const [{ verifyProof }, { parseVerifierKey }] = await Promise.all([
          import("./audit/witness/proof"),
          import("./lib/signed-note"),
        ]);
        return verifyProof(proof, { key: parseVerifierKey(vkey), witnesses: [] });
      },
    });
  });
  const watchLogs = async () => {
    if (!madeCollector && !(await service.addressBook()).hosts().some(({ member }) => member)) return;
    madeCollector = collector;
    (await collector()).start();
  };
  const tellPins = createNotifyPins(service, configDir);
  return service;
}
