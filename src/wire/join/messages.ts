/**
 * What a host and a desk say to each other, and what the host signs of it with its identity key.
 *
 * A signature names the desk's TLS key, so that no other desk can use it, and everything that the desk keeps of the host.
 */
import * as v from "valibot";
import { field, secret, whole } from "../../core/fields";
import { LIMIT } from "../../core/rights";

const base64url = (length: number) =>
  v.pipe(v.string(), v.regex(new RegExp(`^[A-Za-z0-9_-]{${length}}$`), `${length} characters of base64url`));

const SIGNATURE = field(base64url(86), "Ed25519 signature of the host's identity key");

const HOST_ID = v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/, "the id of a host"));

const text = (max: number) => v.pipe(v.string(), v.nonEmpty(), v.maxLength(max));

/** What a host sends to join. The desk checks address, token and label as those of any other host. */
export const JOIN_REQUEST = v.strictObject({
  id: field(v.pipe(v.string(), v.regex(/^[a-z2-7]{8}$/, "the id of a join string")), "Id of the join string"),
  secret: field(secret(base64url(43)), "Secret of the join string"),
  host_key: field(base64url(43), "Identity key of the host: Ed25519, public"),
  signature: SIGNATURE,
  name: field(text(128), "Name of the host"),
  label: field(v.optional(text(128)), "Label that it wants (default: made of its name)"),
  url: field(
    v.optional(v.pipe(text(2_048), v.url())),
    "Where the desk reaches the host, if it takes no links",
  ),
  dials: field(v.optional(v.literal(true)), "Set by a host that keeps a link to a desk which takes links"),
  nats_key: field(
    v.optional(v.pipe(v.string(), v.regex(/^U[A-Z2-7]{55}$/, "the public half of an NKey"))),
    "Who the host will be to a NATS server, if this desk has one",
  ),
  nats_proof: field(v.optional(base64url(86)), "Ed25519 signature of that NKey; required with it"),
  pin: field(v.optional(text(100)), "Pin of the host's TLS key"),
  token: field(secret(text(512)), "Token of the host for the desk"),
  token_expires: field(v.optional(v.pipe(v.string(), v.isoTimestamp())), "When that token ends"),
  allow: field(
    v.optional(v.pipe(v.array(LIMIT), v.minLength(1), v.maxLength(200))),
    "What that token allows, where it is something else than what every desk gets",
  ),
  time: field(
    whole(1, Number.MAX_SAFE_INTEGER),
    "When the host signs, milliseconds since 1970; later than in its requests before",
  ),
});

export type JoinRequest = v.InferOutput<typeof JOIN_REQUEST>;

/** A way from the desk to the host. Further kinds may follow. */
const CARRIER = v.looseObject({ kind: v.string() });

export const JOIN_ANSWER = v.object({
  host_id: HOST_ID,
  label: text(256),
  /** With which the desk signs jobs: Ed25519, public. */
  desk_key: base64url(43),
  /** Names this membership: a signature for an earlier one is worth nothing. */
  nonce: base64url(22),
  carriers: v.array(CARRIER),
});

type JoinStatement = Omit<JoinRequest, "secret" | "signature" | "nats_proof">;

/** @param deskPin as the join string has it. */
export function joinMessage(deskPin: string, request: JoinStatement): string {
  const { id, host_key, token, token_expires = null, time } = request;
  const kept = JSON.stringify([wishesOf(request), sha256(token), token_expires, time]);
  return ["svc-join-v2", deskPin, id, host_key, kept].join("\n");
}

/**
 * What an NKey signs of the host that has it: so no host gets the requests for another. It is no nonce of a NATS server, which may have
 * anything signed that looks like one.
 *
 * @param desk the pin of its TLS key, or its key for jobs.
 * @param occasion of which it is: the time of the request to join, or the membership.
 */
export const natsKeyMessage = (desk: string, host_id: string, occasion: string): string =>
  ["svc-nats-key-v1", desk, host_id, occasion].join("\n");

/** What a host asks for, in one text, but for its token: that is another when it has to ask once more. */
export const wishesOf = ({ name, label, url, pin, dials, nats_key: key, allow }: JoinStatement) =>
  JSON.stringify([
    name,
    label ?? null,
    url ?? null,
    pin ?? null,
    ...(dials ? ["dials"] : []),
    ...(key ? [key] : []),
    ...(allow ? [allow] : []),
  ]);

/** The SHA-256 of a text, as 43 characters of base64url. */
export const sha256 = (text: string): string =>
  new Bun.CryptoHasher("sha256").update(text).digest("base64url");

/** What a host sends to leave. */
export const LEAVE_REQUEST = v.strictObject({
  host_id: field(HOST_ID, "Id of the host"),
  signature: SIGNATURE,
});

export const leaveMessage = (hostId: string, nonce: string): string =>
  ["svc-leave-v1", hostId, nonce].join("\n");

const KEY_PIN = v.pipe(v.string(), v.regex(/^spki:[A-Za-z0-9_-]{43}$/, "the pin of a key"));

/** What a desk sends about its TLS key to hosts that have joined. */
export const DESK_PINS = v.strictObject({
  pin: field(KEY_PIN, "Pin of the desk's TLS key"),
  next_pin: field(v.optional(KEY_PIN), "Pin of the key that it has announced"),
  /** Compared with that of the pins before, so that nobody can send old ones again. */
  signed: field(v.pipe(v.string(), v.isoTimestamp()), "When the desk signed it"),
  signature: field(base64url(86), "Ed25519 signature of the desk's key for jobs"),
});

export type DeskPins = Omit<v.InferOutput<typeof DESK_PINS>, "signature">;

export const deskPinsMessage = (hostId: string, nonce: string, { pin, next_pin, signed }: DeskPins): string =>
  ["svc-desk-pins-v1", hostId, nonce, pin, next_pin ?? "", signed].join("\n");

/** What a desk sends to a host that has joined, for its NATS server. */
export const NATS_GRANT = v.strictObject({
  carrier: field(
    v.optional(secret(v.pipe(v.string(), v.maxLength(1_100_000)))),
    "How the host reaches the server, JSON; without it, the host only says who it is to servers",
  ),
  signed: field(v.pipe(v.string(), v.isoTimestamp()), "When the desk signed it"),
  signature: field(base64url(86), "Ed25519 signature of the desk's key for jobs"),
});

export type NatsGrant = Omit<v.InferOutput<typeof NATS_GRANT>, "signature">;

export const natsGrantMessage = (
  hostId: string,
  nonce: string,
  { carrier = "", signed }: NatsGrant,
): string => ["svc-nats-grant-v1", hostId, nonce, signed, sha256(carrier)].join("\n");
