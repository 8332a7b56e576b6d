/**
 * The cosignatures that the desk of this host hands back for its audit log.
 *
 * The promise: a host keeps cosignatures of its desk and of the peers that its desk has asked, and of nobody else, whoever has a
 * token of the host: the desk signs which note it hands back and which keys verify it.
 */
import * as v from "valibot";
import { field } from "../../core/fields";
import { operation } from "../../core/operation";
import { notFound } from "../../lib/errors";
import { requireSigned } from "../../wire/join/signed-by-desk";
import { handedMessage, type Membership, SIGNATURE_FIELD, VKEY } from "../../wire/witness/messages";

interface Uses {
  /** Null where no log was ever kept: looking does not make one. */
  existingAudit(): Promise<{
    witness(): Promise<{ cosigned(note: string, witnesses: readonly string[]): Promise<number> }>;
  } | null>;
  membership(): Promise<(Membership & { readonly desk_key: string }) | undefined>;
}

export const addCosignatures = operation({
  name: "audit.cosignatures",
  summary: "Keep cosignatures beside a checkpoint of the audit log, which the desk of this host has signed",
  scope: "operate",
  leftOut: { cli: "the server of the desk sends them", script: "the desk signs them" },
  http: { method: "POST", path: "/audit/cosignatures", repeatable: true },
  input: v.strictObject({
    note: field(v.pipe(v.string(), v.maxLength(16_384)), "A checkpoint of this log with cosignatures"),
    witnesses: field(v.pipe(v.array(VKEY), v.minLength(1), v.maxLength(16)), "The keys that verify them"),
    signature: SIGNATURE_FIELD,
  }),
  output: v.object({
    /** How many of them are new. */
    added: v.number(),
  }),
  async run(service: Uses, { signature, ...handed }) {
    requireSigned(await service.membership(), signature, (membership) => handedMessage(membership, handed));
    const log = await service.existingAudit();
    if (!log) throw notFound("no audit log is kept here");
    return { added: await (await log.witness()).cosigned(handed.note, handed.witnesses) };
  },
});
