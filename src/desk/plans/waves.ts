/**
 * How a plan goes on as its hosts end: to the next wave, to a pause after too many failures, to its end.
 */
import { decide } from "./decision";
import { end } from "./dispatch";
import { aboutPlan, planEnded, planPaused, planTarget, planWave } from "./events";
import { limitIn } from "./plan";
import type { Run } from "./run";
import { LOOK_MS } from "./runner-parts";

/** How many hosts an event names. */
const MAX_NAMED = 16;

/** Goes on to the next wave, pauses after too many failures, ends the plan. */
export function settle(run: Run): void {
  const { shared, plan } = run;
  if (!shared.runs.has(plan.seq) || shared.stopping.signal.aborted) return;
  if (run.entries.size === 0) {
    // What the caller of a broadcast knows already may not be on disk yet.
    if (run.writing === 0) finish(run);
    return;
  }
  const why = run.stopped ?? run.policy.whyStopped(run);
  if (why !== undefined) {
    stopRun(run, why);
    return;
  }
  // Whoever resumes it has seen what is overdue by then, which the ledger alone does not know.
  if (plan.state === "paused") {
    if (run.failures() > plan.forgiven && !run.change({ forgiven: run.failures() })) return;
    for (const entry of run.overdue.keys()) run.overdue.set(entry, "forgiven");
  }
  if (plan.state !== "running") return;
  if (run.hasTooManyFailed()) {
    pause(run, `${run.failures() - plan.forgiven} failed, more than ${limitIn(plan.spec, plan.wave)}`);
    settle(run);
  } else if (run.isWaveOver()) nextWave(run);
}

/** Pauses a plan. */
export function pause(run: Run, why: string): void {
  const { ledger, publish } = run.shared.uses;
  decide(run, () => ledger.pause(run.plan.seq, why, run.plan.revision));
  publish(planPaused, { ...aboutPlan(run.plan), reason: why });
}

/** Begins the next wave, once the pause before it is over. */
function nextWave(run: Run): void {
  const { uses, pump } = run.shared;
  const { plan } = run;
  if (plan.wave_at === null) {
    const pauseMs = run.hadWork ? plan.spec.pause_s * 1_000 : 0;
    if (!run.change({ wave_at: Date.now() + pauseMs })) return;
    const left = run.pauseLeft();
    // Longer pauses end when it looks.
    if (left < LOOK_MS * 60) setTimeout(pump, left + 1).unref();
  }
  if (run.pauseLeft() > 0) return;
  if (!run.change({ wave: plan.wave + 1, wave_at: null })) return;
  const { waves } = plan.spec;
  const wave = run.plan.wave + 1;
  const hosts = (waves[wave - 1] ?? plan.hosts) - (waves[wave - 2] ?? 0);
  uses.publish(planWave, { ...aboutPlan(plan), wave, waves: waves.length, hosts });
  pump();
}

/** Begins nothing more of a broadcast; the hosts at work go on. */
function stopRun(run: Run, why: string): void {
  const left = [...run.entries.values()].filter(({ phase }) => phase !== "asking");
  if (left.length > 0) run.stopped ??= why;
  for (const entry of left) {
    entry.phase = "asking";
    void end(entry, "cancelled", { error: why }).finally(run.shared.pump);
  }
}

function finish(run: Run): void {
  const { ledger, publish, ended: noteEnd } = run.shared.uses;
  const { seq, state, spec } = run.plan;
  const isOpen = state === "running" || state === "paused";
  const { cancelled = 0, unknown = 0 } = run.counts;
  // The last hosts may have been at work, so that there was nothing to stop.
  const isCut = run.policy.isLeft() && cancelled + unknown > 0;
  const stopped = run.stopped ?? (isCut ? "cancelled" : undefined);
  const ended = !isOpen ? state : stopped === undefined ? "done" : "cancelled";
  const why = ended === "done" ? null : (run.plan.reason ?? stopped ?? null);
  const wave = ended === "done" ? spec.waves.length - 1 : run.plan.wave;
  if (!run.change({ state: ended, reason: why, ended: Date.now(), wave, wave_at: null })) return;
  report(run);
  run.release();
  noteEnd?.(run.plan);
  publish(planEnded, { ...aboutPlan(run.plan), state: ended, reason: why, counts: ledger.counts(seq) });
}

/** Publishes which hosts have ended, or wait, since the last time. */
export function report(run: Run): void {
  const news = run.news();
  if (news.length === 0) return;
  const targets = news.slice(0, MAX_NAMED);
  const more = news.length - targets.length;
  run.shared.uses.publish(planTarget, { ...aboutPlan(run.plan), targets, more, counts: { ...run.counts } });
}
