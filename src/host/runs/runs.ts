/**
 * The runs of this process: active ones, which can be cancelled, and recently ended ones.
 *
 * Promise: each run ends, at its deadline at the latest. What is kept is bounded and holds no secret.
 */
import type { Publish } from "../../core/events";
import { RUN_ENDINGS } from "../../core/run";
import { resolvesWithin } from "../../lib/deadline";
import { busy, cancelled, conflict, notFound } from "../../lib/errors";
import { firstToGo, shortage } from "../../lib/quota";
import { type ActiveRun, activeRun, MAX_LOG } from "./active-run";
import type { AttachedReport } from "./attached-run";
import { runEnded, runStarted } from "./events";
import { HeldResults } from "./held-results";
import { RefusedStarts } from "./refused-starts";
import {
  type Entry,
  holderOf,
  keepOutcome,
  newState,
  type RunKeeper,
  type StartField,
  toView,
} from "./run-entry";
import { RUN_SOURCES, type RunState, type RunView } from "./types";

/** How many runs are active at once; those of a named token leave some to others. */
const ACTIVE = { what: "active runs", most: 256, times: 1 };

/** How many ended runs are kept, and as many that only read, shared by those who began them, and the most that is kept of each: outcomes, and their size in bytes. */
const MAX_KEPT_RUNS = 100;

const MAX_KEPT_BYTES = 64 * 1_024;

/** How long runs may go on while the process stops, in milliseconds. Together they stay within the 10 s of the server. */
const GRACE_MS = 8_000;
const LAST_MS = 1_500;

/** A run that is about to begin. */
interface RunStart extends Pick<RunState, StartField>, Partial<Pick<RunState, "trace_id">> {
  readonly timeout_s: number;
  /** In whose share it counts (default: that of its token). */
  readonly share?: string | null;
  /** Whether it changes nothing: then it has no row in the history, and does not push out the outcomes of those that do. */
  readonly isRead?: boolean;
  /** The most that is kept of its outcomes, in bytes (default {@link MAX_KEPT_BYTES}). */
  readonly keptBytes?: number;
}

/**
 * Has another process keep a run of this one. @param cancel is called with the reason when the run is to end.
 * @returns undefined where no other keeps it.
 */
export type AttachRun = (
  run: RunView,
  isRead: boolean,
  cancel: (why: string) => void,
) => RunKeeper | undefined;

/** A run of another process that this one keeps. */
interface AttachedRun {
  /** Aborted when the run is to end. */
  readonly signal: AbortSignal;
  /** @returns `ended` once it has ended. */
  report(reported: AttachedReport): "ended" | "goes on";
  /** To be called when its process says no more: without an end, it was interrupted. */
  end(): void;
  /** Its process keeps it itself from now on. */
  leave(): void;
}

export class Runs {
  private readonly entries = new Map<string, Entry>();
  private readonly counts = RUN_SOURCES.flatMap((source) =>
    RUN_ENDINGS.map((status) => ({ source, status, count: 0 })),
  );
  /** Ended runs, oldest first. */
  private readonly ended: Entry[] = [];
  private readonly refused = new RefusedStarts();
  private readonly held = new HeldResults();
  private stopping = false;

  /**
   * @param note is called with each run when it begins, and again when it ends.
   * @param publish takes the events of runs.
   * @param attach has the owner of the folder keep them, where that is another process.
   */
  constructor(
    private readonly note: (run: RunState) => void,
    private readonly publish: Publish = () => {},
    private readonly attachTo: AttachRun = () => undefined,
  ) {}

  /** @throws an `unavailable` failure when too many are {@link ACTIVE}, or the process is stopping. */
  begin({
    timeout_s,
    share: given,
    isRead = false,
    keptBytes = MAX_KEPT_BYTES,
    ...begun
  }: RunStart): ActiveRun {
    if (this.stopping) throw busy("this process is stopping");
    const share = given === undefined ? begun.token : given;
    const shares = this.active().map((one) => one.share);
    const full = shortage(ACTIVE, shares, share);
    if (full !== undefined) throw busy(full);
    this.refused.forget(begun);
    const began = performance.now();
    const control = new AbortController();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const state = newState(begun);
    const entry: Entry = {
      state,
      share,
      isRead,
      bytesLeft: keptBytes,
      outcomes: [],
      log: [],
      control,
      done,
    };
    this.entries.set(begun.run_id, entry);
    const cancel = (why: string) => control.abort(cancelled(why));
    entry.keeper = this.attachTo(toView(entry), isRead, cancel);
    if (!entry.keeper) this.keep(entry);
    this.publish(runStarted, toView(entry));
    const ended = () => {
      this.ended.push(entry);
      this.noteEnd(entry);
      resolve();
    };
    return activeRun(entry, { began, timeout_s, publish: this.publish, held: this.held, ended });
  }

  /** Keeps the state of a run as it stands, here or where another process keeps it. */
  private keep(entry: Entry): void {
    if (entry.keeper) entry.keeper.report({ run: toView(entry) });
    else if (!entry.isRead) this.note(entry.state);
  }

  /**
   * Keeps a run of another process: among the others, and in the history. Its events come from that process.
   *
   * @throws a `conflict` failure for one that is known.
   */
  attach(run: RunView, isRead: boolean): AttachedRun {
    const { waiting_for: holder, ...state } = run;
    const { run_id } = state;
    if (this.entries.has(run_id)) throw conflict(`run ${run_id} is known`);
    const control = new AbortController();
    const entry: Entry = {
      state,
      share: state.token,
      isRead,
      isElsewhere: true,
      bytesLeft: MAX_KEPT_BYTES,
      holder: holderOf(holder),
      outcomes: [],
      log: [],
      control,
      done: Promise.resolve(),
    };
    this.entries.set(run_id, entry);
    this.keep(entry);
    const hasEnded = () => entry.state.finished_at !== null;
    const end = () => {
      this.ended.push(entry);
      this.keep(entry);
      this.giveUp(isRead);
    };
    return {
      signal: control.signal,
      report: (reported) => {
        if ("outcome" in reported) keepOutcome(entry, reported.outcome);
        else if ("log" in reported) entry.log.push(...[reported.log].slice(0, MAX_LOG - entry.log.length));
        else {
          const { waiting_for, ...now } = reported.run;
          entry.state = { ...now, run_id };
          entry.holder = holderOf(waiting_for);
          if (hasEnded()) end();
        }
        return hasEnded() ? "ended" : "goes on";
      },
      end: () => {
        if (hasEnded()) return;
        const finished_at = new Date().toISOString();
        const error_text = "the process that ran it has ended";
        entry.state = { ...entry.state, status: "interrupted", error_text, finished_at };
        entry.holder = undefined;
        end();
        this.publish(runEnded, toView(entry));
      },
      leave: () => {
        if (!hasEnded()) this.entries.delete(run_id);
      },
    };
  }

  /**
   * Records a run that failed before it began. It leaves no audit row, so what fails again and again is one run, whose error
   * says how often.
   *
   * @returns that run.
   */
  refuse(begun: Pick<RunState, StartField>, error: string): RunState {
    const { state, times } = this.refused.add(begun, error);
    const entry: Entry = this.entries.get(state.run_id) ?? {
      state,
      share: begun.token,
      isRead: false,
      bytesLeft: 0,
      outcomes: [],
      log: [],
      control: new AbortController(),
      done: Promise.resolve(),
    };
    entry.state = state;
    if (times === 1) {
      this.ended.push(entry);
      this.entries.set(state.run_id, entry);
    }
    this.noteEnd(entry);
    return state;
  }

  private noteEnd(entry: Entry): void {
    const { state } = entry;
    this.keep(entry);
    this.publish(runEnded, toView(entry));
    this.giveUp(entry.isRead);
    const { source_type, status } = state;
    const counted = this.counts.find((one) => one.source === source_type && one.status === status);
    if (counted) counted.count++;
  }

  /** Gives up one that has ended where more than {@link MAX_KEPT_RUNS} are kept. */
  private giveUp(isRead: boolean): void {
    const kept = this.ended.filter((one) => one.isRead === isRead);
    if (kept.length <= MAX_KEPT_RUNS) return;
    const old = kept[firstToGo(kept.map(({ share }) => share))];
    if (!old) return;
    this.ended.splice(this.ended.indexOf(old), 1);
    this.entries.delete(old.state.run_id);
  }

  /** How many are active, and how many have ended since the process started, by source and status; 0 counts too. */
  totals() {
    return { active: this.active().length, ended: this.counts };
  }

  /** Newest first. */
  list(): RunView[] {
    return [...this.entries.values()].map(toView).reverse();
  }

  /**
   * @param id the run's id, or a beginning of it that no other run shares.
   * @throws a `not_found` failure; `conflict` when several ids begin so.
   */
  show(id: string): RunView & Pick<Entry, "outcomes" | "log"> {
    const entry = this.find(id);
    return { ...toView(entry), outcomes: entry.outcomes, log: entry.log };
  }

  /** Asks a run to end: at once when its action obeys the signal, else at the next action. As {@link show}. */
  cancel(id: string, why: string): RunView {
    const entry = this.find(id);
    const { state, control } = entry;
    if (state.finished_at !== null) throw conflict(`run ${state.run_id} has ended: ${state.status}`);
    control.abort(cancelled(why));
    return toView(entry);
  }

  /** Cancels the active runs of tokens that have ended. @param howEnded `was revoked`; null for a token in force. */
  endRevoked(howEnded: (token: string) => string | null): void {
    for (const { state, control } of this.active()) {
      const { token } = state;
      const how = token === null ? null : howEnded(token);
      if (how !== null) control.abort(cancelled(`its token ${token} ${how}`));
    }
  }

  /**
   * Lets no further run begin, waits for the active ones, then cancels them.
   *
   * @param graceMs how long to wait; cancelled runs have {@link LAST_MS} to end.
   */
  async stop(graceMs = GRACE_MS): Promise<void> {
    this.stopping = true;
    const over = () => Promise.all(this.active().map(({ done }) => done));
    await resolvesWithin(graceMs, over());
    for (const { control } of this.active()) {
      control.abort(cancelled("the process that runs it is stopping"));
    }
    await resolvesWithin(LAST_MS, over());
    await Promise.all(this.entries.values().map(({ keeper }) => keeper?.settled()));
  }

  private active(): Entry[] {
    return [...this.entries.values()].filter(
      ({ state, isElsewhere }) => state.finished_at === null && !isElsewhere,
    );
  }

  private find(id: string): Entry {
    const exact = this.entries.get(id);
    if (exact) return exact;
    const found = [...this.entries].filter(([known]) => id.length >= 4 && known.startsWith(id));
    if (found.length > 1) throw conflict("several ids of runs begin so: give more of the id");
    const [only] = found;
    if (only) return only[1];
    throw notFound("no such run, or it ended too long ago");
  }
}
