/**
 * What a trace is: a ZIP archive with `run.json`, `steps.json` and the pictures that the steps name.
 */
import * as v from "valibot";
import { MEND } from "../../core/mend";
import { RUN_STATUS } from "../../core/run";

/** The files in the archive that are no pictures. */
export const RUN_FILE = "run.json";
export const STEPS_FILE = "steps.json";

/** Where the pictures of an archive are. */
export const PICTURES = "pictures/";

/** The most of one trace. */
export const LIMITS = {
  steps: 2_000,
  stepBytes: 8 * 1024 * 1024,
  pictures: 500,
  bytes: 48 * 1024 * 1024,
  treeBytes: 8 * 1024,
};

const COUNT = v.pipe(v.number(), v.integer(), v.minValue(0));

/** `run.json`: the run, and how much of it the archive has. */
export const TRACED_RUN = v.object({
  format: v.literal("svc-trace"),
  version: v.literal(1),
  run_id: v.string(),
  /** `rest`, `scheduler` or `manual`, and the client or the job, as in the history. */
  source_type: v.string(),
  source_id: v.string(),
  /** In whose share of what is kept it counts (`lib/quota.ts`); absent for the owner of the host. Not shown. */
  share: v.exactOptional(v.string()),
  /** Empty when the list came without a file. */
  script_path: v.string(),
  /** The commands of its actions, each once. */
  commands: v.array(v.string()),
  status: v.picklist(RUN_STATUS),
  error_text: v.nullable(v.string()),
  started_at: v.string(),
  finished_at: v.string(),
  steps: COUNT,
  pictures: COUNT,
  /** How many of the earliest steps and pictures were left out: a trace is bounded. */
  omitted_steps: COUNT,
  omitted_pictures: COUNT,
});

export type TracedRun = v.InferOutput<typeof TRACED_RUN>;

/** A picture in the archive; null where none was taken. */
const PICTURE = v.nullable(v.string());

/** One action, or one turn of an action inside a loop, in the order of their beginnings. */
export const STEP = v.object({
  /** From 1. */
  number: COUNT,
  /** Where the action is in the list: `[2].body[0]`. */
  place: v.string(),
  command: v.string(),
  /** The label of the host that ran it; absent for the one whose run it is. */
  host: v.exactOptional(v.string()),
  /** As they were written, without lists inside and without secrets. */
  arguments: v.unknown(),
  /** Milliseconds from the start of the run to the start of the action, and from there to its end. */
  at_ms: v.number(),
  duration_ms: v.nullable(v.number()),
  /** Null for one that had not ended. */
  ok: v.nullable(v.boolean()),
  result: v.exactOptional(v.unknown()),
  error: v.exactOptional(v.string()),
  /** Of one that found no such element: what is there instead. */
  mend: v.exactOptional(MEND),
  before: PICTURE,
  after: PICTURE,
  /** The element that it used, in words: role, name and window. */
  element: v.exactOptional(v.string()),
  /** What programs showed by name after it, in lines: from the first step of the run that found something by name. */
  tree: v.exactOptional(v.array(v.string())),
  /** Why there is no picture, where one was wanted. */
  no_picture: v.exactOptional(v.string()),
});

export type Step = v.InferOutput<typeof STEP>;
