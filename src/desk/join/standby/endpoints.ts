/**
 * What a standby asks its desk: the same program on both sides.
 */
import * as v from "valibot";
import { field, secret, whole } from "../../../core/fields";
import { endpoint } from "../../../core/operation";
import { OFFICE, type Office } from "../../../wire/join/office";

const STRING = {
  id: field(
    v.pipe(v.string(), v.regex(/^[a-z2-7]{8}$/, "the id of a standby string")),
    "Id of the standby string",
  ),
  secret: field(
    secret(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{43}$/, "the secret of a standby string"))),
    "Secret of the standby string",
  ),
};

const STAMP = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "a SHA-256"));

const SIGNATURE = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{86}$/, "86 characters of base64url"));

/**
 * What the key in a snapshot signs, so that the desk believes who says to have it: whoever has found the string cannot open one.
 *
 * @param id of the standby string.
 */
export const haveMessage = (id: string, stamp: string): string =>
  ["svc-standby-has-v1", id, stamp].join("\n");

/** Who has the string `id`, and does not prove to be its standby: counted apart from that one. */
export const unproved = (id: string): string => `${id}?`;

/** On a desk: says whether it has changed, and what it is now, piece by piece. */
export const pullEndpoint = endpoint({
  name: "standby.pull",
  http: { method: "POST", path: "/standby/pull", public: "signed", routine: true },
  input: v.strictObject({
    ...STRING,
    have: field(v.optional(v.nullable(STAMP), null), "The stamp of the snapshot that the standby has"),
    proof: field(
      v.optional(v.nullable(SIGNATURE), null),
      "Ed25519 signature of the desk's key for jobs, which is in that snapshot, over `svc-standby-has-v1`, the id of the string and the stamp, a line each",
    ),
    piece_of: field(
      v.optional(v.nullable(STAMP), null),
      "The stamp of the snapshot of which this is to be a further piece; without it, the first one of the newest",
    ),
    offset: field(v.optional(whole(0, Number.MAX_SAFE_INTEGER), 0), "Where a further piece begins, in bytes"),
  }),
  output: v.object({
    stamp: v.string(),
    /** How large the snapshot is; 0 where the standby has it. */
    bytes: v.number(),
    /** A part of it, in base64: encrypted for the key of the standby. */
    piece: v.string(),
    /** The pins of the keys that the desk may show from now on. */
    pins: v.array(v.string()),
  }),
});

/**
 * What the desk's key for jobs signs of who has taken over. The string alone takes no desk over, then: who has the key could open what the
 * standby keeps.
 *
 * @param id of the standby string.
 */
export const yieldMessage = (id: string, { line, generation }: Office): string =>
  ["svc-desk-yield-v1", id, line, generation].join("\n");

/** On a desk that comes back: it was taken over. */
export const yieldEndpoint = endpoint({
  name: "standby.yield",
  http: { method: "POST", path: "/standby/yield", public: "signed", routine: true },
  input: v.strictObject({
    ...STRING,
    ...OFFICE,
    signature: field(
      SIGNATURE,
      "Ed25519 signature of the desk's key for jobs over `svc-desk-yield-v1`, the id of the string, line and generation, a line each",
    ),
  }),
  output: v.object({
    /** Whether it is the desk no more. */
    yielded: v.boolean(),
    /** Its own generation. */
    generation: OFFICE.generation,
  }),
});
