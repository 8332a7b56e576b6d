/**
 * The host's part: joining a desk, and leaving it.
 */
import * as v from "valibot";
import { field, httpAddress, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { notFound } from "../../lib/errors";
import { configFiles } from "../../lib/paths";
import { deskPinsEndpoint, generationEndpoint, natsGrantEndpoint } from "../../wire/join/endpoints";
import { readMembership } from "../../wire/join/membership";
import type { HostUses } from "./enter";
import { DESK_RIGHT } from "./rights";

const ON_THE_HOST = {
  http: "who may use the token of a host is decided on the host itself",
  script: "who may use the token of a host is decided by a person",
};

const RIGHTS = v.pipe(v.array(DESK_RIGHT), v.minLength(1), v.maxLength(100));

export const join = operation({
  name: "join.enter",
  subcommand: "join",
  summary: "Join a desk: it looks after this host from then on",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut: ON_THE_HOST,
  input: v.strictObject({
    join_string: field(
      secret(v.pipe(v.string(), v.maxLength(1_000))),
      "The join string that `svc join-token` has printed on the desk (default: a prompt)",
    ),
    label: field(
      v.optional(v.pipe(v.string(), v.maxLength(128))),
      "Name of this host on the desk (default: the host name), after the prefix of the string",
    ),
    direct: field(
      v.optional(httpAddress(2_048)),
      "URL at which the desk reaches this host (default: this host dials a desk that takes links, else where its server listens)",
    ),
    allow: field(
      v.optional(RIGHTS),
      "What the desk may do here: desk, which is all but `admin`; admin, also run programs; or scopes; secret:NAME, secret:crm_*: also use secrets (default: as before, else desk)",
    ),
  }),
  output: v.object({
    desk: v.string(),
    host_id: v.string(),
    label: v.string(),
    /** Where the desk reaches this host; `link:` and its id, where it dials the desk; `nats:` and its key, over a NATS server. */
    url: v.string(),
    dials: v.boolean(),
    served: v.boolean(),
    /** Whether it takes clients with a certificate only (`--client-ca`): then the desk cannot reach it. */
    asks_certificate: v.boolean(),
    /** What the desk may do here: scopes. */
    allows: v.array(v.string()),
  }),
  async run(service: HostUses, wanted) {
    const { joinDesk } = await import("./enter");
    return joinDesk(service, wanted);
  },
});

function requireMembership({ configDir }: Pick<HostUses, "configDir">): void {
  if (!readMembership(configFiles(configDir).desk)) throw notFound("this host has joined no desk");
}

export const leave = operation({
  name: "join.leave",
  subcommand: "leave",
  summary: "Leave the desk: it forgets this host, and its token ends",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut: ON_THE_HOST,
  input: NO_INPUT,
  output: v.object({
    desk: v.string(),
    label: v.string(),
    /** Why the desk was not notified; null when it was. */
    problem: v.nullable(v.string()),
  }),
  requires: requireMembership,
  async run(service: HostUses) {
    const { leaveDesk } = await import("./enter");
    return leaveDesk(service);
  },
});

export const showDesk = operation({
  name: "desk.show",
  summary: "Show which desk this host has joined",
  scope: "read",
  command: "AC_desk_show",
  http: { method: "GET", path: "/desk" },
  input: NO_INPUT,
  /** Null where it has joined none. */
  output: v.object({
    desk: v.nullable(
      v.object({
        address: v.string(),
        host_id: v.string(),
        label: v.string(),
        joined: v.string(),
        /** The scopes that its token has here; null where that token is gone. */
        allows: v.nullable(v.array(v.string())),
      }),
    ),
  }),
  async run({ configDir, deskTokens }: Pick<HostUses, "configDir" | "deskTokens" | "inJoinTurn">) {
    const membership = readMembership(configFiles(configDir).desk);
    if (!membership) return { desk: null };
    const { desk, host_id, label, joined, token } = membership;
    const scopes = (await deskTokens()).scopes(token);
    return { desk: { address: desk, host_id, label, joined, allows: scopes && [...scopes] } };
  },
});

export const setDesk = operation({
  name: "desk.set",
  summary: "Set what the desk of this host may do here",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut: ON_THE_HOST,
  example: { allow: ["admin"] },
  input: v.strictObject({
    allow: field(
      RIGHTS,
      "desk: all but `admin`; admin: also run programs; or scopes; secret:NAME, secret:crm_*: also use secrets",
    ),
  }),
  output: v.object({ desk: v.string(), allows: v.array(v.string()) }),
  requires: requireMembership,
  async run(service: Pick<HostUses, "configDir" | "deskTokens" | "inJoinTurn">, { allow }) {
    const { limitDesk } = await import("./enter");
    return limitDesk(service, allow);
  },
});

const forget = operation({
  name: "desk.forget",
  summary: "End the token of this request and forget its desk, which has removed this host",
  scope: "any",
  changes: true,
  http: { method: "POST", path: "/desk/forget" },
  leftOut: {
    cli: "`svc admin remove` on the desk sends it; `svc leave` on the host does the same",
    script: "it is about the token of a request",
  },
  input: NO_INPUT,
  output: v.object({ forgotten: v.literal(true) }),
  async run(service: Pick<HostUses, "configDir" | "deskTokens" | "inJoinTurn">, _input, caller) {
    const { forgetDesk } = await import("./enter");
    await forgetDesk(service, caller.grant.name);
    return { forgotten: true as const };
  },
});

const BY_DESK = { cli: "the server of the desk sends it", script: "the desk signs it" };

const deskPins = operation({
  ...deskPinsEndpoint,
  summary: "Keep the pins of the desk's TLS key, which it has signed: this host follows it to another key",
  scope: "any",
  changes: "announces",
  leftOut: BY_DESK,
  async run(service: Pick<HostUses, "configDir" | "inJoinTurn">, pins, caller) {
    const { takeDeskPins } = await import("./take-pins");
    return { changed: await takeDeskPins(service, pins, caller) };
  },
});

const deskGeneration = operation({
  ...generationEndpoint,
  summary:
    "Keep which generation of the desk is the desk, which it has signed: jobs of an earlier one are refused from then on",
  scope: "any",
  changes: "announces",
  leftOut: BY_DESK,
  async run(service: Pick<HostUses, "configDir" | "inJoinTurn">, office, caller) {
    const { takeGeneration } = await import("./take-generation");
    return takeGeneration(service, office, caller);
  },
});

const takeNats = operation({
  ...natsGrantEndpoint,
  summary: "Connect to the NATS server of the desk with the credentials that it has signed",
  scope: "any",
  changes: "announces",
  leftOut: {
    cli: "`svc nats grant` on the desk sends it",
    script: "the desk signs it",
  },
  async run(service: Pick<HostUses, "configDir" | "natsKey" | "inJoinTurn">, grant, caller) {
    const { takeNatsGrant } = await import("./take-nats");
    return takeNatsGrant(service, grant, caller);
  },
});

export const operations = [join, leave, showDesk, setDesk, forget, deskPins, deskGeneration, takeNats];
