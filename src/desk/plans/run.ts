/**
 * A plan that this process runs: its hosts that have not ended, in memory. Fifty thousand take some 15 MiB.
 */

import type { Job, Way } from "../../wire/job/job";
import type { Broadcast } from "./broadcast";
import type { Counts } from "./ledger/counts";
import type { Ledger } from "./ledger/ledger";
import type { OpenTarget, Plan, PlanChange } from "./ledger/records";
import { FAILURES, jobId, OPEN_STATES, type Phase, type TargetState } from "./plan";

/** A host of a plan that has not ended. */
export interface Entry {
  readonly run: Run;
  readonly n: number;
  readonly label: string;
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

/** After so many hosts that have begun, the list of those that are ready is cut. */
const BEGUN = 1_000;

export type Run = ReturnType<typeof createRun>;

/** @param broadcast who waits for it, where it ends with this process. @param content what each host runs. @param failures which hosts have failed so far. */
export function createRun(
  plan: Plan,
  content: string,
  failures: Iterable<number>,
  release: () => void,
  broadcast?: Broadcast,
) {
  const failed = new Set(failures);
  let ready: Entry[] = [];
  let next = 0;
  let changed: Array<{ label: string; state: TargetState }> = [];
  const mayBeReady = ({ state, phase, wave }: Entry) =>
    state === "planned" && phase !== "asking" && wave <= run.plan.wave;
  const makeReady = () => {
    ready = [...run.entries.values()].filter(mayBeReady);
    next = 0;
    for (const entry of ready) entry.phase = "ready";
    run.hadWork = ready.length > 0;
  };
  let pause: { readonly at: number; readonly due: number } | undefined;
  /** Hosts that have a job, or may have one: while its answer is lost, it may run. */
  const working = new Set<Entry>();
  const noteWork = (entry: Entry) => {
    const isOpen = run.entries.get(entry.n) === entry && entry.way !== null && !run.overdue.has(entry);
    if (entry.phase === "asking" || isOpen) working.add(entry);
    else working.delete(entry);
  };
  const run = {
    plan,
    content,
    broadcast,
    /** The first of the hosts of the first wave that are not ok. */
    bad: undefined as Entry | undefined,
    /** Why this process begins nothing more of it. */
    stopped: undefined as string | undefined,
    entries: new Map<number, Entry>(),
    /** How many hosts are asked something now. */
    busy: 0,
    /** When a host began last, as `performance.now()` has it. */
    began: 0,
    /** How many steps of its hosts are not on disk yet. */
    writing: 0,
    /** Whether its wave had hosts that had not ended. */
    hadWork: true,
    over: Promise.withResolvers<void>(),
    release,
    /** Hosts whose answer was lost and whose time is over: they delay no wave, and count as failed, but for what whoever resumed the plan had seen. */
    overdue: new Map<Entry, "counted" | "forgiven">(),
    failures: (): number => failed.size + run.overdue.size,
    hasTooManyFailed: (): boolean => run.failures() > run.plan.forgiven + run.plan.spec.max_failures,
    hasRoom: (): boolean => working.size < (run.plan.spec.max_parallel ?? Number.POSITIVE_INFINITY),
    /** A request to the host begins. */
    begin(entry: Entry): void {
      entry.phase = "asking";
      run.busy++;
      run.began = performance.now();
      noteWork(entry);
    },
    /** A request to the host is over. */
    rest(entry: Entry): void {
      entry.phase = "resting";
      run.busy--;
      noteWork(entry);
    },
    /** The next host of the waves that have begun, whose turn has not come. */
    nextReady(): Entry | undefined {
      for (let entry = ready[next]; entry; entry = ready[next]) {
        next++;
        // Those that have begun are kept no longer: in the end, they would be all hosts of the plan.
        if (next === Math.min(ready.length, BEGUN)) {
          ready.splice(0, next);
          next = 0;
        }
        if (entry.phase !== "ready") continue;
        entry.phase = "resting";
        if (mayBeReady(entry) && run.entries.has(entry.n)) return entry;
      }
      return undefined;
    },
    /** The jobs before it at its host have ended. */
    again(entry: Entry): void {
      if (entry.phase === "ready" || !mayBeReady(entry)) return;
      entry.phase = "ready";
      ready.push(entry);
    },
    /** How many hosts are in each state, as far as this process knows. */
    counts: {} as Partial<Record<TargetState, number>>,
    /** Takes note that the state of a host has changed. */
    note({ n, label, state }: Entry, before: TargetState): void {
      run.counts[before] = (run.counts[before] ?? 1) - 1;
      run.counts[state] = (run.counts[state] ?? 0) + 1;
      if (run.counts[before] === 0) delete run.counts[before];
      if ((FAILURES as readonly TargetState[]).includes(state)) failed.add(n);
      if (state !== "sent" && state !== "running" && state !== "planned") changed.push({ label, state });
    },
    /** Takes note of a host that is not ok. */
    noteBad(entry: Entry): void {
      if (entry.wave === 0 && entry.n < (run.bad?.n ?? Number.POSITIVE_INFINITY)) run.bad = entry;
    },
    /** @returns false for one that is not there any more. */
    remove(entry: Entry): boolean {
      run.overdue.delete(entry);
      working.delete(entry);
      return run.entries.get(entry.n) === entry && run.entries.delete(entry.n);
    },
    /** Which hosts have ended, or wait, since it was asked the last time. */
    news() {
      const found = changed;
      changed = [];
      return found;
    },
    /** Whether every reachable host of the waves so far has ended, and another wave is to come. */
    isWaveOver(): boolean {
      if (run.plan.wave >= run.plan.spec.waves.length - 1) return false;
      for (const entry of run.entries.values())
        if (entry.wave <= run.plan.wave && entry.state !== "waiting" && !run.overdue.has(entry)) return false;
      return true;
    },
    /**
     * What is left of the pause before the next wave, in milliseconds. The ledger has its end as a time, which this process reads once:
     * whatever the clock is set to, before or after, the pause takes no longer than the plan says.
     */
    pauseLeft(): number {
      const { wave_at: at, spec } = run.plan;
      if (at === null) return 0;
      const now = performance.now();
      if (pause?.at !== at)
        pause = { at, due: now + Math.min(Math.max(0, at - Date.now()), spec.pause_s * 1_000) };
      return Math.max(0, pause.due - now);
    },
    /** @returns false where somebody has decided something about the plan meanwhile, which the next look reads. */
    change(ledger: Ledger, changes: PlanChange): boolean {
      const { seq, revision } = run.plan;
      if (!ledger.update(seq, revision, changes)) return false;
      run.plan = { ...run.plan, ...changes };
      if (changes.wave !== undefined) makeReady();
      return true;
    },
    /** Takes the hosts that have not ended as the ledger has them. @returns attempts that have ended, and hosts that may run one. */
    load(open: Iterable<OpenTarget>, counts: Counts) {
      run.counts = { ...counts };
      const gone = new Set(run.entries.values());
      for (const target of open) {
        failed.delete(target.n);
        const known = run.entries.get(target.n);
        if (known?.attempt === target.attempt) gone.delete(known);
        else run.entries.set(target.n, entryOf(run, target));
      }
      makeReady();
      const sent = [...run.entries.values()].filter(({ way }) => way !== null);
      for (const entry of sent) noteWork(entry);
      return { gone: [...gone], sent };
    },
  };
  return run;
}

/** Field by field: a copy of a row would take twice the memory. */
const entryOf = (
  run: Run,
  { n, label, identity, wave, attempt, state, way, records, sent_at }: OpenTarget,
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

/** The job of a host. */
export const jobOf = ({ run: { plan, content }, n, attempt }: Entry): Job => ({
  id: jobId(plan.id, n, attempt),
  plan: plan.id,
  content,
  digest: plan.content_digest,
  not_before: new Date(plan.applied ?? plan.created).toISOString(),
  expires: new Date(plan.expires ?? plan.created).toISOString(),
  delivery_timeout_s: plan.spec.delivery_timeout_s,
  timeout_s: plan.spec.timeout_s,
});
