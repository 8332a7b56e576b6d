/**
 * The steps of hosts, in SQL.
 */
import { STEPS, type StepName } from "../plan";
import { listed } from "./tables";

const ENDS = "done_at = $now, error = $error, run_id = $run_id";

/** What a step sets besides the state. */
const SETS: Readonly<Partial<Record<StepName, string>>> = {
  send: "sent_at = $now, way = $way, records = $records, error = NULL",
  run: "sent_at = sent_at",
  unsend: "way = NULL, sent_at = NULL, records = NULL",
  wait: "way = NULL, sent_at = NULL, records = NULL, error = $error",
  unreachable: `way = NULL, sent_at = NULL, records = NULL, ${ENDS}`,
  cancelled: `way = NULL, sent_at = NULL, records = NULL, ${ENDS}`,
  retry:
    "way = NULL, sent_at = NULL, records = NULL, done_at = NULL, error = NULL, run_id = NULL, attempt = attempt + 1",
};

/** The statement that makes a step at the hosts of `$plan`, as far as they are in a state for it. @param which a condition more. */
export const stepSql = (name: StepName, which: string) => {
  const { from, to } = STEPS[name];
  return `UPDATE target SET state = '${to}', ${SETS[name] ?? ENDS} WHERE plan = $plan AND state IN (${listed(from)}) ${which}`;
};
