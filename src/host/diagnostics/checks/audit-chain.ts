/** `audit_chain`: the audit log is whole and takes rows. */
import type { Verdict } from "../../audit/chain";
import { check, failed, fine } from "../check";

/** A million rows verify in seconds; this is for many of them on a slow disk. */
const VERIFY_MS = 60_000;

interface Uses {
  /** Null where no audit log is kept. `problem`: why no row can be written, null when one can. */
  existingAudit(): Promise<{
    problem(): Promise<string | null>;
    verify(asked: { readonly signal: AbortSignal }): Promise<Omit<Verdict, "head">>;
  } | null>;
}

export const auditChain = check({
  name: "audit_chain",
  summary: "The audit log's chain is whole (else the broken row is named), and rows can be written",
  deadlineMs: VERIFY_MS,
  advice: [
    "check that audit.db and its folder belong to the user that svc runs as, and that the disk is well",
  ],
  async run({ existingAudit }: Uses, { signal }) {
    const log = await existingAudit();
    if (log === null) return fine("no audit log is kept here", { kept: false });
    const [problem, verdict] = await Promise.all([log.problem(), log.verify({ signal })]);
    const { total_rows, broken_at_id, reason } = verdict;
    const extra = { kept: true, total_rows, broken_at_id };
    if (!verdict.ok) {
      const where =
        broken_at_id === null ? "chain broken" : `chain broken at row id ${broken_at_id} of ${total_rows}`;
      const advice = "keep a copy of audit.db as it is, find out who wrote to it, and see `svc audit verify`";
      return failed(`${where}: ${reason}`, [advice], extra);
    }
    const whole = `chain OK (${total_rows} ${total_rows === 1 ? "row" : "rows"})`;
    if (problem === null) return fine(whole, extra);
    const advice = "until this is repaired, whatever changes something is refused";
    return failed(`${whole}, but no row can be written: ${problem}`, [advice], extra);
  },
});
