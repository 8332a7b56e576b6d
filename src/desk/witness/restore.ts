/**
 * The ceremony of a restore: an operator accepts that a log is not what it was, for instance after a backup was restored.
 *
 * The promise: it leaves a row in the log itself, signed by the desk, so that nobody can say later that there was no break. The
 * break is accepted only once the host has proven that the row is in the log, behind what is accepted.
 */
import * as v from "valibot";
import { type Carrier, RemoteError } from "../../client/carrier";
import { typed } from "../../client/remote-call";
import { conflict, Failure, messageOf } from "../../lib/errors";
import type { SigningKey } from "../../lib/signing-key";
import { parseHash } from "../../wire/witness/checkpoint";
import { isConsistent, MAX_PROOF } from "../../wire/witness/merkle";
import { type Membership, type RestoreStatement, restoredMessage } from "../../wire/witness/messages";
import { RESTORED_ROW, restoredDetail } from "../../wire/witness/restore-row";
import { type SignedCheckpoint, signedBy } from "../../wire/witness/signed-checkpoint";
import { toBase64 } from "../../wire/witness/signed-note";
import { checkpointOf, type LogKey, limits } from "./look";
import type { LogStatus } from "./states";

/** What a proof that a row is in a log shows (C2SP tlog-proof). */
interface ProvenRow {
  /** Why it proves nothing; null when it does. */
  readonly reason: string | null;
  /** Of the leaf. */
  readonly index: number;
  readonly row: { readonly event_type: string; readonly detail: string | null } | null;
}

export interface Restore {
  readonly deskKey: SigningKey;
  readonly member: Membership;
  /** That of the log as it is now. */
  readonly key: LogKey;
  readonly status: LogStatus;
  readonly reason: string;
  /** Verifies the proof of a row, by the key of the log. */
  verifyRow(proof: string, vkey: string): Promise<ProvenRow>;
}

const ANSWER = v.object({
  proof: v.optional(v.string()),
  consistency: v.optional(v.pipe(v.array(v.string()), v.maxLength(MAX_PROOF)), []),
});

/** A log as it was accepted. */
export interface Acceptance {
  /** The one that has the row. */
  readonly checkpoint: SignedCheckpoint;
  /** When an operator accepted it, ISO 8601. */
  readonly restored: string;
}

/** @throws a {@link RemoteError}; `conflict` where the host does not prove that the row is in its log. */
export async function restore(
  carrier: Carrier,
  { deskKey, member, key, status, reason, verifyRow }: Restore,
): Promise<Acceptance> {
  const keyOf = (origin: string) => (origin === key.origin ? key.vkey : undefined);
  const accepted = signedBy((await checkpointOf(carrier, key, 0)).note, keyOf);
  if ("status" in accepted) throw conflict(`the host shows no checkpoint of its key: ${accepted.reason}`);
  const { size, root } = accepted;
  const about: RestoreStatement = {
    former_origin: status.origin ?? key.origin,
    former_size: status.size,
    origin: key.origin,
    size,
    root: toBase64(root),
    reason,
    signed: new Date().toISOString(),
  };
  const signature = deskKey.sign(restoredMessage(member, about));
  const body = JSON.stringify({ ...about, signature });
  const answer = await carrier.ask({ method: "POST", path: "/audit/restored", body }, limits());
  const { proof, consistency } = answer.status === 404 ? {} : typed(ANSWER, answer);
  if (proof === undefined)
    throw new RemoteError("answer", "the host has an older svc, which proves no restore: update it", true);

  const detail = restoredDetail({ ...member, desk_key: deskKey.publicKey }, about, signature);
  const shown = await verifyRow(proof, key.vkey).catch(unread);
  const proving = signedBy(proof.slice(proof.indexOf("\n\n") + 2), keyOf);
  const isOther = shown.row?.event_type !== RESTORED_ROW || shown.row.detail !== detail || shown.index < size;
  const reasonNot = shown.reason ?? (isOther ? "its proof is that of another row" : null);
  if (reasonNot !== null || "status" in proving)
    throw conflict(`the host does not prove that its log has the row of this restore: ${reasonNot}`);
  const hashes = (consistency ?? []).map((line) => parseHash(line) ?? new Uint8Array());
  if (!isConsistent(size, root, proving.size, proving.root, hashes))
    throw conflict("the log has changed again: it does not go on from the checkpoint that is accepted");
  return { checkpoint: proving, restored: about.signed };
}

/** What is no proof shows nothing. */
function unread(error: unknown): ProvenRow {
  if (error instanceof Failure) return { reason: messageOf(error), index: 0, row: null };
  throw error;
}
