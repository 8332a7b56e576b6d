/**
 * A host of a plan in memory, as the ledger has it.
 */
import type { OpenTarget } from "./ledger/rows";
import { OPEN_STATES, type PlannedHost, type TargetState } from "./plan";
import type { Entry, Run } from "./run";

/**
 * Field by field: a copy of a row would take twice the memory.
 *
 * @param texts the host with the texts that are in memory already: each row has its own.
 */
export const entryOf = (
  run: Run,
  { n, wave, attempt, state, way, records, sent_at }: OpenTarget,
  { label, identity }: PlannedHost,
): Entry => ({
  run,
  n,
  label,
  identity,
  wave,
  attempt,
  state: sameState(state),
  phase: "resting",
  way,
  records,
  since: performance.now() - (sent_at === null ? Number.POSITIVE_INFINITY : ageOf(sent_at)),
  due: 0,
  tries: 0,
  why: undefined,
  cancel: undefined,
});

/** How old a time of the ledger is, in milliseconds; 0 for one to come: the clock was set back since. */
const ageOf = (time: number) => Math.max(0, Date.now() - time);

/** The one text for that state: each row has its own. */
const sameState = (state: TargetState): TargetState => OPEN_STATES.find((one) => one === state) ?? state;
