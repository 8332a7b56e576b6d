/**
 * Running checks side by side.
 *
 * The promise: a report comes, with a result for each check, in the time of the slowest deadline, whatever a check does
 * short of holding the event loop. A check runs once at a time: reports that ask for it meanwhile share its result.
 */
import { deadline } from "../lib/deadline";
import { failureOf, messageOf, systemCode } from "../lib/errors";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import { type Check, type Finding, failed } from "./check";

/** A finding, by its check's name; the field names are those of the wire. */
export interface CheckResult extends Finding {
  readonly name: string;
  /** Milliseconds, to the microsecond. */
  readonly duration_ms: number;
}

export interface Report {
  /** Whether no check found `ok: false`. */
  readonly ok: boolean;
  readonly checks: readonly CheckResult[];
  readonly count: number;
  readonly failed: number;
}

export interface Runner {
  /** The results in the order of `checks`. Never throws. */
  run(checks: readonly Check[]): Promise<Report>;
}

const DEADLINE_MS = 5_000;

export function createRunner(log: Log): Runner {
  const running = new Map<string, Promise<CheckResult>>();

  const runShared = (check: Check) => {
    const already = running.get(check.name);
    if (already) return already;
    const result = runCheck(check, log).finally(() => running.delete(check.name));
    running.set(check.name, result);
    return result;
  };

  return {
    async run(checks) {
      const results = await Promise.all(checks.map(runShared));
      const bad = results.filter(({ ok }) => !ok).length;
      return { ok: bad === 0, checks: results, count: results.length, failed: bad };
    },
  };
}

async function runCheck(check: Check, log: Log): Promise<CheckResult> {
  const started = performance.now();
  const finding = await findingOf(check, log);
  return {
    name: check.name,
    ...finding,
    detail: printable(finding.detail, 500),
    duration_ms: Math.round((performance.now() - started) * 1_000) / 1_000,
  };
}

async function findingOf({ name, run, advice, deadlineMs = DEADLINE_MS }: Check, log: Log): Promise<Finding> {
  try {
    return await within(deadlineMs, async (signal) => run(signal));
  } catch (thrown) {
    const failure = failureOf(thrown);
    if (failure) return failed(failure.message, advice);
    if (systemCode(thrown)) return failed(messageOf(thrown), advice);
    log.error(`the check ${name} failed: ${messageOf(thrown)}`, thrown);
    return failed(`the check itself failed: ${messageOf(thrown)}`, ["report this, with the log of svc"]);
  }
}

/**
 * What `work` resolves to.
 *
 * @throws a `timeout` failure after `ms`, when `signal` is aborted, too; what `work` throws before.
 */
export async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  try {
    return await deadline(work(controller.signal), { ms });
  } finally {
    controller.abort();
  }
}
