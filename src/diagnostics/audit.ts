/** `audit_chain` and `clock`: that the audit log is whole and takes rows, and that time has not gone back since the last. */

import { type Check, failed, fine } from "./check";
import { durationText } from "./duration";
import type { Subjects } from "./subjects";

/** A million rows verify in seconds; this is for many of them on a slow disk. */
const VERIFY_MS = 60_000;

const UNREADABLE = [
  "see whether audit.db and its folder belong to the user that svc runs as, and whether the disk is well",
];

export function auditChainCheck({ audit }: Pick<Subjects, "audit">): Check {
  return {
    name: "audit_chain",
    deadlineMs: VERIFY_MS,
    advice: UNREADABLE,
    async run() {
      const log = await audit();
      if (log === null) return fine("no audit log is kept here", { kept: false });
      const [problem, verdict] = await Promise.all([log.problem(), log.verify()]);
      const { total_rows, broken_at_id, reason } = verdict;
      const extra = { kept: true, total_rows, broken_at_id };
      if (!verdict.ok) {
        const where =
          broken_at_id === null ? "chain broken" : `chain broken at row id ${broken_at_id} of ${total_rows}`;
        return failed(
          `${where}: ${reason}`,
          ["keep a copy of audit.db as it is, find out who wrote to it, and see `svc audit verify`"],
          extra,
        );
      }
      const whole = `chain OK (${total_rows} ${total_rows === 1 ? "row" : "rows"})`;
      if (problem === null) return fine(whole, extra);
      return failed(
        `${whole}, and no row can be written: ${problem}`,
        ["until that is mended, whatever changes something is refused"],
        extra,
      );
    },
  };
}

/** More than clocks are set back by in the course of keeping time (ntpd steps at 128 ms, and by less when it slews). */
const TOLERANCE_S = 60;

/** @param now for tests. */
export function clockCheck({ audit }: Pick<Subjects, "audit">, now: () => Date = () => new Date()): Check {
  return {
    name: "clock",
    advice: UNREADABLE,
    async run() {
      // A log that cannot be read is for `audit_chain` to tell of.
      const rows = (await audit())?.list({ limit: 1 }).catch(() => []);
      const [newest] = (await rows) ?? [];
      const time = now();
      if (newest === undefined) return fine(`${time.toISOString()}, and no audit row to compare it with`);
      const aheadS = (Date.parse(newest.ts) - time.getTime()) / 1_000;
      const extra = { now: time.toISOString(), newest_row_ts: newest.ts, newest_row_id: newest.id };
      if (!(aheadS > TOLERANCE_S)) return fine(`${time.toISOString()}, after the newest audit row`, extra);
      return failed(
        `${time.toISOString()} is ${durationText(aheadS)} before the newest audit row (id ${newest.id})`,
        ["set the clock right and keep it so (timedatectl set-ntp true)"],
        extra,
      );
    },
  };
}
