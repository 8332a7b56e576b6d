/**
 * What a standby asks its desk: the same program on both sides.
 */
import * as v from "valibot";
import { field, secret, whole } from "../../../core/fields";
import { endpoint } from "../../../core/operation";

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

/** On a desk: says whether it has changed, and what it is now, piece by piece. */
export const pullEndpoint = endpoint({
  name: "standby.pull",
  http: { method: "POST", path: "/standby/pull", public: "signed", routine: true },
  input: v.strictObject({
    ...STRING,
    have: field(v.optional(v.nullable(STAMP), null), "The stamp of the snapshot that the standby has"),
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

/** On a desk that comes back: it was taken over. */
export const yieldEndpoint = endpoint({
  name: "standby.yield",
  http: { method: "POST", path: "/standby/yield", public: "signed", routine: true },
  input: v.strictObject({
    ...STRING,
    generation: field(whole(1, Number.MAX_SAFE_INTEGER), "The generation of the desk that has taken over"),
  }),
  output: v.object({
    /** Whether it is the desk no more. */
    yielded: v.boolean(),
    /** Its own generation. */
    generation: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  }),
});
