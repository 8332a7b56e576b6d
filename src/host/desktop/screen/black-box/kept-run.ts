/** For which runs something of the black box is kept. */
import * as v from "valibot";

/** A run that has failed, and what of the black box is kept for it. */
export const KEPT_RUN = v.object({
  run_id: v.string(),
  /** Where it came from, and which job, or plan and job, it was. */
  source_type: v.string(),
  source_id: v.string(),
  /** The span before its end, ISO 8601. */
  from: v.string(),
  to: v.string(),
});
export type KeptRun = Readonly<v.InferOutput<typeof KEPT_RUN>>;
