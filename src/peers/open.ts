/**
 * What peer sessions and folder syncs are handed from the other features, and the options of both.
 */
import { resolve } from "node:path";
import { serverOf } from "../fleet/host";
import { messageOf } from "../lib/errors";
import { once } from "../lib/once";
import { configFiles } from "../lib/paths";
import type { Service } from "../service";
import { createSyncs, type Syncs } from "../sync/manager";
import { type IceConfig, readIceConfig } from "./ice";
import { findIdentity, readIdentity } from "./identity";
import { clearIncoming } from "./inbox";
import { offerSession } from "./operations";
import { createSessions, type Sessions } from "./sessions";

/** How long a peer may take to answer an offer: it asks STUN and TURN servers meanwhile, milliseconds. */
const SIGNALLING_MS = 40_000;

/** What stays free on the disk of the inbox unless somebody says otherwise, bytes. */
const DEFAULT_MIN_FREE = 1e9;

export interface PeerOptions {
  /** STUN and TURN servers, in place of those in `{config_dir}/ice.json`. */
  readonly ice?: IceConfig | undefined;
  /** Whether statistics of links also go to the server that runs on this `{config_dir}` (default false). */
  readonly forwardSamples?: boolean;
  /** Where the files that peers send go (default `{config_dir}/inbox`). */
  readonly inbox?: string | undefined;
  /** What the inbox may hold, bytes (default 0: any amount). */
  readonly inboxQuota?: number | undefined;
  /** What stays free on its disk, bytes (default {@link DEFAULT_MIN_FREE}). */
  readonly inboxMinFree?: number | undefined;
}

type Options = { readonly peers?: PeerOptions };

export async function openSessions(service: Service, { peers = {} }: Options): Promise<Sessions> {
  const { configDir, log } = service;
  const files = configFiles(configDir);
  const inspector = await service.inspector();
  const forward = peers.forwardSamples
    ? (await import("../inspector/forward")).createForwarder(configDir)
    : undefined;
  const place = {
    folder: inboxFolder(service, peers),
    books: files.inboxBooks,
    quota: peers.inboxQuota ?? 0,
    minFree: peers.inboxMinFree ?? DEFAULT_MIN_FREE,
  };
  // Before the first file comes in, nothing is on its way.
  const cleared = once(async () => clearIncoming(place));
  const sessions = createSessions({
    log,
    ice: () => peers.ice ?? readIceConfig(files.ice),
    identity: (role) => readIdentity(role === "host" ? files.hostId : files.viewerId),
    knownHostId: () => findIdentity(files.hostId),
    async inbox(sender) {
      await cleared();
      return { ...place, sender };
    },
    record(sample, session) {
      inspector.record(sample, session);
      forward?.take(sample, session);
    },
    ended({ role, pid }) {
      if (role !== "host") return;
      try {
        clearIncoming(place, pid);
      } catch (error) {
        log.warn(`what a session left in the inbox could not be removed: ${messageOf(error)}`);
      }
    },
  });
  return {
    ...sessions,
    async stop() {
      await sessions.stop();
      await forward?.end();
    },
  };
}

export async function openSyncs(service: Service, { peers = {} }: Options): Promise<Syncs> {
  const { configDir, log } = service;
  const sessions = await service.sessions();
  const find = async (label: string) => (await service.addressBook()).host(label);
  return createSyncs({
    configDir,
    folder: configFiles(configDir).syncFolder,
    inbox: inboxFolder(service, peers),
    log,
    requireHost: async (label) => void (await find(label)),
    async connect(label, signal) {
      const server = serverOf(await find(label));
      const [{ callRemote, MAX_ANSWER_BYTES }, { deadlineIn }] = await Promise.all([
        import("../client/call"),
        import("../client/connection"),
      ]);
      const limits = { deadline: deadlineIn(SIGNALLING_MS), maxBytes: MAX_ANSWER_BYTES };
      return sessions.connect((offer) => callRemote(server, offerSession, offer, limits, signal));
    },
  });
}

const inboxFolder = ({ configDir }: Service, { inbox }: PeerOptions) =>
  resolve(inbox ?? configFiles(configDir).inbox);
