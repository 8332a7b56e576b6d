/** `clock`: time has not gone back since the last audit row. */
import { durationText } from "../../../lib/units";
import { check, failed, fine, warning } from "../check";

/** Seconds; more than time-keeping sets a clock back by (ntpd steps at 128 ms, and slews by less). */
const TOLERANCE_S = 60;

interface Uses {
  /** `latest`: the row with the latest time, which need not be the last one, and the time of the last one. */
  existingAudit(): Promise<{
    latest(): Promise<{ readonly id: number; readonly ts: string; readonly last_ts: string } | null>;
  } | null>;
}

export const clock = check({
  name: "clock",
  summary: `The clock is no more than ${TOLERANCE_S} s before the last audit row; a warning where an earlier row has a later time`,
  advice: ["check that audit.db and its folder belong to the user that svc runs as"],
  async run({ existingAudit }: Uses) {
    // A log that cannot be read is reported by `audit_chain`.
    const latest = await (await existingAudit())?.latest().catch(() => null);
    const now = new Date();
    const time = now.toISOString();
    if (!latest) return fine(`${time}, and no audit row to compare it with`);
    const aheadOf = (ts: string) => (Date.parse(ts) - now.getTime()) / 1_000;
    const aheadS = aheadOf(latest.ts);
    const extra = { now: time, newest_row_ts: latest.ts, newest_row_id: latest.id };
    if (!(aheadS > TOLERANCE_S)) return fine(`${time}, after the latest audit row`, extra);
    const detail = `${time} is ${durationText(aheadS)} before the latest audit row (id ${latest.id})`;
    const advice = "set the clock right and keep it so (timedatectl set-ntp true)";
    if (aheadOf(latest.last_ts) > TOLERANCE_S) return failed(detail, [advice], extra);
    // The row stays: a clock that was ahead once would be a fault for as long as it was ahead.
    const known =
      "if the clock is right now, it was ahead then, and nothing is wrong: svc audit prune moves that row to an archive";
    return warning(`${detail}, and later rows have earlier times`, [advice, known], extra);
  },
});
