/**
 * Running checks side by side.
 *
 * The promise: a report comes, with a result for each check, in the time of the slowest deadline, whatever a check does
 * short of blocking the event loop. A check runs once at a time: reports that ask for it meanwhile share its result, and
 * it is cut off when none of them is waited for any longer. Those who ask for the same report in the same second share that.
 */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import type { Publish } from "../../core/events";
import { deadline } from "../../lib/deadline";
import { failureOf, messageOf, systemCode, timedOut } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import { createSharing } from "../../lib/share";
import { adviceFor, type Check, DEADLINE_MS, FINDING, type Finding, failed } from "./check";
import { diagnosisChanged } from "./events";

const CHECK_RESULT = v.object({
  name: v.string(),
  ...FINDING.entries,
  /** Milliseconds, to the microsecond; null from hosts that do not measure it. */
  duration_ms: v.nullable(v.number()),
});

/** The answer to `diagnostics.run`; the field names are those of the wire. */
export const REPORT = v.object({
  /** Whether no check found `ok: false`. */
  ok: v.boolean(),
  checks: v.array(CHECK_RESULT),
  count: v.number(),
  failed: v.number(),
});

export type CheckResult = v.InferOutput<typeof CHECK_RESULT>;
type Report = v.InferOutput<typeof REPORT>;

/** The checks of `svc diagnose`. */
export interface Diagnostics {
  /** Runs the checks of these names, in the order of the list. @throws only when the caller has gone. */
  run(names: readonly string[], caller: Caller): Promise<Report>;
  /** What each check that has run in this process found last. */
  last(): ReadonlyMap<string, Pick<CheckResult, "ok" | "severity">>;
}

/** Diagnostics of one service, of which each check gets a slice. */
export function createDiagnostics<S extends { readonly log: Log }>(
  service: S,
  checks: ReadonlyArray<Check<NoInfer<S>>>,
  publish: Publish = () => {},
): Diagnostics {
  const shared = createSharing<CheckResult>();
  /** What each check found last. */
  const found = new Map<string, Pick<CheckResult, "ok" | "severity">>();

  /** Publishes a result that differs from the one before; the first result, where it is a problem. */
  const publishChange = (result: CheckResult) => {
    const { name, ok, severity, detail, extra } = result;
    const before = found.get(name) ?? { ok: true, severity: "info" };
    found.set(name, { ok, severity });
    if (ok !== before.ok || severity !== before.severity)
      publish(diagnosisChanged, {
        name,
        ok,
        severity,
        detail,
        ...(typeof extra.screen === "string" && { screen: extra.screen }),
      });
  };

  const runCheck = async (check: Check<S>, caller: Caller): Promise<CheckResult> => {
    const { name, advice, deadlineMs: ms = DEADLINE_MS } = check;
    const started = performance.now();
    const over = new AbortController();
    const late = () => {
      over.abort();
      throw timedOut(`no answer within ${ms / 1_000} s`);
    };
    const thrownIn = (thrown: unknown): Finding => {
      const failure = failureOf(thrown);
      if (failure || systemCode(thrown)) {
        const reason = messageOf(failure ?? thrown);
        return failed(reason, adviceFor(reason, advice));
      }
      service.log.error(`the check ${name} failed: ${messageOf(thrown)}`, thrown);
      return failed(`the check itself failed: ${messageOf(thrown)}`, ["report this, with the log of svc"]);
    };
    const signal = AbortSignal.any([caller.signal, over.signal]);
    const work = async () => check.run(service, { ...caller, signal });
    const finding = await deadline(work(), { ms, late }).catch(thrownIn);
    const duration_ms = Math.round((performance.now() - started) * 1_000) / 1_000;
    const result = { name, ...finding, detail: printable(finding.detail, 500), duration_ms };
    // One that was cut off has found nothing.
    if (!caller.signal.aborted) publishChange(result);
    return result;
  };

  const runShared = (check: Check<S>, caller: Caller) =>
    shared(check.name, (signal) => runCheck(check, { ...caller, signal }), caller.signal);

  const reports = createSharing<Report>();
  const report = async (chosen: ReadonlyArray<Check<S>>, caller: Caller): Promise<Report> => {
    const results = await Promise.all(chosen.map((check) => runShared(check, caller)));
    const bad = results.filter(({ ok }) => !ok).length;
    return { ok: bad === 0, checks: results, count: results.length, failed: bad };
  };
  return {
    last: () => found,
    run(names, caller) {
      const chosen = checks.filter(({ name }) => names.includes(name));
      // Nobody gets what is older, however long a check hangs.
      const second = Math.floor(performance.now() / 1_000);
      const key = [second, ...chosen.map(({ name }) => name)].join();
      return reports(key, (signal) => report(chosen, { ...caller, signal }), caller.signal);
    },
  };
}
