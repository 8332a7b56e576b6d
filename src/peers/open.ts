/**
 * Peer sessions with the files in `{config_dir}`: ICE servers, identities, and the inbox.
 */
import { messageOf } from "../lib/errors";
import { once } from "../lib/once";
import { configFiles } from "../lib/paths";
import { type IceConfig, readIceConfig } from "./ice";
import { findIdentity, readIdentity } from "./identity";
import { clearIncoming } from "./inbox";
import { createSessions, type SessionsOptions } from "./sessions";

/** What stays free on the disk of the inbox by default, bytes. */
const DEFAULT_MIN_FREE = 1e9;

export interface PeerOptions {
  /** STUN and TURN servers, in place of those in `{config_dir}/ice.json`. */
  readonly ice?: IceConfig | undefined;
  /** Whether link statistics also go to the server that runs on this `{config_dir}` (default false). */
  readonly forwardSamples?: boolean;
  /** The folder for files that peers send (default `{config_dir}/inbox`). */
  readonly inbox?: string | undefined;
  /** The most that the inbox may hold, bytes (default 0: no limit). */
  readonly inboxQuota?: number | undefined;
  /** What stays free on its disk, bytes (default {@link DEFAULT_MIN_FREE}). */
  readonly inboxMinFree?: number | undefined;
}

/** @param inbox the folder of the inbox, absolute. */
export function openSessions(
  configDir: string,
  inbox: string,
  peers: PeerOptions,
  { log, record }: Pick<SessionsOptions, "log" | "record">,
) {
  const files = configFiles(configDir);
  const place = {
    folder: inbox,
    index: files.inboxIndex,
    quota: peers.inboxQuota ?? 0,
    minFree: peers.inboxMinFree ?? DEFAULT_MIN_FREE,
  };
  // Before the first session, no file is under way.
  const cleared = once(async () => clearIncoming(place));
  return createSessions({
    log,
    ice: () => peers.ice ?? readIceConfig(files.ice),
    identity: (role) => readIdentity(role === "host" ? files.hostId : files.viewerId),
    knownHostId: () => findIdentity(files.hostId),
    async inbox(sender) {
      await cleared();
      return { ...place, sender };
    },
    record,
    ended({ record, pid }) {
      if (record.role !== "host") return;
      try {
        clearIncoming(place, pid);
      } catch (error) {
        log.warn(`partial files of a session could not be removed from the inbox: ${messageOf(error)}`);
      }
    },
  });
}
