import * as v from "valibot";
import { field, NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import { SESSIONS } from "../core/records";
import type { Service } from "../service";
import { PEER_ID } from "./identity";

/** A description of a connection with all its candidates has some 2 kB. */
const SDP = v.pipe(v.string(), v.maxLength(65_536));

const FEATURES = v.pipe(v.array(v.pipe(v.string(), v.maxLength(64))), v.maxLength(32));

export const getSessions = operation({
  name: "sessions.get",
  summary: "Tell which peer sessions there are",
  scope: "read",
  command: "AC_sessions_list",
  http: { method: "GET", path: "/sessions" },
  input: NO_INPUT,
  output: SESSIONS,
  run: async (service: Service) => (await service.sessions()).report(),
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
