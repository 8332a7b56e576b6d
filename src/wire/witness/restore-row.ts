/**
 * The row of a restore in the log itself (`audit_restored`): that an operator of the desk has accepted a break, signed by the desk.
 *
 * The promise: it is in the log that was accepted, with its root, and whoever has the desk's key can check that.
 */
import * as v from "valibot";
import { Failure } from "../../lib/errors";
import { isSignedBy } from "../../lib/signing-key";
import { valueIn } from "../../lib/value-in";
import { type Membership, RESTORED, type RestoreStatement, restoredMessage } from "./messages";

/** The type of the row. `svc audit log` writes none that begins like this. */
export const RESTORED_ROW = "audit_restored";

/** What its `detail` holds: all that a reader needs who knows the key of the desk. */
const DETAIL = v.strictObject({
  ...RESTORED.entries,
  host_id: v.string(),
  nonce: v.string(),
  desk_key: v.string(),
});

/** A host's membership, with the public key of the desk. */
type DeskMembership = Membership & { readonly desk_key: string };

export const restoredDetail = (
  { host_id, nonce, desk_key }: DeskMembership,
  restored: RestoreStatement,
  signature: string,
): string => JSON.stringify({ ...restored, host_id, nonce, desk_key, signature });

interface RestoredLog {
  /** The newest row of a type. */
  newestOf(
    type: string,
  ): Promise<{ readonly id: number; readonly ts: string; readonly detail: string | null } | null>;
  /** The root of its first `size` leaves, in base64; undefined where it has fewer. */
  rootAt(size: number): Promise<string | undefined>;
}

/** What the newest restore of a log says, and what is wrong with it; null where there was none. */
export async function newestRestore(log: RestoredLog, desk_key: string | undefined) {
  const row = await log.newestOf(RESTORED_ROW);
  if (!row) return null;
  const read = valueIn(DETAIL, row.detail ?? undefined);
  const { id, ts } = row;
  const unknown = { id, ts, former_size: null, size: null, reason: null, by_own_desk: false };
  if (!read) return { ...unknown, fault: "it is not what svc writes there" };
  const { signature, host_id, nonce, desk_key: signer, ...restored } = read;
  const { former_size, size, reason } = restored;
  const isSigned = isSignedBy(signer, restoredMessage({ host_id, nonce }, restored), signature);
  const fault = isSigned ? await rootFault(log, restored) : "the key that it names has not signed it";
  return { id, ts, former_size, size, reason, by_own_desk: signer === desk_key, fault };
}

/** What is wrong with the tree at the size that was accepted; null when nothing is. */
async function rootFault(log: RestoredLog, { size, root }: Pick<RestoreStatement, "size" | "root">) {
  try {
    if ((await log.rootAt(size)) === root) return null;
    return `the log has another root at ${size} leaves than the one that was accepted`;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return `the root that was accepted cannot be found: ${error.message}`;
  }
}
