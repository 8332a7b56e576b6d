/**
 * The desktop of this host, its live screen and who looks at it.
 */
import { allows } from "../../core/rights";
import { forbidden } from "../../lib/errors";
import type { Service } from "../interface";
import type { Shared } from "../shared";

type Features = Pick<
  Service,
  | "desktop"
  | "thumbnails"
  | "recordings"
  | "programs"
  | "trustedViewers"
  | "asksPerson"
  | "screens"
  | "screenTickets"
  | "relayedViewers"
  | "viewersNow"
  | "screenPeers"
  | "keepScreenProxy"
>;

export function desktopFeatures(shared: Shared): Features {
  const { files, options, ice, log, publish, made, revocations, feature, stoppable, stopFirst } = shared;
  /** @throws `forbidden` with `--no-screen`. */
  const shownDesktop = async () => {
    if (!options.screen) throw forbidden("the live screen is off here (svc serve --no-screen)");
    return shared.service.desktop();
  };
  return {
    desktop: stoppable(async () => {
      const { createDesktop } = await import("../../desktop/desktop");
      const desktop = createDesktop({
        lockFile: files.inputLock,
        imagesFolder: files.images,
        ocrFolder: files.ocr,
        log,
      });
      const { createViewerSamples } = await import("../viewer-samples");
      desktop.viewerListeners.add(createViewerSamples(shared.service.inspector, log));
      return desktop;
    }),
    thumbnails: feature(async () => {
      const { createThumbnails } = await import("../../desktop/screen/thumbnail/thumbnails");
      return createThumbnails(async (size) => (await shownDesktop()).snapshot(size));
    }),
    recordings: feature(
      async () => {
        const { createRecordings } = await import("../../desktop/screen/record/recordings");
        // Made first, so that it stops last.
        await shared.service.desktop();
        made.recordings = createRecordings({ folder: files.recordings, desktop: shownDesktop, publish, log });
        return made.recordings;
      },
      (recordings) => recordings.stopAll(),
    ),
    programs: stoppable(async () => (await import("../../desktop/programs")).createPrograms(publish)),
    trustedViewers: feature(async () => {
      const { createTrusted } = await import("../../desktop/screen/trusted");
      return createTrusted(files.trustedViewers, files.importLock, log);
    }),
    async asksPerson() {
      if (!options.screen_approval) return undefined;
      const isTrusted = await shared.service.trustedViewers();
      // Who may act on this host has scripts take pictures.
      return (grant) => allows(grant, "screen") && !allows(grant, "operate") && !isTrusted(grant);
    },
    screens: stoppable(async () => {
      const [{ createScreens }, isTrusted, desktop] = await Promise.all([
        import("../../desktop/screen/screens"),
        shared.service.trustedViewers(),
        shared.service.desktop(),
      ]);
      made.screens = createScreens({
        ...{ log, desktop, isOn: options.screen, asksFirst: options.screen_approval, isTrusted, publish },
        approvals: shared.service.approvals,
        async record(detail, viewer_id, host_id) {
          const row = { event_type: "screen", host_id, viewer_id, detail };
          await (await shared.service.audit())?.append(row);
        },
        async cancelRun(id, why) {
          const runs = await shared.service.runs();
          runs.cancel(runs.show(id).run_id, why);
        },
        untilRevoked: revocations.until,
      });
      return made.screens;
    }),
    screenTickets: feature(async () => (await import("../../desktop/screen/tickets")).createTickets()),
    relayedViewers: feature(async () => {
      const { createRelayedViewers } = await import("../../desktop/screen/operations/relayed");
      return createRelayedViewers(log, async (label) => (await shared.service.addressBook()).server(label));
    }),
    viewersNow: () => made.screens?.count() ?? 0,
    screenPeers: stoppable(async () => {
      const [{ createScreenPeers }, { readIceConfig }] = await Promise.all([
        import("../../peers/screen-peers"),
        import("../../peers/ice"),
      ]);
      return createScreenPeers({ log, ice: () => ice ?? readIceConfig(files.ice) });
    }),
    keepScreenProxy: (proxy) => stopFirst(() => proxy.stop()),
  };
}
