/**
 * The flow of a script: loops, retries, alternatives and clean-up around lists of actions.
 *
 * Promise: a run that was cancelled, or is out of time, leaves each of these at once; only the `finally` of
 * {@link attempt} still runs, and is given little time.
 */

import type { NestedReport, Outcome, RunContext } from "../core/run";
import { sleep } from "../lib/deadline";
import { badInput, Failure } from "../lib/errors";

/** The most that a pause between attempts grows to, in seconds. */
const MAX_BACKOFF_S = 60;

/** What ran inside, and how much of that is missing because the run had collected too much. */
interface Inside {
  readonly outcomes: Outcome[];
  readonly omitted: number;
}

/**
 * Runs `body` up to `times` times: `AC_break` ends that, `AC_continue` ends one turn of it.
 *
 * @returns `iterations`, how often the body was begun.
 * @throws a failure when an action of the body fails: the loop is over then.
 */
export async function loop(run: RunContext, times: number): Promise<Inside & { iterations: number }> {
  const inside: { outcomes: Outcome[]; omitted: number } = { outcomes: [], omitted: 0 };
  for (let iterations = 1; iterations <= times; iterations++) {
    const report = await run.list("body");
    inside.outcomes.push(...report.outcomes);
    inside.omitted += report.omitted;
    if (!report.ok)
      throw failed(report, `iteration ${iterations}: ${report.error}`, { iterations, ...inside });
    if (run.arrive() === "break") return { iterations, ...inside };
  }
  return { iterations: times, ...inside };
}

/**
 * Runs `body` until no action of it fails, `maxAttempts` times at most, with pauses of `backoff`, 2 × `backoff`,
 * 4 × `backoff` … seconds, {@link MAX_BACKOFF_S} at most.
 *
 * @returns the outcomes of the attempt that was good.
 * @throws a failure when none was.
 */
export async function retry(
  run: RunContext,
  { maxAttempts, backoff }: { readonly maxAttempts: number; readonly backoff: number },
  signal: AbortSignal,
): Promise<Inside & { attempts: number }> {
  for (let attempts = 1; ; attempts++) {
    const report = await run.list("body");
    const inside = { attempts, outcomes: report.outcomes, omitted: report.omitted };
    if (report.ok) return inside;
    if (attempts === maxAttempts) throw failed(report, `attempt ${attempts}: ${report.error}`, inside);
    if (report.cancelled) throw failed(report, "", inside);
    const pause = Math.min(backoff * 2 ** (attempts - 1), Math.max(backoff, MAX_BACKOFF_S));
    await sleep(pause * 1_000, signal);
  }
}

/**
 * Runs `body`; when an action of it fails, `catch`; in any case, `finally`.
 *
 * @param options.errorVar the variable that is set to what went wrong, before `catch` runs.
 * @param options.reraise fail after `catch`, with what went wrong in `body`.
 * @returns `error`, what went wrong in `body`, or null.
 * @throws a failure when `catch` or `finally` fail, or to raise again.
 */
export async function attempt(
  run: RunContext,
  { errorVar, reraise }: { readonly errorVar: string | undefined; readonly reraise: boolean },
): Promise<Inside & { error: string | null }> {
  const body = await run.list("body");
  const reports = [body];
  if (body.error !== null && !body.cancelled) {
    if (errorVar !== undefined) run.blame(errorVar, body.error);
    reports.push(await run.list("catch"));
  }
  // The clean-up runs in full also after AC_break or AC_continue, which then goes on its way: unless this action fails, or
  // the clean-up went another.
  const before = run.arrive();
  reports.push(await run.list("finally", { shielded: true }));
  const left = run.arrive() ?? before;

  const inside = {
    error: body.error,
    outcomes: reports.flatMap(({ outcomes }) => outcomes),
    omitted: reports.reduce((sum, { omitted }) => sum + omitted, 0),
  };
  const bad = reports.find((report) => !report.ok && (report !== body || reraise || body.cancelled));
  if (bad) throw failed(bad, bad.error ?? "", inside);
  if (left) run.leave(left);
  return inside;
}

/** A list inside failed or was cut off: what the action around it fails with. */
function failed({ cancelled: gone, error }: NestedReport, message: string, more: Record<string, unknown>) {
  return gone ? new Failure("cancelled", error ?? "cancelled", more) : new Failure("rejected", message, more);
}

/** Runs the list of one branch. @throws a failure when an action of it fails. */
export async function branch(run: RunContext, field: "then" | "else"): Promise<Inside> {
  const report = await run.list(field);
  const inside = { outcomes: report.outcomes, omitted: report.omitted };
  if (!report.ok) throw failed(report, report.error ?? "", inside);
  return inside;
}

/** The run around an action. @throws a `bad_input` failure when there is none. */
export function runAround(run: RunContext | undefined): RunContext {
  if (run) return run;
  throw badInput("expected as an action of a script");
}

/** The variable `name`. @throws a `bad_input` failure when it has not been set. */
export function variable(run: RunContext, name: string): unknown {
  if (run.variables.has(name)) return run.variables.get(name);
  throw badInput(`unknown variable: ${name}`);
}
