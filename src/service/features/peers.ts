/**
 * Sessions with other hosts over WebRTC, the files that go over them, and what the inspector has of both.
 */
import type { Inspector } from "../../host/inspector/inspector";
import type { Sessions, SessionsOptions } from "../../host/peers/sessions";
import type { Syncs } from "../../host/sync/manager";
import type { ServiceParts } from "../parts";

/** The sessions of a process with other hosts. */
export interface PeerFeatures {
  sessions(): Promise<Sessions>;
  syncs(): Promise<Syncs>;
  inspector(): Promise<Inspector>;
  /** The version of the WebRTC library. @throws when it does not work here. */
  probeWebRtc(): Promise<string>;
}

/** @param forwardSamples whether samples also go to the server that runs on the same `{config_dir}`. */
export function peerFeatures(shared: ServiceParts, forwardSamples: boolean): PeerFeatures {
  const { configDir, files, options, ice, log, publish, observed, made, feature, stoppable } = shared;
  /** Made before the sessions, so that it stops after them. */
  const forwardedSamples = feature(
    async () =>
      forwardSamples ? (await import("../../host/inspector/forward")).createForwarder(configDir) : null,
    (forwarder) => forwarder?.end(),
  );
  return {
    sessions: stoppable(async () => {
      const { service } = shared;
      const { openSessions } = await import("../../host/peers/open");
      const inspector = await service.inspector();
      const forwarder = await forwardedSamples();
      const record: SessionsOptions["record"] = (sample, session) => {
        inspector.record(sample, session);
        forwarder?.take(sample, session);
      };
      const place = {
        folder: service.inbox,
        quota: options.inbox_quota,
        maxFiles: options.inbox_max_files,
        minFree: options.inbox_min_free,
      };
      const others = {
        list: () => made.screens?.sessions() ?? [],
        close: async (id: string) => (await made.screens?.end(id, "it was closed here")) ?? false,
      };
      const uses = { log, record, publish, others };
      made.sessions = await openSessions(configDir, place, ice, uses);
      return made.sessions;
    }),
    syncs: feature(
      async () => {
        const { createSyncs } = await import("../../host/sync/manager");
        const sessions = await shared.service.sessions();
        const book = await shared.service.addressBook();
        made.syncs = createSyncs({
          configDir,
          folder: files.syncFolder,
          inbox: shared.service.inbox,
          log,
          publish,
          requireHost: (label) => void book.server(label),
          connect: async (label, folder, client, signal) =>
            sessions.connectTo(book.server(label), folder, client, signal),
        });
        return made.syncs;
      },
      (syncs) => syncs.stopAll(),
    ),
    inspector: feature(async () => {
      const { createInspector } = await import("../../host/inspector/inspector");
      const recorded = (await shared.service.metrics()).addLinkSample;
      return createInspector({ recorded, publish: observed });
    }),
    probeWebRtc: async () => (await import("../../host/peers/session")).probeWebRtc(log),
  };
}
