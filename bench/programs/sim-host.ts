/**
 * Simulated hosts: who they are, what they answer and what goes wrong with them. All of it follows from a seed, each host from a
 * stream of its own, so that a run that failed can be made again, in whatever order the hosts are asked.
 *
 * A simulated host keeps the promise of a real one: a job runs once, and is remembered through a crash. What ran is on record.
 */
import { labelOf, recordsOf, seeded, shareOf } from "./sim-seed";

/** How early a host takes a job, in milliseconds, as its clock may be behind that of the desk. */
const SKEW_MS = 5 * 60_000;

/** What goes wrong; shares are from 0 to 1. */
export interface Faults {
  /** The share of hosts that never answer. */
  readonly dead: number;
  /** The share of hosts that take {@link SLOW_MS}. */
  readonly slow: number;
  /** The share of requests that get lost, half of them before the host acts and half of them with its answer. */
  readonly lose: number;
  /** The share of requests that arrive twice. */
  readonly dup: number;
  /** How far the clock of a host may be off, in milliseconds. */
  readonly skewMs: number;
  /** How long a host is linked before its link breaks, on average; 0: for ever. */
  readonly flapMs: number;
}

export const NO_FAULTS: Faults = { dead: 0, slow: 0, lose: 0, dup: 0, skewMs: 0, flapMs: 0 };

/** How long a slow host thinks about a request. */
export const SLOW_MS = { from: 500, to: 2_000 };

/** What becomes of one request. */
export interface Fate {
  readonly delayMs: number;
  readonly lost: "request" | "answer" | null;
  readonly twice: boolean;
}

/** A run of a job. */
export interface Run {
  readonly host: number;
  readonly plan: string;
  readonly job: string;
  /** When it began and until when it was allowed to, milliseconds since 1970 by the true clock. */
  readonly at: number;
  readonly expires: number;
}

type State = "running" | "done" | "interrupted" | "cancelled";

interface Job {
  readonly id: string;
  state: State;
  /** Whether its desk has cancelled it while it ran. */
  by_desk: boolean;
}

/** What a host answers. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface Clock {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

const REPORT = { ok: true, status: "ok", error_text: null, result: {}, outcomes: [] };

const FIXED: Readonly<Record<string, unknown>> = {
  "/sessions": {
    host: { running: false, port: 0, connected_clients: 0, host_id: null },
    viewer: { connected: false, host_id: null },
  },
  "/jobs": { jobs: [] },
  "/commands": { commands: ["AC_sleep", "AC_set_var", "AC_screenshot"] },
  "/health": { status: "ok" },
};

/** A host that answers as one of svc does. */
export interface SimulatedHost {
  readonly nth: number;
  readonly isDead: boolean;
  /** What becomes of its next request. */
  fate(): Fate;
  /** For how long its next link lasts, in milliseconds; null: as long as the other side likes. */
  linkMs(): number | null;
  /** A number for the pause before it links again. */
  random(): number;
  answer(method: string, path: string, body: string): Promise<Answer>;
  /** As if the power failed: what runs is interrupted, what is written down stays. */
  crash(): void;
}

/**
 * @param count how many hosts.
 * @param options.runMs how long a job runs. @param options.findMs how long a host takes to look into its black box.
 */
export function createFleet(
  count: number,
  seed: string | number,
  faults: Faults = NO_FAULTS,
  { runMs = 0, findMs = 0, clock = { now: Date.now, sleep: Bun.sleep } as Clock } = {},
) {
  const isDead = shareOf(count, faults.dead, seeded(seed, "dead"));
  const isSlow = shareOf(count, faults.slow, seeded(seed, "slow"));
  const runs: Run[] = [];

  const host = (nth: number): SimulatedHost => {
    const random = seeded(seed, `requests ${nth}`);
    const links = seeded(seed, `links ${nth}`);
    const skew = (2 * seeded(seed, `clock ${nth}`)() - 1) * faults.skewMs;
    const seen = new Map<string, Job>();
    const records = recordsOf(nth);
    /** Counts crashes: a run that began before one does not end. */
    let life = 0;

    const take = (body: string): Answer | Promise<Answer> => {
      const { envelope, content, wait_s = 0 } = JSON.parse(body);
      const { id, plan, nbf, exp } = JSON.parse(envelope);
      const known = seen.get(id);
      if (known) return answerOf(known, wait_s);
      const now = clock.now() + skew;
      const [from, until] = [Date.parse(nbf), Date.parse(exp)];
      if (now >= until) return { status: 200, body: { id, state: "expired", records, outcome: null } };
      if (now < from - SKEW_MS) return refused(409, "this job is not to begin yet");
      if (content === undefined)
        return { status: 200, body: { id, state: "unseen", records, outcome: null } };
      const job: Job = { id, state: "running", by_desk: false };
      seen.set(id, job);
      runs.push({ host: nth, plan, job: id, at: clock.now(), expires: until });
      if (runMs === 0) job.state = "done";
      else void end(job);
      return answerOf(job, wait_s);
    };
    const end = async (job: Job) => {
      const begun = life;
      await clock.sleep(runMs);
      if (life === begun) job.state = "done";
    };
    const cancel = (body: string): Answer | Promise<Answer> => {
      const { id } = JSON.parse(JSON.parse(body).envelope);
      const job = seen.get(id) ?? { id, state: "cancelled", by_desk: true };
      seen.set(id, job);
      if (job.state === "running") {
        job.by_desk = true;
        job.state = "done";
      }
      return answerOf(job, 0);
    };
    const answerOf = async ({ id, by_desk, ...job }: Job, waitS: number): Promise<Answer> => {
      if (job.state === "running" && waitS > 0) await clock.sleep(Math.min(runMs, waitS * 1_000));
      const { state = job.state } = seen.get(id) ?? {};
      const ending = by_desk ? { ok: false, status: "cancelled", error_text: "cancelled by its desk" } : {};
      const outcome = { run_id: `run-${id}`, ...REPORT, ...ending, by_desk, results_kept: true };
      return { status: 200, body: { id, state, records, outcome: state === "done" ? outcome : null } };
    };
    const execute = async (): Promise<Answer> => {
      const run_id = `run-${nth}-${runs.length}`;
      const [at, expires] = [clock.now(), Number.POSITIVE_INFINITY];
      runs.push({ host: nth, plan: run_id, job: run_id, at, expires });
      await clock.sleep(runMs);
      return { status: 200, body: { run_id, ...REPORT } };
    };

    return {
      nth,
      isDead: isDead.has(nth),
      fate() {
        // Each request takes as many numbers, so that no fault moves those after it.
        const [delay, loss, half, again] = [random(), random(), random(), random()];
        return {
          delayMs: isSlow.has(nth) ? SLOW_MS.from + delay * (SLOW_MS.to - SLOW_MS.from) : 0,
          lost: loss >= faults.lose ? null : half < 0.5 ? "request" : "answer",
          twice: again < faults.dup,
        };
      },
      linkMs: () => (faults.flapMs === 0 ? null : -Math.log(1 - links()) * faults.flapMs),
      random: links,
      async answer(method, path, body) {
        if (method === "POST" && path === "/plans/jobs") return take(body);
        if (method === "POST" && path === "/plans/jobs/cancel") return cancel(body);
        if (method === "POST" && path === "/execute") return execute();
        if (method === "POST" && path === "/black-box/find") {
          await clock.sleep(findMs);
          return { status: 200, body: findsOf(nth, JSON.parse(body)) };
        }
        return path in FIXED ? { status: 200, body: FIXED[path] } : refused(404, "not found");
      },
      crash() {
        life++;
        for (const job of seen.values()) if (job.state === "running") job.state = "interrupted";
      },
    };
  };
  return { hosts: Array.from({ length: count }, (_, nth) => host(nth)), runs };
}

/** What a host finds in its black box: one in ten as much as it may answer, the others nothing. */
function findsOf(nth: number, { text, most = 100 }: { readonly text: string; readonly most?: number }) {
  const [from, to] = ["2026-11-28T02:13:05.000Z", "2026-11-28T02:14:05.000Z"];
  const about = { kind: "text", from, to, window: "Terminal", program: "xfce4-terminal" };
  const count = nth % 10 === 0 ? most : 0;
  const line = (at: number) =>
    `[${at}] the update of the package failed with the error ${text}: access is denied`;
  const found = Array.from({ length: count }, (_, at) => ({ ...about, text: line(at) }));
  return { found, count, unread: 0, left_off: 0 };
}

const refused = (status: number, error: string): Answer => ({ status, body: { error } });

/**
 * What must not be among `runs`: a plan that ran twice on one host, or one that had expired.
 *
 * @param toleranceMs how far the clocks of the hosts may be off.
 * @param once what runs once on a host: a `job` where plans are retried.
 */
export function faultsIn(runs: readonly Run[], toleranceMs: number, once: "plan" | "job" = "plan"): string[] {
  const first = new Map<string, Run>();
  return runs.flatMap((run) => {
    const { host, plan, job, at, expires } = run;
    const key = `${host} ${run[once]}`;
    const before = first.get(key);
    first.set(key, before ?? run);
    return [
      ...(before ? [`${labelOf(host)} ran plan ${plan} twice: as ${before.job} and as ${job}`] : []),
      ...(at > expires + toleranceMs
        ? [`${labelOf(host)} ran ${job} ${at - expires} ms after it had expired`]
        : []),
    ];
  });
}
