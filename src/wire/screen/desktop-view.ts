/** How a desktop on demand is listed. */
import * as v from "valibot";

/** A desktop that runs, as it is listed. */
export const DESKTOP_VIEW = v.object({
  name: v.string(),
  /** `kept` until somebody stops it; `run` ends with its run. */
  kind: v.picklist(["kept", "run"]),
  /** The run or session that it belongs to; null for one that is kept. */
  run_id: v.nullable(v.string()),
  size: v.string(),
  scale: v.number(),
  /** Null for that of svc. */
  locale: v.nullable(v.string()),
  /** The X display, such as `:7`. */
  display: v.string(),
  /** Whether programs on it can be found by name: there is a session bus. */
  by_name: v.boolean(),
  started_at: v.string(),
  /** The token that started it; null for the owner of the host. */
  token: v.nullable(v.string()),
  /** How often it was started again. */
  restarts: v.number(),
  /** Who uses its pointer and keyboard now, in words; null for nobody. */
  user: v.nullable(v.string()),
  /** What its programs use, and may use, of memory; null where nothing bounds it. Hosts with an earlier svc say nothing of it. */
  memory: v.optional(
    v.nullable(
      v.object({
        limit_bytes: v.number(),
        used_bytes: v.number(),
        /** How many programs the kernel has ended, since there was no more. */
        kills: v.number(),
      }),
    ),
  ),
  /** What its folders hold, and may hold; null where nothing bounds it. Hosts with an earlier svc say nothing of it. */
  disk: v.optional(
    v.nullable(
      v.object({
        limit_bytes: v.number(),
        /** As of the last look, which is some seconds ago. */
        used_bytes: v.number(),
      }),
    ),
  ),
});

export type DesktopView = v.InferOutput<typeof DESKTOP_VIEW>;
