import * as v from "valibot";
import { field, NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import type { Service } from "../service";
import { PEER_ID } from "./identity";
import type { PeerSession } from "./session";

/** A description of a connection with all its candidates has some 2 kB. */
const SDP = v.pipe(v.string(), v.maxLength(65_536));

const FEATURES = v.pipe(v.array(v.pipe(v.string(), v.maxLength(64))), v.maxLength(32));

const SESSION = v.object({
  id: v.string(),
  role: v.picklist(["host", "viewer"]),
  peer: v.string(),
  state: v.picklist(["connecting", "open", "closed"]),
  since: v.string(),
  route: v.nullable(v.string()),
  rtt_ms: v.nullable(v.number()),
  bytes_sent: v.number(),
  bytes_received: v.number(),
  files_received: v.number(),
});

function told(session: PeerSession): v.InferInput<typeof SESSION> {
  const { id, role, peer, state, since, route, counters, filesReceived } = session;
  return {
    id,
    role,
    peer,
    state,
    since: since.toISOString(),
    route,
    rtt_ms: counters.rttMs,
    bytes_sent: counters.bytesSent,
    bytes_received: counters.bytesReceived,
    files_received: filesReceived,
  };
}

/** `host`: the sessions that others opened to this host; `viewer`: those that it opened to others. */
const SESSIONS = v.object({
  host: v.object({
    running: v.boolean(),
    port: v.number(),
    connected_clients: v.number(),
    host_id: v.nullable(v.string()),
  }),
  viewer: v.object({ connected: v.boolean(), host_id: v.nullable(v.string()) }),
  // Hosts of other make tell no more than the two above.
  sessions: v.optional(v.array(SESSION), []),
});

export const getSessions = operation({
  name: "sessions.get",
  summary: "Tell which peer sessions there are",
  scope: "read",
  command: "AC_sessions_list",
  http: { method: "GET", path: "/sessions" },
  input: NO_INPUT,
  output: SESSIONS,
  async run(service: Service) {
    const sessions = await service.sessions();
    const all = sessions.list();
    const open = (role: PeerSession["role"]) =>
      all.filter((session) => session.role === role && session.state === "open");
    const [hosts, viewers] = [open("host"), open("viewer")];
    return {
      host: {
        running: hosts.length > 0,
        // Peers come in through the REST server; there is no port of their own.
        port: 0,
        connected_clients: hosts.length,
        host_id: sessions.hostId(),
      },
      viewer: { connected: viewers.length > 0, host_id: viewers[0]?.peer ?? null },
      sessions: all.map(told),
    };
  },
});

export const offerSession = operation({
  name: "sessions.offer",
  summary: "Take the offer of a peer that wants to connect, and answer it",
  scope: "operate",
  changes: "announces",
  http: { method: "POST", path: "/sessions/offer" },
  input: v.strictObject({
    type: field(v.literal("offer"), "What the description is"),
    sdp: field(SDP, "Session description with all candidates (RFC 8829)"),
    viewer_id: field(PEER_ID, "What the caller is called; names its folder in the inbox"),
    features: field(v.optional(FEATURES, []), "What the caller can do beyond the wire format"),
  }),
  output: v.object({
    type: v.literal("answer"),
    sdp: SDP,
    session_id: v.optional(v.string(), ""),
    // Peers of other make name neither themselves nor their features.
    host_id: v.optional(v.string(), ""),
    features: v.optional(FEATURES, []),
  }),
  async run(service: Service, offer, caller) {
    await caller.announce(`sessions.offer viewer_id=${offer.viewer_id}`);
    return (await service.sessions()).answer(offer);
  },
});

export const closeSession = operation({
  name: "sessions.close",
  summary: "End a peer session",
  scope: "operate",
  changes: true,
  command: "AC_sessions_close",
  http: { method: "POST", path: "/sessions/close" },
  input: v.strictObject({
    id: field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(64)), "The session, as sessions.get gives its id"),
  }),
  output: v.object({ closed: v.boolean() }),
  async run(service: Service, { id }) {
    await (await service.sessions()).close(id);
    return { closed: true };
  },
});

export const operations = [getSessions, offerSession, closeSession];
