/**
 * What a desk asks a host about its state, and what the host answers: how it differs from what a file says, and what was changed.
 */
import * as v from "valibot";
import { field, SHA256, secret } from "../../core/fields";
import { endpoint } from "../../core/operation";
import { NAME_TEXT } from "../../core/rights";
import { MAX_STATE_TEXT } from "./wanted";

/** What a file can say of a host. */
const KINDS = ["script", "job", "setting", "secret", "black_box", "version", "state"] as const;

/** The longest name in a difference, and the longest text of what is there, in characters; a host shortens a longer one. */
const MAX_NAME = 200;
export const MAX_TEXT = 2_000;

/** The most differences of a host: more than a file has lines, with all that is there besides. */
const MAX_DIFFERENCES = 5_000;

const FOUND = v.nullable(v.pipe(v.string(), v.maxLength(MAX_TEXT)));

/** One thing in which a host differs. */
export const DIFFERENCE = v.object({
  /** `state`: that what was applied last is another state, or none. */
  kind: v.picklist(KINDS),
  name: v.pipe(v.string(), v.maxLength(MAX_NAME)),
  /** `besides`: the file has none of it. `taken`: another file manages it. `unknown`: the token may not know. */
  state: v.picklist(["missing", "differs", "besides", "taken", "unknown"]),
  /** What makes it right: `apply`, `apply` with `prune`, a person; `nothing` where it is no drift. */
  by: v.picklist(["apply", "prune", "hand", "nothing"]),
  drift: v.boolean(),
  /** What is there, and what should be: digests, values, versions; of a job, the fields that differ; of what is `taken` or `besides`, the state that manages it. Never a content. */
  found: FOUND,
  wanted: FOUND,
});

export type Difference = v.InferOutput<typeof DIFFERENCE>;

/** How a host differs from what a file says. */
export const STATE_COMPARISON = v.object({
  name: v.pipe(v.string(), v.maxLength(MAX_NAME)),
  drift: v.boolean(),
  differences: v.pipe(v.array(DIFFERENCE), v.maxLength(MAX_DIFFERENCES)),
  /** The SHA-256 of the state of that name which was applied last, and when, ISO 8601; null for none. */
  applied: v.nullable(
    v.object({ sha256: v.pipe(v.string(), v.maxLength(64)), at: v.pipe(v.string(), v.maxLength(64)) }),
  ),
  /** How many differences there are, where not all are listed. */
  count: v.exactOptional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(MAX_DIFFERENCES))),
});

export type StateComparison = v.InferOutput<typeof STATE_COMPARISON>;

const STATE_CHANGE = v.object({
  kind: v.picklist(["script", "job", "setting", "black_box"]),
  name: v.string(),
  change: v.picklist(["added", "changed", "removed"]),
  found: v.nullable(v.string()),
  wanted: v.nullable(v.string()),
});

export type StateChange = v.InferOutput<typeof STATE_CHANGE>;

/** What applying a state did. `left`: what it could not make right. */
export const APPLY_RESULT = v.object({ changed: v.array(STATE_CHANGE), left: v.array(DIFFERENCE) });

export type ApplyResult = v.InferOutput<typeof APPLY_RESULT>;

/** The command of the job of a plan that applies a state. */
export const APPLY_STATE = "AC_state_apply";

const STATE_TEXT = v.pipe(v.string(), v.maxLength(MAX_STATE_TEXT));

/** The fields of {@link APPLY_STATE}. */
export const APPLY_INPUT = v.strictObject({
  name: field(NAME_TEXT, "The name of the state, which marks what it manages"),
  sha256: field(SHA256, "SHA-256 of the state"),
  items: field(
    v.pipe(v.array(v.pipe(v.string(), v.maxLength(300))), v.maxLength(3_000)),
    "What is in it, for people",
  ),
  state: field(secret(STATE_TEXT), "What the host should have: JSON in base64"),
});

/** Asks a host how it differs from a state that is sent. */
export const COMPARE = endpoint({
  name: "state.compare",
  http: { method: "POST", path: "/state/compare", repeatable: true },
  input: v.strictObject({
    state: field(secret(STATE_TEXT), "What the host should have: JSON in base64"),
  }),
  output: STATE_COMPARISON,
});

/** Asks a host how it differs from the state of a name that was applied to it last. The answer has what is drift alone, and the first of it. */
export const DRIFT = endpoint({
  name: "state.drift",
  http: { method: "GET", path: "/state/drift" },
  input: v.strictObject({
    name: field(NAME_TEXT, "The name of the state"),
    sha256: field(SHA256, "SHA-256 of the state that should have been applied last"),
  }),
  output: STATE_COMPARISON,
});
