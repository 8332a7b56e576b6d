/**
 * Conducts blocks: branch beside branch, part after part, from barrier to barrier.
 *
 * Promises. Each part is one job, which is sent once: what became of it may be `unknown`, and then nothing of it is sent again. The first
 * failure ends what the other hosts run. Each wait has an end: whatever hosts do, {@link conduct} ends within the time limits and the
 * seconds that hosts have to answer how they ended. A failure names the host and the step. What a branch shares reaches another where they
 * meet, as it was when the branch came there; and no value of a variable is in a step or a failure.
 */
import { literal } from "../../core/written";
import { deadline } from "../../lib/deadline";
import { Failure, type FailureCode, MAX_MESSAGE, timedOut } from "../../lib/errors";
import { COMMAND, meetingOf } from "./blocks";
import { bringing, broughtBy, broughtNames, valuesAtStart } from "./carried";
import { endOf, failing, withOthers } from "./failures";
import { type BlockStep, codeOf, type HostJob, type HostResult, type PartCode, stepsOf, stopOf } from "./job";
import { createMeetings, type OpenMeetings } from "./open-meetings";
import type { PreparedBlock, PreparedBranches, PreparedPart } from "./prepare";

/** How much later than its host the desk ends a part that takes too long, in milliseconds: the host says by itself how it ended. */
const LATE_MS = 1_000;

/** The longest time to deliver a part, in seconds. */
const DELIVERY_S = 10;

/** The shortest time that a part gets, in seconds: less is no time. */
const LEAST_S = 0.05;

/** What a part is told as that was not sent for a fault of this kind; others: as `unreachable`. */
const UNSENT: Readonly<Partial<Record<FailureCode, Exclude<PartCode, "ok">>>> = {
  bad_input: "failed",
  too_large: "failed",
  rejected: "failed",
  conflict: "refused",
  forbidden: "refused",
  cancelled: "cancelled",
};

/** What blocks are conducted with. */
export interface ConductUses {
  /** Runs a job on its host, at most once. */
  run(job: HostJob): Promise<HostResult>;
  /** The actions as they may be shown. */
  shown(actions: readonly unknown[]): Promise<unknown[]>;
  /** A function that gives a text with `***` in the place of each of these values, and no more than the first `most` characters of it. */
  masker(values: unknown): (text: string, most: number) => string;
  /** Takes each step, once it is known how it ended. */
  step(step: BlockStep): void;
}

/** What a block has done. */
export interface BlockReport {
  readonly host: string;
  /** The ids of its runs at the host, one for each part with actions. */
  readonly runs: string[];
  readonly actions: number;
  readonly duration_ms: number;
}

interface Together {
  readonly uses: ConductUses;
  readonly meetings: OpenMeetings;
  /** The values that the script gives, by name. */
  readonly known: Readonly<Record<string, unknown>>;
  /** Those that each branch has shared, and those that it has of others since it met them, by name. */
  readonly shared: ReadonlyArray<Map<string, unknown>>;
  readonly met: ReadonlyArray<Map<string, unknown>>;
  readonly began: number;
  /** Aborted with the first failure, and with whoever waits. */
  readonly ending: AbortController;
  /** How many times a branch has come to the barriers of a name, by both. */
  readonly visits: Map<string, number>;
}

/** Where a block is: the label of its host, and when it has to have ended by `performance.now()`. */
interface Place {
  readonly branch: number;
  readonly block: PreparedBlock;
  readonly label: string;
  readonly ends: number;
  readonly report: BlockReport;
  /** The variables that its parts hand on to each other. */
  readonly own: Map<string, unknown>;
}

/**
 * Runs the branches side by side.
 *
 * @param timeout of all of them, in seconds.
 * @returns what each block has done, and the variables that they share.
 * @throws the first failure: `more` has its `code` ({@link PartCode}), `host` and `step`, and how far each branch came.
 */
export async function conduct(
  { branches, meetings }: PreparedBranches,
  known: Readonly<Record<string, unknown>>,
  timeout: number,
  uses: ConductUses,
  signal: AbortSignal,
): Promise<{ readonly blocks: BlockReport[]; readonly shared: Readonly<Record<string, unknown>> }> {
  const began = performance.now();
  const ending = new AbortController();
  const hostsOf = (branch: number) => [
    ...new Set((branches[branch] ?? []).map(({ target, host }) => target?.label ?? host)),
  ];
  const all: Together = {
    uses,
    known,
    began,
    ending,
    visits: new Map(),
    shared: branches.map(() => new Map()),
    met: branches.map(() => new Map()),
    meetings: createMeetings(meetings, (branch) => hostsOf(branch).join(", ")),
  };
  const end = began + timeout * 1_000;
  const leave = () => ending.abort(signal.reason);
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  const reports: BlockReport[][] = branches.map(() => []);
  const ends: Array<string | undefined> = branches.map(() => undefined);
  let first: { readonly error: unknown } | undefined;
  try {
    await Promise.all(
      branches.map(async (blocks, branch) => {
        try {
          for (const block of blocks) reports[branch]?.push(await runBlock(all, branch, block, end));
          ends[branch] = "ok";
        } catch (error) {
          ends[branch] = endOf(error);
          first ??= { error };
          ending.abort(error);
        }
      }),
    );
  } finally {
    signal.removeEventListener("abort", leave);
  }
  if (first === undefined)
    return { blocks: reports.flat(), shared: Object.fromEntries(all.shared.flatMap((those) => [...those])) };
  const hosts = branches.map((_, branch) => ({ host: hostsOf(branch).join(", "), end: ends[branch] }));
  throw withOthers(first.error, hosts);
}

async function runBlock(
  all: Together,
  branch: number,
  block: PreparedBlock,
  endOfAll: number,
): Promise<BlockReport> {
  const label = block.target?.label ?? block.host;
  const started = performance.now();
  const ends = Math.min(endOfAll, started + block.timeout * 1_000);
  const report: BlockReport = { host: label, runs: [], actions: 0, duration_ms: 0 };
  const place: Place = { branch, block, label, ends, report, own: new Map() };
  let actions = 0;
  for (const [nth, part] of block.parts.entries()) {
    if (part.actions.length > 0 || part.barrier) requireGoingOn(all, place, part);
    if (part.actions.length > 0) await runPart(all, place, part, nth);
    actions += part.actions.length;
    share(all, place, part);
    if (part.barrier) await meet(all, place, part);
  }
  const duration_ms = Math.round(performance.now() - started);
  return { ...report, actions, duration_ms };
}

/** @throws why nothing more of the block begins. */
function requireGoingOn(all: Together, place: Place, part: PreparedPart): void {
  const step = `${place.block.place}.body[${part.from}]`;
  if (all.ending.signal.aborted) throw failing(place, step, "cancelled", "not begun: cancelled");
  if (remainingS(place) < LEAST_S) throw failing(place, step, "timeout", limitText(place));
}

const remainingS = ({ ends }: Place) => (ends - performance.now()) / 1_000;

const limitText = ({ block }: Place) => `not begun within its time limit (${block.timeout} s at most)`;

async function runPart(all: Together, place: Place, part: PreparedPart, nth: number): Promise<void> {
  const { block, label, own, report } = place;
  const where = `${block.place}.body`;
  const { target } = block;
  if (!target) throw failing(place, where, "refused", "its host is not known");
  const brings = broughtNames(block, nth);
  const variables = valuesAtStart(
    { ...all.known, ...sharedWith(all, place) },
    block,
    Object.fromEntries(own),
    part,
  );
  const at = performance.now();
  const left = remainingS(place);
  // Once for all that the host says: there may be thousands of values, and of texts.
  const mask = all.uses.masker({ ...variables, ...Object.fromEntries(own) });
  const masked = (text: string) => mask(text, MAX_MESSAGE);
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(timedOut("its time is over")), left * 1_000 + LATE_MS);
  const found = await all.uses
    .run({
      target,
      variables,
      commands: part.commands,
      secrets: part.secrets,
      actions: [...part.actions, ...brings.map(bringing)],
      delivery_timeout_s: Math.min(DELIVERY_S, left),
      timeout_s: left,
      signal: AbortSignal.any([all.ending.signal, limit.signal]),
    })
    .catch((error) => {
      const step = stopOf([], part.actions, where, part.from);
      // Nobody knows how far it came.
      if (!(error instanceof Failure))
        throw Object.assign(failing(place, step, "unknown", "internal error"), { cause: error });
      // Why nothing was sent.
      const why = masked(error.message);
      throw failing(place, step, UNSENT[error.code] ?? "unreachable", why);
    })
    .finally(() => clearTimeout(timer));
  const { outcomes = [] } = found.result;
  const code = limit.signal.aborted && codeOf(found) === "cancelled" ? "timeout" : codeOf(found);
  const ownOutcomes = outcomes.slice(0, part.actions.length);
  if (found.result.run_id !== undefined) report.runs.push(found.result.run_id);
  const took_ms = performance.now() - at;
  const shown = await all.uses.shown(part.actions).catch(() => part.actions.map(() => ["?"]));
  for (const step of stepsOf({
    host: label,
    place: where,
    from: part.from,
    shown,
    code,
    took_ms,
    at_ms: at - all.began,
    outcomes: ownOutcomes,
  }))
    all.uses.step(step.error === undefined ? step : { ...step, error: masked(step.error) });
  if (code !== "ok")
    throw failing(
      place,
      stopOf(ownOutcomes, part.actions, where, part.from),
      code,
      found.result.error === undefined ? code : masked(found.result.error),
      found.result.run_id,
    );
  for (const [index, name] of brings.entries()) {
    const value = broughtBy(outcomes[part.actions.length + index]);
    if (value === undefined) continue;
    // Else each host that is to have it fails.
    if (value !== null && literal(value) === undefined)
      throw failing(place, where, "failed", `${name}: expected a value without \${= that has no }`);
    own.set(name, value);
  }
  const isLost = brings.length > 0 && outcomes.length < part.actions.length + brings.length;
  if (isLost)
    throw failing(
      place,
      stopOf([], part.actions, where, part.from),
      "unknown",
      "it has run, and its host no longer has the variables that it set",
      found.result.run_id,
    );
}

/** What blocks have shared that a block may have: those of its branch, and others as they were when it met them. */
const sharedWith = ({ shared, met }: Together, { branch }: Place) =>
  Object.fromEntries([...(met[branch] ?? []), ...(shared[branch] ?? [])]);

/** Hands what a block shares to the others. @throws at its end where it has not set that. */
function share(all: Together, place: Place, part: PreparedPart): void {
  const { block, own } = place;
  for (const name of block.share) if (own.has(name)) all.shared[place.branch]?.set(name, own.get(name));
  const missing = part.barrier ? undefined : block.share.find((name) => !own.has(name));
  if (missing === undefined) return;
  throw failing(place, `${block.place}.body`, "failed", `share: ${missing} was not set, or to null`);
}

async function meet(all: Together, place: Place, { barrier, actions, from }: PreparedPart): Promise<void> {
  if (!barrier) return;
  const { branch, block, label } = place;
  const visit = `${branch} ${barrier.name}`;
  const nth = all.visits.get(visit) ?? 0;
  all.visits.set(visit, nth + 1);
  const key = meetingOf(barrier.name, nth);
  const at = performance.now();
  const where = `${block.place}.body[${from + actions.length}]`;
  const ms = Math.max(0, Math.min(barrier.timeout * 1_000, place.ends - at));
  const step = (more: Pick<BlockStep, "ok" | "error">) =>
    all.uses.step({
      host: label,
      place: where,
      command: COMMAND.barrier,
      arguments: { name: barrier.name },
      at_ms: at - all.began,
      duration_ms: Math.round((performance.now() - at) * 1_000) / 1_000,
      ...more,
    });
  const shared = new Map(all.shared[branch]);
  const met = await deadline<ReadonlyMap<string, unknown>, "late" | "ended">(
    all.meetings.come(key, branch, shared),
    { ms, late: () => "late", signal: all.ending.signal, aborted: () => "ended" },
  );
  if (typeof met !== "string") {
    for (const [name, value] of met) if (!shared.has(name)) all.met[branch]?.set(name, value);
    return step({ ok: true });
  }
  const missing = all.meetings.missing(key);
  const why =
    met === "ended"
      ? `cancelled at the barrier ${key}`
      : `the barrier ${key}: ${missing} did not come within ${Math.round(ms) / 1_000} s`;
  step({ ok: false, error: why });
  throw failing(place, `${where} (${COMMAND.barrier})`, met === "ended" ? "cancelled" : "timeout", why);
}
