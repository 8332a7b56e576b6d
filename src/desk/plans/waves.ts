/**
 * How a plan goes on as its hosts end: to the next wave, to a pause after too many failures, to its end.
 */
import { printable } from "../../lib/sanitize";
import type { Dispatch } from "./dispatch";
import { aboutPlan, planEnded, planPaused, planTarget, planWave } from "./events";
import type { Plan } from "./ledger/records";
import type { Run } from "./run";
import { LOOK_MS, type Shared } from "./shared";

/** How many hosts an event names. */
const MAX_NAMED = 16;

/** What the runner does to a plan as a whole. */
interface Whole {
  /** Takes a decision about the plan. */
  decide(run: Run, change: () => Plan): void;
  /** This process no longer runs it. */
  release(run: Run): void;
}

export function createWaves(
  { uses, runs, stopping, pump }: Shared,
  { end }: Pick<Dispatch, "end">,
  { decide, release }: Whole,
) {
  const { ledger, publish } = uses;

  /** Goes on to the next wave, pauses after too many failures, ends the plan. */
  const settle = (run: Run): void => {
    if (!runs.has(run.plan.seq) || stopping.aborted) return;
    if (run.entries.size === 0) {
      // What the caller of a broadcast knows already may not be on disk yet.
      if (run.writing === 0) finish(run);
      return;
    }
    const { plan } = run;
    // Hosts at work are asked to end their jobs; then each has its result.
    if (run.broadcast?.isLeft() && run.busy === 0) run.stopped ??= "cancelled";
    if (run.stopped !== undefined) {
      stopRun(run, run.stopped);
      return;
    }
    // Whoever resumes it has seen what is overdue by then, which the ledger alone does not know.
    if (plan.state === "paused") {
      if (run.failures() > plan.forgiven && !run.change(ledger, { forgiven: run.failures() })) return;
      for (const entry of run.overdue.keys()) run.overdue.set(entry, "forgiven");
    }
    if (plan.state === "running" && run.hasTooManyFailed()) {
      const failed = `${run.failures() - plan.forgiven} failed`;
      if (run.broadcast) {
        stopRun(run, `not begun: ${failed}`);
        return;
      }
      const why = `${failed}, more than ${plan.spec.max_failures}`;
      decide(run, () => ledger.pause(plan.seq, why, plan.revision));
      publish(planPaused, { ...aboutPlan(plan), reason: run.plan.reason ?? "" });
      settle(run);
      return;
    }
    if (plan.state !== "running" || !run.isWaveOver()) return;
    if (run.broadcast && run.bad) {
      stopRun(run, `not begun: the canary ${printable(run.bad.label, 130)} is not ok`);
      return;
    }
    if (plan.wave_at === null) {
      const pause = run.hadWork ? plan.spec.pause_s * 1_000 : 0;
      if (!run.change(ledger, { wave_at: Date.now() + pause })) return;
      const left = run.pauseLeft();
      // Longer pauses end when it looks.
      if (left < LOOK_MS * 60) setTimeout(pump, left + 1).unref();
      settle(run);
      return;
    }
    if (run.pauseLeft() > 0) return;
    if (!run.change(ledger, { wave: plan.wave + 1, wave_at: null })) return;
    const { waves } = plan.spec;
    const wave = run.plan.wave + 1;
    const hosts = (waves[wave - 1] ?? plan.hosts) - (waves[wave - 2] ?? 0);
    publish(planWave, { ...aboutPlan(plan), wave, waves: waves.length, hosts });
    pump();
  };
  /** Begins nothing more of a broadcast; the hosts at work go on. */
  const stopRun = (run: Run, why: string): void => {
    const left = [...run.entries.values()].filter(({ phase }) => phase !== "asking");
    if (left.length > 0) run.stopped ??= why;
    for (const entry of left) {
      entry.phase = "asking";
      void end(entry, "cancelled", { error: why }).finally(pump);
    }
  };
  const finish = (run: Run): void => {
    const { seq, state, spec } = run.plan;
    const isOpen = state === "running" || state === "paused";
    const { cancelled = 0, unknown = 0 } = run.counts;
    // The last hosts may have been at work, so that there was nothing to stop.
    const isCut = run.broadcast?.isLeft() && cancelled + unknown > 0;
    const stopped = run.stopped ?? (isCut ? "cancelled" : undefined);
    const ended = !isOpen ? state : stopped === undefined ? "done" : "cancelled";
    const why = ended === "done" ? null : (run.plan.reason ?? stopped ?? null);
    const wave = ended === "done" ? spec.waves.length - 1 : run.plan.wave;
    if (!run.change(ledger, { state: ended, reason: why, ended: Date.now(), wave, wave_at: null })) return;
    report(run);
    release(run);
    publish(planEnded, {
      ...aboutPlan(run.plan),
      state: ended,
      reason: why,
      counts: ledger.counts(seq),
    });
  };
  const report = (run: Run): void => {
    const news = run.news();
    if (news.length === 0) return;
    const targets = news.slice(0, MAX_NAMED);
    publish(planTarget, {
      ...aboutPlan(run.plan),
      targets,
      more: news.length - targets.length,
      counts: { ...run.counts },
    });
  };

  return {
    settle,
    /** Publishes which hosts have ended, or wait, since the last time. */
    report,
  };
}
