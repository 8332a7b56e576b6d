/**
 * The row of a restore in the log itself (`audit_restored`): that an operator of the desk has accepted a break, signed by the desk.
 *
 * The promise: it is in the log that was accepted, with its root, and whoever has the desk's key can check that.
 */
import * as v from "valibot";
import { operation } from "../core/operation";
import { conflict, Failure, forbidden, unavailable } from "../lib/errors";
import { isSignedBy } from "../lib/signing-key";
import { type Membership, RESTORED, type Restored, restoredMessage } from "./messages";

/** The type of the row. `svc audit log` writes none that begins like this. */
export const RESTORED_ROW = "audit_restored";

/** What its `detail` holds: all that a reader needs who knows the key of the desk. */
const DETAIL = v.pipe(
  v.string(),
  v.parseJson(),
  v.strictObject({ ...RESTORED.entries, host_id: v.string(), nonce: v.string(), desk_key: v.string() }),
);

/** A host's membership, with the public key of the desk. */
type Joined = Membership & { readonly desk_key: string };

export const restoredDetail = (
  { host_id, nonce, desk_key }: Joined,
  restored: Restored,
  signature: string,
): string => JSON.stringify({ ...restored, host_id, nonce, desk_key, signature });

/** The log that the row is in. */
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
  const read = v.safeParse(DETAIL, row.detail);
  const { id, ts } = row;
  const unknown = { id, ts, former_size: null, size: null, reason: null, by_own_desk: false };
  if (!read.success) return { ...unknown, fault: "it is not what svc writes there" };
  const { signature, host_id, nonce, desk_key: signer, ...restored } = read.output;
  const { former_size, size, reason } = restored;
  const isSigned = isSignedBy(signer, restoredMessage({ host_id, nonce }, restored), signature);
  const fault = isSigned ? await rootFault(log, restored) : "the key that it names has not signed it";
  return { id, ts, former_size, size, reason, by_own_desk: signer === desk_key, fault };
}

/** What is wrong with the tree at the size that was accepted; null when nothing is. */
async function rootFault(log: RestoredLog, { size, root }: Pick<Restored, "size" | "root">) {
  try {
    if ((await log.rootAt(size)) === root) return null;
    return `the log has another root at ${size} leaves than the one that was accepted`;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return `the root that was accepted cannot be found: ${error.message}`;
  }
}

interface Uses {
  membership(): Promise<Joined | undefined>;
  audit(): Promise<{
    append(row: {
      readonly event_type: string;
      readonly host_id: null;
      readonly viewer_id: null;
      readonly detail: string;
    }): Promise<number>;
    witness(): Promise<{
      rootAt: RestoredLog["rootAt"];
      /** The id of the first row of a type with this detail; undefined where there is none. */
      rowWith(type: string, detail: string): Promise<number | undefined>;
      proofSince(
        id: number,
        old: number,
      ): Promise<{ readonly proof: string; readonly consistency: string[] }>;
    }>;
  } | null>;
}

export const recordRestore = operation({
  name: "witness.restored",
  summary: "Put on record that an operator of the desk accepts a break of this host's audit log",
  scope: "any",
  // The row itself is the record.
  changes: "announces",
  http: { method: "POST", path: "/audit/restored" },
  leftOut: { cli: "the server of the desk sends it", script: "the desk signs it" },
  input: RESTORED,
  output: v.object({
    /** That the row is in the log (C2SP tlog-proof). */
    proof: v.string(),
    /** Hashes in base64: that the checkpoint of that proof goes on from the one that is accepted. */
    consistency: v.array(v.string()),
  }),
  async run(service: Uses, { signature, ...about }) {
    const membership = await service.membership();
    if (!membership) throw conflict("this host has joined no desk");
    if (!isSignedBy(membership.desk_key, restoredMessage(membership, about), signature))
      throw forbidden("the signature is not that of the desk which this host has joined");
    const log = await service.audit();
    if (!log) throw unavailable("this svc keeps no audit log (--no-audit)");
    const witness = await log.witness();
    // The desk may have accepted that before, and the log be another since: whoever reads the row could send it again.
    if ((await witness.rootAt(about.size)) !== about.root)
      throw conflict(`this log does not have the root that is accepted at ${about.size} leaves`);
    const detail = restoredDetail(membership, about, signature);
    // Whoever reads the row could send what the desk has signed again: it stays the row that it is.
    const id =
      (await witness.rowWith(RESTORED_ROW, detail)) ??
      (await log.append({ event_type: RESTORED_ROW, host_id: null, viewer_id: null, detail }));
    return witness.proofSince(id, about.size);
  },
});
