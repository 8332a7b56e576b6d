/**
 * The desktop of this host, its live screen and who looks at it.
 */

import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { newEvents } from "../../core/events";
import type { Grant } from "../../core/rights";
import { allows } from "../../core/rights";
import type { RelayUses } from "../../desk/screen/relay";
import type { ScreenRelays } from "../../desk/screen/relays";
import type { RelayedViewers } from "../../desk/screen/viewers";
import type { Desktop, DesktopOptions } from "../../host/desktop/desktop";
import type { Programs } from "../../host/desktop/programs";
import type { Screens } from "../../host/desktop/screen/all-screens";
import type { BlackBox } from "../../host/desktop/screen/black-box/black-box";
import type { BoxStatus } from "../../host/desktop/screen/black-box/operations";
import type { ProxyUses } from "../../host/desktop/screen/operations/proxy";
import type { Recordings } from "../../host/desktop/screen/record/recordings";
import type { Signatures } from "../../host/desktop/screen/signature/signatures";
import type { Thumbnails } from "../../host/desktop/screen/thumbnail/thumbnails";
import type { Tickets } from "../../host/desktop/screen/tickets";
import type { Webdriver } from "../../host/desktop/webdriver/webdriver";
import type { Desktops } from "../../host/desktops/desktops";
import type { DesktopTools } from "../../host/desktops/tools";
import type { Leases } from "../../host/leases/leases";
import type { ScreenPeers } from "../../host/peers/screen-peers";
import type { RunView } from "../../host/runs/types";
import { forbidden } from "../../lib/errors";
import type { KeptRun } from "../../wire/screen/black-box";
import type { DesktopView } from "../../wire/screen/desktop-view";
import type { CreateDesktopOn, NamedDesktops } from "../desktops";
import type { ServiceParts } from "../parts";

/** The desktop and its live screen, as a process has them. */
export interface DesktopFeatures {
  /** @param name of one on demand (default: that of the host). @throws `not_found` for one that does not run. */
  desktop(name?: string): Promise<Desktop>;
  /** The desktops on demand of this process. */
  desktops(): Promise<Desktops>;
  placeFor: NamedDesktops["placeFor"];
  leaseDesktop: NamedDesktops["lease"];
  /** Small pictures of the screen. */
  thumbnails(): Promise<Thumbnails>;
  /** What a desk compares screens by. */
  signatures(): Promise<Signatures>;
  recordings(): Promise<Recordings>;
  /** What the screen has shown for the last while. */
  blackBox(): Promise<BlackBox>;
  /** Whether this process keeps what the screen shows, or has some of before; null for neither: asking loads nothing then. */
  blackBoxShown(): Promise<"on" | "paused" | "left" | null>;
  /** What the black box keeps for a run that has failed; null where it keeps nothing for it. Asking loads nothing where there is none. */
  keptOfRun(id: string): Promise<KeptRun | null>;
  /** That of the server that runs on this folder, where one does. */
  blackBoxStatus(): Promise<BoxStatus>;
  /** What this host has for desktops on demand. */
  desktopTools(): Promise<DesktopTools>;
  /** The programs that scripts start and do not wait for. */
  programs(): Promise<Programs>;
  /** The sessions of WebDriver clients. */
  webdriver(): Promise<Webdriver>;
  /** The leases of agents. */
  leases(): Promise<Leases>;
  /** Those, where there have been any: asking loads nothing. */
  leasesNow(): Leases | undefined;
  /** Whether a grant is one of the trusted viewers of the screen. */
  trustedViewers(): Promise<(grant: Grant) => boolean>;
  /** Whether a person allows each look of a grant at the screen first; undefined where that is never so. */
  asksPerson(): Promise<((grant: Grant) => boolean) | undefined>;
  /** The viewers of the live screen. */
  screens(): Promise<Screens>;
  screenTickets(): Promise<Tickets>;
  /** The viewers that this desk has let in at other hosts. */
  relayedViewers(): Promise<RelayedViewers>;
  /** The streams of such viewers that go over this desk. */
  screenRelays(): Promise<ScreenRelays>;
  openHostScreen: RelayUses["openHostScreen"];
  /** How many viewers there are: asking loads nothing. */
  viewersNow(): number;
  /** The data channels of the live screen. */
  screenPeers(): Promise<ScreenPeers>;
  keepScreenProxy: ProxyUses["keepScreenProxy"];
}

/** What this host has for desktops on demand. */
async function toolsOf(
  { isBeside, configDir }: Pick<ServiceParts, "isBeside" | "configDir">,
  desktops: () => Promise<Desktops>,
): Promise<DesktopTools> {
  const found = (await import("../../host/desktops/tools")).findTools(process.env);
  if ("missing" in found) return { uses: null, missing: found.missing, hasBus: false, disk: null };
  const uses = [found.server.program, found.manager.program];
  const tools = { uses, missing: [], hasBus: found.bus !== null };
  const held = (limit: number | null, all: readonly DesktopView[]): DesktopTools => {
    const used = all.flatMap(({ name, disk }) => (disk ? [{ name, used_bytes: disk.used_bytes }] : []));
    return { ...tools, disk: { limit, used } };
  };
  if (!isBeside) {
    const all = await desktops();
    return held(all.diskLimit, all.list());
  }
  const [{ askOwner }, { listDesktops }] = await Promise.all([
    import("../../client/owner"),
    import("../../host/desktops/operations"),
  ]);
  const asked = await askOwner(configDir, listDesktops, {}).catch(() => undefined);
  const limit = asked?.answer.disk_limit_bytes;
  return asked && limit !== undefined ? held(limit, asked.answer.desktops) : { ...tools, disk: null };
}

export function desktopFeatures(shared: ServiceParts): DesktopFeatures {
  const { files, options, ice, log, publish, made, feature, stoppable, stopFirst } = shared;
  /** @throws `forbidden` with `--no-screen`. */
  const shownDesktop = async (name?: string) => {
    if (!options.screen) throw forbidden("the live screen is off here (svc serve --no-screen)");
    return shared.service.desktop(name);
  };
  const createOn = async (how: Pick<DesktopOptions, "lockFile" | "place" | "env" | "as" | "permission">) => {
    const { createDesktop } = await import("../../host/desktop/desktop");
    const desktop = createDesktop({ ...how, imagesFolder: files.images, ocrFolder: files.ocr, log });
    const { createViewerSamples } = await import("../viewer-samples");
    desktop.viewerListeners.add(createViewerSamples(shared.service.inspector, log));
    return desktop;
  };
  const ofHost = stoppable(async () => {
    const place = shared.isBeside ? (await import("../input-place")).createAskPlace(shared) : undefined;
    const { createKeptPermission } = await import("../../host/desktop/kept-permission");
    const permission = createKeptPermission(files.portalToken, log);
    return createOn({ lockFile: files.inputLock, place, permission });
  });
  // Its temporary files are svc's, and not of the desktop's programs.
  const createIn: CreateDesktopOn = ({ env, as }, lockFile) =>
    createOn({ lockFile, env: { ...env, TMPDIR: tmpdir() }, as });
  const byName = stoppable(async () => (await import("../desktops")).createNamedDesktops(shared, createIn));
  const desktops = stoppable(async () => (await import("../desktops")).createOwnDesktops(shared, createIn));
  return {
    desktop: async (name) => (name === undefined ? ofHost() : (await byName()).named(name)),
    desktops,
    desktopTools: () => toolsOf(shared, desktops),
    placeFor: async (...wanted) => (await byName()).placeFor(...wanted),
    leaseDesktop: async (...wanted) => (await byName()).lease(...wanted),
    webdriver: stoppable(() => openWebdriver(shared)),
    leases: stoppable(async () => {
      made.leases = await (await import("../leases")).createOwnLeases(shared);
      return made.leases;
    }),
    leasesNow: () => made.leases,
    thumbnails: feature(async () => {
      const { createThumbnails } = await import("../../host/desktop/screen/thumbnail/thumbnails");
      return createThumbnails(async (size, name) => (await shownDesktop(name)).snapshot(size));
    }),
    signatures: feature(async () => {
      const { createSignatures } = await import("../../host/desktop/screen/signature/signatures");
      const exclude = options.black_box_exclude;
      return createSignatures(async () => (await shownDesktop()).signature({ exclude }));
    }),
    recordings: feature(
      async () => {
        const { createRecordings } = await import("../../host/desktop/screen/record/recordings");
        // Made first, so that it stops last.
        await shared.service.desktop();
        made.recordings = createRecordings({ folder: files.recordings, desktop: shownDesktop, publish, log });
        return made.recordings;
      },
      (recordings) => recordings.stopAll(),
    ),
    blackBox: stoppable(() => openBlackBox(shared, shownDesktop)),
    blackBoxStatus: () => blackBoxStatus(shared),
    async blackBoxShown() {
      if (options.black_box === undefined) return hasSegments(files.blackBox);
      return (await shared.service.blackBox()).isPaused ? "paused" : "on";
    },
    async keptOfRun(id) {
      if (!existsSync(files.blackBox)) return null;
      return (await shared.service.blackBox()).kept().find(({ run_id }) => run_id === id) ?? null;
    },
    programs: stoppable(async () => (await import("../../host/desktop/programs")).createPrograms(publish)),
    trustedViewers: feature(async () => {
      const { createTrustedViewers } = await import("../../host/desktop/screen/trusted-viewers");
      return createTrustedViewers(files.trustedViewers, files.adminLock, log);
    }),
    async asksPerson() {
      if (!options.screen_approval) return undefined;
      const isTrusted = await shared.service.trustedViewers();
      // Who may act on this host has scripts take pictures.
      return (grant) => allows(grant, "screen") && !allows(grant, "operate") && !isTrusted(grant);
    },
    screens: stoppable(() => openScreens(shared)),
    screenTickets: feature(async () => (await import("../../host/desktop/screen/tickets")).createTickets()),
    relayedViewers: feature(async () => {
      const { createRelayedViewers } = await import("../../desk/screen/viewers");
      return createRelayedViewers(log, async (label) => (await shared.service.addressBook()).server(label));
    }),
    screenRelays: stoppable(async () => (await import("../../desk/screen/relays")).createScreenRelays()),
    async openHostScreen(server, wanted, signal, client) {
      const { openScreen } = await import("../../host/desktop/screen/carry/open");
      return openScreen(server, wanted, shared.service.screenPeers, signal, client);
    },
    viewersNow: () => made.screens?.count() ?? 0,
    screenPeers: stoppable(async () => {
      const [{ createScreenPeers }, { readIceConfig }] = await Promise.all([
        import("../../host/peers/screen-peers"),
        import("../../host/peers/ice"),
      ]);
      return createScreenPeers({ log, ice: () => ice ?? readIceConfig(files.ice) });
    }),
    keepScreenProxy: (proxy) => stopFirst(() => proxy.stop()),
  };
}

async function openScreens(shared: ServiceParts): Promise<Screens> {
  const { options, log, publish, made, revocations } = shared;
  const [{ createScreens }, isTrusted] = await Promise.all([
    import("../../host/desktop/screen/all-screens"),
    shared.service.trustedViewers(),
    // Made first, so that it stops last.
    shared.service.desktop(),
  ]);
  const { desktop } = shared.service;
  made.screens = createScreens({
    log,
    desktop,
    isOn: options.screen,
    asksFirst: options.screen_approval,
    isTrusted,
    publish,
    approvals: shared.service.approvals,
    async record(detail, viewer_id, host_id) {
      const row = { event_type: "screen", host_id, viewer_id, detail };
      await (await shared.service.audit())?.append(row);
    },
    async cancelRun(id, why) {
      const runs = await shared.service.runs();
      runs.cancel(runs.show(id).run_id, why);
    },
    async endLease(id, why) {
      await made.leases?.end(id, why);
    },
    untilRevoked: revocations.until,
  });
  return made.screens;
}

async function openBlackBox(shared: ServiceParts, desktop: () => Promise<Desktop>): Promise<BlackBox> {
  const { service, files, options, log, publish } = shared;
  const [{ BlackBox }, { createBoxReader }] = await Promise.all([
    import("../../host/desktop/screen/black-box/black-box"),
    import("../../host/desktop/screen/black-box/reader"),
    // Made first, so that it stops last.
    service.desktop(),
  ]);
  const { black_box: span, black_box_size: maxBytes, black_box_exclude: exclude } = options;
  const settings = span === undefined ? undefined : { spanMs: span * 1_000, maxBytes, exclude };
  const place = { folder: files.blackBox, keyFile: files.blackBoxKey };
  const box = new BlackBox({ ...place, settings, desktop, reader: createBoxReader(log), publish, log });
  if (settings) shared.stopFirst(keepFailures(shared, box));
  return box;
}

/** Has the black box keep the minutes before each failed run of a job or a plan. @returns what ends it. */
function keepFailures({ events }: ServiceParts, box: BlackBox): () => void {
  const ended = newEvents<RunView>(events, ["run.ended"]);
  return events.listen(() => {
    for (const run of ended()) {
      const isOfJob = run.source_type === "scheduler" || run.source_type === "plan";
      if (isOfJob && FAILED.has(run.status) && run.finished_at !== null) box.keepFor(run, run.finished_at);
    }
  });
}

async function hasSegments(folder: string): Promise<"left" | null> {
  if (!existsSync(folder)) return null;
  const { segmentsIn } = await import("../../host/desktop/screen/black-box/segments");
  return segmentsIn(folder).length > 0 ? "left" : null;
}

/** The ends of a run after which somebody wants to know what was on the screen. */
const FAILED: ReadonlySet<string> = new Set(["error", "timeout"]);

async function blackBoxStatus({ service, configDir, options, phase }: ServiceParts): Promise<BoxStatus> {
  const own = async () => (await service.blackBox()).status();
  if (phase.runsJobs || options.black_box !== undefined) return own();
  const [{ askServer }, { boxStatus }] = await Promise.all([
    import("../../client/owner"),
    import("../../host/desktop/screen/black-box/operations"),
  ]);
  // Without a server nothing is kept.
  const asked = await askServer(configDir, boxStatus, {}).catch(() => undefined);
  return asked?.answer ?? own();
}

async function openWebdriver({ service, log }: ServiceParts): Promise<Webdriver> {
  const [{ createWebdriver }, { createElsewhere }, { createScriptCall }] = await Promise.all([
    import("../../host/desktop/webdriver/webdriver"),
    import("../../desk/webdriver/elsewhere"),
    import("../../host/desktop/webdriver/script-call"),
  ]);
  const { desktop, leaseDesktop, programs, permits, addressBook } = service;
  const execute = createScriptCall(service);
  const elsewhere = createElsewhere(addressBook);
  return createWebdriver({ log, desktop, leaseDesktop, programs, permits, execute, elsewhere });
}
