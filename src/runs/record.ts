/**
 * A run as it is told, over HTTP and in the history.
 */
import * as v from "valibot";
import { RUN_STATUS } from "../outcome";

/** Times are ISO 8601. */
export const RUN_RECORD = v.object({
  run_id: v.string(),
  /** `rest`, `scheduler` or `manual`. */
  source_type: v.string(),
  /** The client's address or the job's id; empty for `manual`. */
  source_id: v.string(),
  /** Empty when the list came without a file. */
  script_path: v.string(),
  /** The commands of its actions, each once. */
  commands: v.array(v.string()),
  status: v.picklist(RUN_STATUS),
  started_at: v.string(),
  finished_at: v.nullable(v.string()),
  duration_seconds: v.nullable(v.number()),
  error_text: v.nullable(v.string()),
});

export type RunRecord = v.InferOutput<typeof RUN_RECORD>;
