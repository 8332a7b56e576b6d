/**
 * Peer sessions with the files in `{config_dir}`: ICE servers, identities, and the inbox.
 */
import { messageOf } from "../../lib/errors";
import { requireInboxApart } from "../../lib/inside";
import { once } from "../../lib/once";
import { configFiles } from "../../lib/paths";
import { type IceConfig, readIceConfig } from "./ice";
import { readIdentity, watchIdentity } from "./identity";
import { clearIncoming, type InboxPlace } from "./inbox";
import { createSessions, type SessionsOptions } from "./sessions";

/** @param ice STUN and TURN servers, in place of those in `{config_dir}/ice.json`. */
export function openSessions(
  configDir: string,
  inbox: Pick<InboxPlace, "folder" | "quota" | "maxFiles" | "minFree">,
  ice: IceConfig | undefined,
  { log, record, publish, others }: Pick<SessionsOptions, "log" | "record" | "publish" | "others">,
) {
  const files = configFiles(configDir);
  const place = { ...inbox, index: files.inboxIndex };
  const hostId = watchIdentity(files.hostId);
  // Before the first session, no file is under way.
  const ready = once(async () => clearIncoming(place.folder));
  return createSessions({
    log,
    ice: () => ice ?? readIceConfig(files.ice),
    identity(role) {
      if (role === "viewer") return readIdentity(files.viewerId);
      const id = readIdentity(files.hostId);
      hostId.look();
      return id;
    },
    knownHostId: hostId.known,
    async inbox(sender) {
      // For each session: somebody may have put a link there since.
      requireInboxApart(place.folder, configDir);
      await ready();
      return { ...place, sender };
    },
    record,
    ...(publish && { publish }),
    ...(others && { others }),
    ended({ record, pid }) {
      if (record.role !== "host") return;
      try {
        clearIncoming(place.folder, pid);
      } catch (error) {
        log.warn(`partial files of a session could not be removed from the inbox: ${messageOf(error)}`);
      }
    },
  });
}
