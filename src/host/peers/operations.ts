import * as v from "valibot";
import { SESSIONS } from "../../core/answer-schemas";
import { field, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { NEEDS, type Permission } from "../../core/rights";
import { withMade } from "../../lib/once";
import { version } from "../../version";
import { FEATURES, SDP } from "../../wire/screen/endpoints";
import { PEER_ID } from "./identity";
import type { Sessions } from "./sessions";

interface Uses {
  sessions(): Promise<Sessions>;
}

/** What the caller may do on this host: the scopes of its token, and what this process permits scripts. */
const RIGHTS = v.object({ allows: v.array(v.string()), permits: v.array(v.string()) });

const OFFER = v.strictObject({
  type: field(v.literal("offer"), "Kind of the session description"),
  // It holds the ICE password of the caller.
  sdp: field(secret(SDP), "Session description with all candidates (RFC 8829)"),
  viewer_id: field(PEER_ID, "Id of the caller; also the name of its folder in the inbox"),
  features: field(FEATURES, "Additions to the wire format that the caller supports"),
});

const ID = v.pipe(v.string(), v.maxLength(256));

const ANSWER = v.object({
  type: v.literal("answer"),
  sdp: SDP,
  // Peers of other makers leave out the following.
  session_id: v.optional(ID, ""),
  // The record of the session keeps it.
  host_id: v.optional(ID, ""),
  features: FEATURES,
});

/** The offer of a session. */
export type Offer = v.InferOutput<typeof OFFER>;

/** The answer to it. */
export type Answer = v.InferOutput<typeof ANSWER>;

export const getSessions = operation({
  name: "sessions.get",
  subcommand: "sessions list",
  summary: "List the peer sessions",
  scope: "read",
  answeredBy: "server",
  serverInRuns: true,
  command: "AC_sessions_list",
  http: { method: "GET", path: "/sessions" },
  input: NO_INPUT,
  // A desk asks each host for its sessions, and learns so what it may do there, and which svc it has.
  output: v.object({
    ...SESSIONS.entries,
    rights: v.optional(RIGHTS),
    version: v.optional(v.string()),
  }),
  run: (service: Uses & { permits(need: Permission): boolean }, _input, { grant }) =>
    withMade(service.sessions(), (sessions) => ({
      ...sessions.report(),
      rights: { allows: [...grant.scopes], permits: NEEDS.filter(service.permits) },
      version,
    })),
});

const BETWEEN_SERVERS = "only the server of a peer sends offers";

export const offerSession = operation({
  name: "sessions.offer",
  summary: "Answer the offer of a peer that wants to connect",
  scope: "sync",
  changes: true,
  leftOut: { cli: BETWEEN_SERVERS, script: BETWEEN_SERVERS },
  http: { method: "POST", path: "/sessions/offer" },
  input: OFFER,
  output: ANSWER,
  run: async (service: Uses, offer, { grant, request }) =>
    (await service.sessions()).answer(offer, grant.name, request?.clientKey, grant.since),
});

export const closeSession = operation({
  name: "sessions.close",
  summary: "Close a peer session",
  scope: "operate",
  changes: true,
  answeredBy: "server",
  serverInRuns: true,
  command: "AC_sessions_close",
  http: { method: "POST", path: "/sessions/close" },
  input: v.strictObject({
    id: field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(64)), "Id of the session"),
  }),
  output: v.object({ closed: v.boolean() }),
  async run(service: Uses, { id }) {
    await (await service.sessions()).close(id);
    return { closed: true };
  },
});

export const operations = [getSessions, offerSession, closeSession];
