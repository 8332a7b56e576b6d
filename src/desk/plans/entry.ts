/**
 * A host of a plan in memory, as the ledger has it.
 */
import type { Way } from "../../wire/job/job";
import type { OpenTarget } from "./ledger/rows";
import { OPEN_STATES, type Phase, type PlannedHost, type TargetState } from "./plan";
import type { Run } from "./run";

/** A host of a plan that has not ended. */
export interface Entry {
  readonly run: Run;
  readonly n: number;
  label: string;
  readonly identity: string;
  readonly wave: number;
  readonly attempt: number;
  state: TargetState;
  phase: Phase;
  way: Way | null;
  /** The id of the records that its host had when its job was sent; null where it did not say. */
  records: string | null;
  /** When its job was sent, and when to try or ask again, by `performance.now()`. */
  since: number;
  due: number;
  tries: number;
  /** Why its host was not reached the last time, as far as this process knows. */
  why: string | undefined;
  /** When its host is asked to end it, as `due`: never while it is asked so, and once it has answered. Undefined while its plan goes on. */
  cancel: { due: number; tries: number } | undefined;
}

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
