/** `clock`: time has not gone back since the newest audit row. */
import { durationText } from "../../lib/units";
import { check, failed, fine } from "../check";

/** Seconds; more than time-keeping sets a clock back by (ntpd steps at 128 ms, and slews by less). */
const TOLERANCE_S = 60;

interface Uses {
  /** The rows are listed newest first. */
  existingAudit(): Promise<{ list(query: { limit: number }): Promise<readonly Row[]> } | null>;
}

type Row = { readonly id: number; readonly ts: string };

export const clock = check({
  name: "clock",
  summary: `The clock is no more than ${TOLERANCE_S} s before the newest audit row`,
  advice: ["check that audit.db and its folder belong to the user that svc runs as"],
  async run({ existingAudit }: Uses) {
    // A log that cannot be read is reported by `audit_chain`.
    const rows = (await existingAudit())?.list({ limit: 1 }).catch(() => []);
    const [newest] = (await rows) ?? [];
    const now = new Date();
    const time = now.toISOString();
    if (newest === undefined) return fine(`${time}, and no audit row to compare it with`);
    const aheadS = (Date.parse(newest.ts) - now.getTime()) / 1_000;
    const extra = { now: time, newest_row_ts: newest.ts, newest_row_id: newest.id };
    if (!(aheadS > TOLERANCE_S)) return fine(`${time}, after the newest audit row`, extra);
    const detail = `${time} is ${durationText(aheadS)} before the newest audit row (id ${newest.id})`;
    return failed(detail, ["set the clock right and keep it so (timedatectl set-ntp true)"], extra);
  },
});
