/** What a verification of the tree finds, and how far the log is witnessed: as answers, events and processes have it. */
import * as v from "valibot";
import { LISTED_ROW } from "../row";

export const WITNESSED = v.object({
  /** The number of leaves of the newest checkpoint that is cosigned. */
  size: v.number(),
  /** The id of the row of the last of them; null for an empty log. */
  row_id: v.nullable(v.number()),
  by: v.array(v.object({ name: v.string(), time: v.string() })),
  /** When the first checkpoint that is cosigned was: what came before is not witnessed. */
  since: v.string(),
});

export type WitnessedRows = v.InferOutput<typeof WITNESSED>;

/** The newest row that says that the desk accepted a break of the log. */
export const RESTORE = v.object({
  id: v.number(),
  ts: v.string(),
  /** How many leaves the desk had cosigned, how many the log had, and why that was accepted; null where the row cannot be read. */
  former_size: v.nullable(v.number()),
  size: v.nullable(v.number()),
  reason: v.nullable(v.string()),
  /** Whether the desk that this host has joined is the one that signed it. */
  by_own_desk: v.boolean(),
  /** What is wrong with it; null when nothing is. */
  fault: v.nullable(v.string()),
});

export type Restore = v.InferOutput<typeof RESTORE>;

/** What a verification of the tree found. */
export const TREE_SCAN = v.object({
  /** What is wrong, and the row at fault where one can be named; null when nothing is. */
  fault: v.nullable(v.object({ id: v.nullable(v.number()), reason: v.string() })),
  witnessed: v.nullable(WITNESSED),
});

export type TreeScan = v.InferOutput<typeof TREE_SCAN>;

/** A row that is not as it was written, or the first of some that are gone; the id is null where no row can be named. */
export const ALTERED_ROW = v.object({ id: v.nullable(v.number()), reason: v.string() });

export type AlteredRow = v.InferOutput<typeof ALTERED_ROW>;

/** What a server has found that verifies its own log in turn. */
export const PATROL_REPORT = v.object({
  /** When the last pass over all rows was over, ISO 8601; null before the first one. */
  verified_at: v.nullable(v.string()),
  /** At most 16. */
  altered: v.array(ALTERED_ROW),
});

export type PatrolReport = v.InferOutput<typeof PATROL_REPORT>;

/** What a proof was found to show. */
export const PROOF_RESULT = v.object({
  ok: v.boolean(),
  /** Why it proves nothing, in words; null when it does. */
  reason: v.nullable(v.string()),
  origin: v.string(),
  size: v.number(),
  index: v.number(),
  /** Null where the file has none. */
  row: v.nullable(LISTED_ROW),
  /** The witnesses that were asked for and have cosigned the checkpoint. */
  witnesses: v.array(v.object({ name: v.string(), time: v.string() })),
});

export type ProofResult = v.InferOutput<typeof PROOF_RESULT>;
