/**
 * A model of one job between a desk and a host, and a walk over all that can happen to it: requests that are late, lost or refused,
 * processes that are killed or stopped, records that are lost, clocks that differ, plans that are cancelled and repeated.
 *
 * The decisions are those of svc (`Decisions`); what is modelled is around them: the network, the two processes and their files.
 */

import { type PlanState, STEPS, type StepName, type TargetState } from "../../../src/desk/plans/plan";
import type {
  afterUnseen,
  JobRequest,
  Knowledge,
  RequestFault,
  ReturnedJob,
  StatedRecords,
  Verdict,
} from "../../../src/desk/plans/protocol";
import type { JobAnswer } from "../../../src/wire/job/answer";
import type { JobState } from "../../../src/wire/job/job";

/** A host of a plan, as the ledger has it. */
export interface Row {
  readonly state: TargetState;
  readonly attempt: number;
  /** Whether it has a time at which it was sent, and a way. */
  readonly isSent: boolean;
  readonly records: string | null;
}

/** What a desk decides. */
export interface Decisions {
  /** Null: for any, without a question. */
  recordsToSend(stated: StatedRecords): string | null | undefined;
  verdictOf(answer: JobAnswer, known: Knowledge): Verdict;
  afterUnseen(
    request: JobRequest,
    known: Knowledge,
    records: string | undefined,
    hasExpired: boolean,
  ): ReturnType<typeof afterUnseen>;
  afterFault(request: JobRequest, known: Knowledge, fault: RequestFault): "unsent" | "bar" | "ask";
  isBarred(verdict: Verdict): boolean;
  stepAfter(state: JobState, delivered: boolean, job: ReturnedJob): StepName | "offline" | "unseen" | "lost";
  /** Whether `svc plan retry` repeats it where no state is named. */
  isRepeated(row: Row): boolean;
  /** What the ledger makes of a step; undefined where it is not made. */
  stepped(row: Row, step: StepName, records: string | null): Row | undefined;
}

/** What a host has of a job: nothing; or how far it is. `cut`: its host was stopped in the middle of it. */
type Record = "none" | "running" | "ok" | "failed" | "interrupted" | "cut" | "stopped" | "cancelled";

interface Message {
  readonly to: JobRequest;
  readonly attempt: number;
  /** The records for which it is sent; null for any. */
  readonly records: string | null;
}

/** How often each fault may still happen. */
export interface Faults {
  /** A request or its answer is lost, or late. */
  readonly losses: number;
  readonly deskKills: number;
  /** The host dies, or is stopped, and is there again. */
  readonly hostEnds: number;
  /** The host dies, and is there again without its file of jobs. */
  readonly recordLosses: number;
  readonly refusals: number;
  readonly cancels: number;
  readonly retries: number;
}

interface Task {
  readonly at: "exchange" | "wait";
  readonly request: JobRequest;
  /** Whether its request is on its way. */
  readonly isPending: boolean;
  readonly before: "job" | null;
  readonly known: Knowledge;
  readonly barredAs: "expired" | "refused" | null;
  readonly faults: number;
}

interface World {
  readonly row: Row;
  readonly plan: PlanState;
  readonly hasExpired: boolean;
  readonly task: Task | null;
  /** The step `run` that is not on disk yet. */
  readonly isWriting: boolean;
  /** The records of the host that this process of the desk knows: from its answers, and from what it said when it connected. */
  readonly inAnswer: string | null;
  readonly onConnect: string | null;
  readonly net: readonly Message[];
  /** By attempt. */
  readonly host: {
    readonly jobs: readonly Record[];
    readonly records: string;
    /** Whether its clock says that the job has expired. */
    readonly expired: readonly boolean[];
  };
  /** How often each attempt has begun. */
  readonly begun: readonly number[];
  /** The attempts after which nothing of the plan may begin any more, and those of which nothing may: why not. */
  readonly barred: readonly (string | null)[];
  readonly left: Faults;
}

/** What must never be, and how it came about. */
export interface Violation {
  readonly what: string;
  readonly trace: readonly string[];
}

export interface Walk {
  readonly worlds: number;
  readonly depth: number;
  readonly violations: readonly Violation[];
  /** In which states the row has been. */
  readonly states: ReadonlySet<TargetState>;
}

const NOTHING_RAN: readonly TargetState[] = ["unreachable", "refused", "expired"];
const ENDED: readonly TargetState[] = ["ok", "failed", "timeout", ...NOTHING_RAN, "cancelled", "unknown"];
const MAX_NET = 2;

/**
 * Walks over every world that can be reached.
 *
 * @param saysRecords whether the host says which records it has, and that a job was cut off, as builds of today do.
 * @param connects whether it connects to the desk, and says then which records it has.
 */
export function walk(
  decisions: Decisions,
  faults: Faults,
  { saysRecords = true, connects = false, most = 1_000_000 } = {},
): Walk {
  const first: World = {
    row: { state: "planned", attempt: 0, isSent: false, records: null },
    ...{ plan: "running", hasExpired: false, task: null, isWriting: false, net: [] },
    ...{ inAnswer: null, onConnect: null },
    host: { jobs: ["none", "none"], records: "r0", expired: [false, false] },
    ...{ begun: [0, 0], barred: [null, null], left: faults },
  };
  const model = createModel(decisions, saysRecords, connects);
  const seen = new Set([keyOf(first)]);
  interface Place {
    readonly world: World;
    readonly by: string;
    readonly from: Place | null;
    readonly depth: number;
  }
  const queue: Place[] = [{ world: first, by: "start", from: null, depth: 0 }];
  const violations = new Map<string, Violation>();
  const states = new Set<TargetState>();
  let depth = 0;
  for (let at = 0; at < queue.length && seen.size < most; at++) {
    const place = queue[at];
    if (!place) break;
    depth = Math.max(depth, place.depth);
    states.add(place.world.row.state);
    for (const [by, world] of model.next(place.world)) {
      const wrong = faultOf(place.world, world);
      if (wrong !== undefined) {
        const trace = [by];
        for (let one: Place | null = place; one; one = one.from) trace.unshift(one.by);
        if (!violations.has(wrong)) violations.set(wrong, { what: wrong, trace });
        continue;
      }
      const key = keyOf(world);
      if (seen.has(key)) continue;
      seen.add(key);
      queue.push({ world, by, from: place, depth: place.depth + 1 });
    }
  }
  return { worlds: seen.size, depth, violations: [...violations.values()], states };
}

const keyOf = (world: World) => Bun.hash(JSON.stringify(world));

/** What is wrong with the step from one world to another. */
function faultOf(before: World, after: World): string | undefined {
  for (const [attempt, times] of after.begun.entries()) {
    if (times === before.begun[attempt]) continue;
    if (times > 1) return "a job ran twice";
    const why = before.barred[attempt];
    if (why) return `a job began ${why}`;
    if (attempt === 0 && after.row.attempt === 1) return "a job began after it was repeated";
  }
  const { state, attempt, isSent } = after.row;
  if (state === before.row.state && attempt === before.row.attempt) return undefined;
  const ran = after.begun[attempt] ?? 0;
  const record = after.host.jobs[attempt];
  if (state === "ok" && ran !== 1) return "a job is ok that did not run";
  if (state === "failed" && record !== "failed") return `a job is failed that is ${record}`;
  const hasNothing = NOTHING_RAN.includes(state) || (state === "cancelled" && !isSent);
  if (hasNothing && ran > 0) return `a job is ${state} that ran`;
  return undefined;
}

function createModel(decisions: Decisions, saysRecords: boolean, connects: boolean) {
  const spend = (world: World, fault: keyof Faults): World => ({
    ...world,
    left: { ...world.left, [fault]: world.left[fault] - 1 },
  });
  const withTask = (world: World, more: Partial<Task>): World =>
    world.task ? { ...world, task: { ...world.task, ...more } } : world;

  const step = (world: World, name: StepName, records: string | null = null): World => {
    const row = decisions.stepped(world.row, name, records);
    if (!row) return world;
    const nothing = NOTHING_RAN.includes(row.state) || (row.state === "cancelled" && !row.isSent);
    const barred = world.barred.map((why, attempt) =>
      attempt === row.attempt && nothing ? `after it was ${row.state}` : why,
    );
    return { ...world, row, barred };
  };

  /** The delivery comes back with a state. */
  const back = (world: World, state: JobState, delivered: boolean): World => {
    const { task, row, plan } = world;
    if (!task) return world;
    const name = decisions.stepAfter(state, delivered, {
      before: task.before,
      way: row.isSent ? "job" : null,
      plan,
    });
    // What was to be written is, before the end is.
    const written = world.isWriting ? step(world, "run") : world;
    const idle = { ...written, task: null, isWriting: false };
    if (name === "lost" || name === "unseen") return idle;
    if (name === "offline") return step(idle, "wait");
    return step(idle, name);
  };

  const heard = (before: World, answer: JobAnswer): World => {
    const { task } = before;
    if (!task) return before;
    const world = { ...before, inAnswer: answer.records ?? null };
    const verdict = decisions.verdictOf(answer, task.known);
    const idle = withTask(world, { isPending: false });
    if (task.at === "exchange") {
      if (task.barredAs && decisions.isBarred(verdict)) return back(idle, task.barredAs, false);
      if (verdict === "running") {
        const known = { ...task.known, mayHave: true, hasBegun: true };
        const more = { at: "wait", request: "ask", barredAs: null, faults: 0, known } as const;
        return { ...withTask(idle, more), isWriting: true };
      }
      if (verdict === "unseen") {
        const next = decisions.afterUnseen(task.request, task.known, answer.records, world.hasExpired);
        if (next === "odd") return fault(world, { hasDoneNothing: false, isRefusal: false });
        if (next === "renew") {
          const known = { ...task.known, records: answer.records ?? null };
          return withTask(step(idle, "send", known.records), { isPending: false, known });
        }
        if (next === "expired") return back(idle, "expired", false);
        return withTask(idle, { request: next, barredAs: next === "bar" ? "expired" : null });
      }
    } else if (verdict === "running" || verdict === "unseen") return idle;
    if (verdict === "stopped") return back(idle, "cancelled", true);
    if (verdict === "cancelled") return back(idle, "cancelled", false);
    if (verdict === "expired") return back(idle, "expired", false);
    return back(idle, verdict, true);
  };

  const fault = (world: World, about: RequestFault): World => {
    const { task } = world;
    if (!task) return world;
    const idle = withTask(world, { isPending: false });
    const next = task.at === "wait" ? "ask" : decisions.afterFault(task.request, task.known, about);
    if (next === "ask" && task.faults > 0) return back(idle, "lost", true);
    if (next === "unsent") return back(idle, about.isRefusal ? "refused" : "offline", false);
    const known = { ...task.known, mayHave: task.known.mayHave || !about.hasDoneNothing };
    const barredAs = next === "bar" ? "refused" : null;
    return withTask(idle, { request: next, known, barredAs, faults: next === "bar" ? task.faults : 1 });
  };

  /** What a host answers, and does, upon a request. */
  const received = (
    { host, begun, ...world }: World,
    { to, attempt, records }: Message,
  ): [World, JobAnswer] => {
    const had = host.jobs[attempt] ?? "none";
    const set = (job: Record): World["host"] => ({ ...host, jobs: host.jobs.with(attempt, job) });
    const answer = (
      state: JobAnswer["state"],
      how?: Partial<NonNullable<JobAnswer["outcome"]>>,
    ): JobAnswer => {
      const ending = { run_id: "run", ok: false, status: "error", error_text: null, by_desk: false };
      const results = { result: {}, outcomes: [], results_kept: false };
      return {
        id: "job",
        state,
        ...(saysRecords && { records: host.records }),
        outcome: how ? { ...ending, ...results, ...how } : null,
      };
    };
    const is = (job: Record): JobAnswer => {
      if (job === "ok") return answer("done", { ok: true, status: "ok" });
      if (job === "failed") return answer("done", {});
      if (job === "stopped") return answer("done", { status: "cancelled", by_desk: true });
      // Hosts of earlier builds say that it is done.
      if (job === "cut") return answer(saysRecords ? "interrupted" : "done", { status: "cancelled" });
      return answer(job === "none" ? "unseen" : job);
    };
    const same = { ...world, host, begun };
    if (had === "running" && to === "bar") return [{ ...same, host: set("stopped") }, is("stopped")];
    if (had !== "none") return [same, is(had)];
    if (host.expired[attempt]) return [same, answer("expired")];
    const isElsewhere = records !== null && records !== host.records;
    if (to === "ask" || (to === "send" && isElsewhere)) return [same, is("none")];
    if (to === "bar") return [{ ...same, host: set("cancelled") }, is("cancelled")];
    const times = begun.with(attempt, (begun[attempt] ?? 0) + 1);
    return [{ ...world, host: set("running"), begun: times }, is("running")];
  };

  const next = function* (world: World): Generator<[string, World]> {
    yield* ofDesk(world);
    yield* ofNetwork(world);
    yield* ofHost(world);
    yield* ofPersons(world);
  };

  const ofDesk = function* (world: World): Generator<[string, World]> {
    const { task, row, left, plan, host } = world;
    const isOpen = !ENDED.includes(row.state);
    if (!task && isOpen) {
      const start = { isPending: false, barredAs: null, faults: 0 } as const;
      if (row.isSent) {
        const known = { mayHave: true, hasBegun: row.state === "running", records: row.records };
        const asking: Task = { at: "exchange", request: "ask", before: "job", known, ...start };
        yield ["the desk asks what became of the job", { ...world, task: asking }];
        // Nobody has heard of it for as long as it may take.
        yield ["the desk gives the job up", step(world, "unknown")];
      } else if (plan === "running" && !world.hasExpired) {
        const stated = { onConnect: world.onConnect ?? undefined, inAnswer: world.inAnswer ?? undefined };
        const found = decisions.recordsToSend(stated);
        // It is asked first, and the job is sent later.
        const inAnswer = found === undefined && saysRecords ? host.records : world.inAnswer;
        const records = found === undefined ? inAnswer : found;
        const known = { mayHave: false, hasBegun: false, records };
        const sending: Task = { at: "exchange", request: "send", before: null, known, ...start };
        const noted = step({ ...world, inAnswer }, "send", records);
        yield ["the desk notes that it sends the job", { ...noted, task: sending }];
      } else if (plan === "running") yield ["the plan expires before it begins", step(world, "expired")];
      else if (plan === "cancelled")
        yield ["the plan is cancelled before it begins", step(world, "cancelled")];
    }
    if (task && !task.isPending && world.net.length < MAX_NET) {
      if (task.request === "send" && plan !== "running")
        yield ["the desk may not send", back(world, "unseen", task.known.mayHave)];
      else {
        const records = task.request === "send" ? task.known.records : null;
        const message = { to: task.request, attempt: row.attempt, records };
        const net = [...world.net, message];
        yield [`the desk sends: ${task.request}`, { ...withTask(world, { isPending: true }), net }];
      }
    }
    if (world.isWriting) yield ["the desk notes that it runs", { ...step(world, "run"), isWriting: false }];
    if (!world.hasExpired) yield ["the job expires by the clock of the desk", { ...world, hasExpired: true }];
    if (left.deskKills > 0 && task)
      yield [
        "the desk is killed",
        { ...spend(world, "deskKills"), task: null, isWriting: false, inAnswer: null, onConnect: null },
      ];
  };

  const ofNetwork = function* (world: World): Generator<[string, World]> {
    const { task, net, left, row } = world;
    for (const [at, message] of net.entries()) {
      if (net.findIndex((one) => one.to === message.to && one.attempt === message.attempt) !== at) continue;
      const rest = { ...world, net: net.toSpliced(at, 1) };
      const [done, answer] = received(rest, message);
      const isAwaited =
        task?.isPending &&
        task.request === message.to &&
        row.attempt === message.attempt &&
        at === net.length - 1;
      if (isAwaited) {
        yield [`the host answers ${message.to}: ${answer.state}`, heard(done, answer)];
        if (left.losses > 0)
          yield [
            `the answer to ${message.to} is lost`,
            fault(spend(done, "losses"), { hasDoneNothing: false, isRefusal: false }),
          ];
        if (left.refusals > 0 && message.to === "send")
          yield [
            "the host refuses the job",
            fault(spend(rest, "refusals"), { hasDoneNothing: true, isRefusal: true }),
          ];
        if (left.losses > 0)
          yield [
            `the request is late: ${message.to}`,
            fault(spend(world, "losses"), { hasDoneNothing: false, isRefusal: false }),
          ];
      } else yield [`the host gets late: ${message.to} ${message.attempt}`, done];
      if (!isAwaited || left.losses > 0)
        yield [
          `the request is lost: ${message.to}`,
          isAwaited ? fault(spend(rest, "losses"), { hasDoneNothing: false, isRefusal: false }) : rest,
        ];
    }
  };

  const ofHost = function* (world: World): Generator<[string, World]> {
    const { host, left } = world;
    const isRunning = host.jobs.includes("running");
    const ending = (job: Record, more: Partial<World["host"]> = {}): World => {
      const jobs = host.jobs.map((one) => (one === "running" ? job : one));
      return { ...world, host: { ...host, jobs, ...more } };
    };
    if (isRunning) {
      yield ["the job ends well", ending("ok")];
      yield ["the job fails", ending("failed")];
      if (left.hostEnds > 0) yield ["the host is stopped", spend(ending("cut"), "hostEnds")];
      if (left.hostEnds > 0) yield ["the host is killed", spend(ending("interrupted"), "hostEnds")];
    }
    if (left.recordLosses > 0) {
      const lost = { jobs: ["none", "none"], records: `r${Number(host.records.slice(1)) + 1}` } as const;
      yield ["the host loses its records", spend({ ...world, host: { ...host, ...lost } }, "recordLosses")];
    }
    // Perhaps late, or never.
    if (connects && saysRecords && world.onConnect !== host.records)
      yield ["the host says which records it has", { ...world, onConnect: host.records }];
    const { attempt } = world.row;
    if (!host.expired[attempt])
      yield [
        "the job expires by the clock of the host",
        { ...world, host: { ...host, expired: host.expired.with(attempt, true) } },
      ];
  };

  const ofPersons = function* (world: World): Generator<[string, World]> {
    const { row, left, plan, task, net } = world;
    if (left.cancels > 0 && plan === "running" && !ENDED.includes(row.state)) {
      const cancelled = { ...spend(world, "cancels"), plan: "cancelled" as const };
      yield ["somebody cancels the plan", cancelled];
      if (row.isSent && net.length < MAX_NET)
        // Before what the desk asks, so that it is not taken for that.
        yield [
          "somebody cancels the plan, also at the host",
          { ...cancelled, net: [{ to: "bar", attempt: row.attempt, records: null }, ...net] },
        ];
    }
    if (left.retries > 0 && !task && ENDED.includes(row.state) && decisions.isRepeated(row)) {
      const why = row.state === "failed" ? null : "that was repeated though it had begun";
      const again = step({ ...spend(world, "retries"), plan: "running", hasExpired: false }, "retry");
      // A job that failed may be repeated; of any other, nothing ran.
      const barred = world.begun[0] === 0 || why === null ? world.barred : [world.barred[0] ?? null, why];
      yield ["somebody repeats the plan", { ...again, barred }];
    }
  };

  return { next };
}

/** What {@link STEPS} make of a row. */
export function steppedRow(row: Row, step: StepName, records: string | null): Row | undefined {
  const { from, to } = STEPS[step];
  if (!(from as readonly string[]).includes(row.state)) return undefined;
  const isCleared = ["wait", "unsend", "unreachable", "cancelled", "retry"].includes(step);
  return {
    state: to,
    attempt: row.attempt + (step === "retry" ? 1 : 0),
    isSent: step === "send" || (!isCleared && row.isSent),
    records: step === "send" ? records : isCleared ? null : row.records,
  };
}
