/**
 * Puts a restore on record in the audit log of this host (`restore-row.ts` has the row).
 */
import * as v from "valibot";
import { operation } from "../../core/operation";
import { conflict, unavailable } from "../../lib/errors";
import { requireSigned } from "../../wire/join/signed-by-desk";
import { type Membership, RESTORED, restoredMessage } from "../../wire/witness/messages";
import { RESTORED_ROW, restoredDetail } from "../../wire/witness/restore-row";
import type { AuditLog } from "../audit/log";

interface Uses {
  membership(): Promise<(Membership & { readonly desk_key: string }) | undefined>;
  audit(): Promise<Pick<AuditLog, "append" | "witness"> | null>;
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
    const membership = requireSigned(await service.membership(), signature, (of) =>
      restoredMessage(of, about),
    );
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
