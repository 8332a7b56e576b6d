/**
 * What a desk signs for its hosts, with the key that each got when it joined: which logs a peer shall witness, which cosignatures
 * are of its witnesses, and that an operator has accepted a break of a log.
 */
import * as v from "valibot";
import { field, whole } from "../../core/fields";

export const VKEY = v.pipe(
  v.string(),
  v.regex(/^[^+\s]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{44}$/, "a verifier key"),
);

const ORIGIN = v.pipe(v.string(), v.regex(/^[^+\s]{1,200}$/u, "the name of a log"));

/** The most logs that a desk assigns to one peer. */
export const MAX_ASSIGNED = 1_024;

export const SIGNATURE_FIELD = field(
  v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{86}$/, "86 characters of base64url")),
  "Ed25519 signature of the desk's key for jobs",
);

const SIGNED = {
  signed: field(v.pipe(v.string(), v.isoTimestamp()), "When the desk signed it"),
  signature: SIGNATURE_FIELD,
};

const ASSIGNED_LOG = v.strictObject({
  origin: ORIGIN,
  vkey: VKEY,
  epoch: v.pipe(v.number(), v.safeInteger()),
});

export const ASSIGNMENT = v.strictObject({
  logs: field(
    v.pipe(v.array(ASSIGNED_LOG), v.maxLength(MAX_ASSIGNED)),
    "The logs to witness, with the keys that sign them",
  ),
  ...SIGNED,
});

type Assignment = Omit<v.InferOutput<typeof ASSIGNMENT>, "signature">;

/** The membership of the host that is meant, so that a signature for one host is worthless for another. */
export interface Membership {
  readonly host_id: string;
  readonly nonce: string;
}

export const assignmentMessage = ({ host_id, nonce }: Membership, { logs, signed }: Assignment): string =>
  ["svc-witness-logs-v1", host_id, nonce, signed, Bun.SHA256.hash(JSON.stringify(logs), "hex")].join("\n");

/** @param handed a note with cosignatures, and the keys that verify these. */
export const handedMessage = (
  { host_id, nonce }: Membership,
  { note, witnesses }: { readonly note: string; readonly witnesses: readonly string[] },
): string =>
  [
    "svc-witness-cosignatures-v1",
    host_id,
    nonce,
    Bun.SHA256.hash(JSON.stringify([note, witnesses]), "hex"),
  ].join("\n");

export const RESTORED = v.strictObject({
  former_origin: field(ORIGIN, "Name of the log before"),
  former_size: field(whole(0, Number.MAX_SAFE_INTEGER), "How many leaves the desk had cosigned"),
  origin: field(ORIGIN, "Name of the log"),
  size: field(whole(0, Number.MAX_SAFE_INTEGER), "How many leaves it has"),
  root: field(v.pipe(v.string(), v.maxLength(44)), "The root of its tree, base64"),
  reason: field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(500)), "Why the break is accepted"),
  ...SIGNED,
});

/** What an operator accepts. */
export type RestoreStatement = Omit<v.InferOutput<typeof RESTORED>, "signature">;

export const restoredMessage = ({ host_id, nonce }: Membership, restored: RestoreStatement): string => {
  const { former_origin, former_size, origin, size, root, reason, signed } = restored;
  const kept = JSON.stringify([former_origin, former_size, origin, size, root, reason]);
  return ["svc-witness-restored-v1", host_id, nonce, signed, kept].join("\n");
};
