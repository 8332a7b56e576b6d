/**
 * The runs of this process: active ones, which can be cancelled, and recently ended ones.
 *
 * Promise: each run ends, at its deadline at the latest. What is kept is bounded and holds no secret.
 */
import { type Outcome, RUN_ENDINGS, type RunStatus } from "../core/run";
import { resolvesWithin } from "../lib/deadline";
import { cancelled, conflict, notFound, timedOut, unavailable } from "../lib/errors";
import { sizeWithin } from "../lib/json-size";
import { RUN_SOURCES, type RunRecord, type RunView } from "./types";

/** The most runs that are active at once. */
const MAX_ACTIVE = 256;

/** Of those of one named token: none leaves the host and other tokens without a run. */
const MAX_TOKEN_ACTIVE = MAX_ACTIVE / 2;

/** What the results of active runs may take in all, in bytes; those of one named token half of it. */
const MAX_HELD_BYTES = 256 * 1024 * 1024;

/** How many ended runs are kept, and the most that is kept of each: outcomes, and their size in bytes. */
const MAX_KEPT_RUNS = 100;
const MAX_KEPT_OUTCOMES = 200;
const MAX_KEPT_BYTES = 64 * 1_024;

/** How long runs may go on while the process stops, in milliseconds. Together they stay within the 10 s of the server. */
const GRACE_MS = 8_000;
const LAST_MS = 1_500;

type Begun = "run_id" | "source_type" | "source_id" | "token" | "script_path" | "commands";

/** A run that is about to begin. */
export interface RunStart extends Pick<RunRecord, Begun> {
  readonly timeout_s: number;
  /** It failed before it began. It is recorded however many others are active. */
  readonly failed?: true;
}

/** A run that is active. */
export type ActiveRun = ReturnType<Runs["begin"]>;

interface Entry {
  record: RunRecord;
  /** Set while it waits for pointer and keyboard: who uses them. */
  holder?: (() => string) | undefined;
  bytesLeft: number;
  readonly outcomes: Outcome[];
  readonly control: AbortController;
  readonly done: Promise<void>;
}

export class Runs {
  private readonly entries = new Map<string, Entry>();
  private readonly counts = RUN_SOURCES.flatMap((source) =>
    RUN_ENDINGS.map((status) => ({ source, status, count: 0 })),
  );
  /** The ids of ended runs, oldest first. */
  private readonly ended: string[] = [];
  /** The bytes of results of active runs, by token. */
  private readonly held = new Map<string | null, number>();
  private stopping = false;

  /**
   * @param note is called with each run when it begins, and again when it ends.
   * @param now milliseconds since the epoch.
   */
  constructor(
    private readonly note: (run: RunRecord) => void,
    private readonly now: () => number = Date.now,
  ) {}

  /** @throws an `unavailable` failure when {@link MAX_ACTIVE} are active, or {@link MAX_TOKEN_ACTIVE} of its token, or the process is stopping. */
  begin({ timeout_s, failed, ...begun }: RunStart) {
    if (this.stopping && !failed) throw unavailable("this process is stopping");
    const active = this.active();
    if (active.length >= MAX_ACTIVE && !failed) throw unavailable(`${MAX_ACTIVE} runs are active already`);
    const { token } = begun;
    const ofToken = token === null ? 0 : active.filter(({ record }) => record.token === token).length;
    if (ofToken >= MAX_TOKEN_ACTIVE && !failed) {
      throw unavailable(`${MAX_TOKEN_ACTIVE} runs of the token ${token} are active already`);
    }
    const id = begun.run_id;
    const started = this.now();
    const control = new AbortController();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const entry: Entry = {
      record: {
        ...begun,
        status: "running",
        started_at: new Date(started).toISOString(),
        finished_at: null,
        duration_seconds: null,
        error_text: null,
      },
      bytesLeft: MAX_KEPT_BYTES,
      outcomes: [],
      control,
      done,
    };
    this.entries.set(id, entry);
    this.note(entry.record);
    const late = () => control.abort(timedOut(`the run's deadline of ${timeout_s} s has passed`));
    let held = 0;
    const holdMore = (bytes: number) => {
      held += bytes;
      const ofToken = (this.held.get(token) ?? 0) + bytes;
      if (ofToken > 0) this.held.set(token, ofToken);
      else this.held.delete(token);
    };
    const deadline = setTimeout(late, timeout_s * 1_000);
    return {
      /** Aborted, with a `Failure` as its reason, when the run is cancelled or its deadline passes. */
      signal: control.signal,
      abort: (reason: unknown): void => control.abort(reason),
      /** It waits for pointer and keyboard. @param holder who uses them now. */
      waits(holder: () => string): void {
        entry.record = { ...entry.record, status: "waiting" };
        entry.holder = holder;
      },
      goesOn(): void {
        entry.record = { ...entry.record, status: "running" };
        entry.holder = undefined;
      },
      /** Counts `bytes` of results until the run ends. @returns false, and counts nothing, when there is no room for them. */
      hold: (bytes: number): boolean => {
        const inAll = this.held.values().reduce((sum, one) => sum + one, bytes);
        const ofToken = token === null ? 0 : (this.held.get(token) ?? 0) + bytes;
        if (inAll > MAX_HELD_BYTES || ofToken > MAX_HELD_BYTES / 2) return false;
        holdMore(bytes);
        return true;
      },
      /** Keeps the outcome of one of its actions; it must hold no secret. */
      keep(outcome: Outcome): void {
        const bytes = sizeWithin(outcome, { bytes: entry.bytesLeft, depth: 100 });
        if (bytes === undefined || entry.outcomes.length >= MAX_KEPT_OUTCOMES) return;
        entry.bytesLeft -= bytes;
        entry.outcomes.push(outcome);
      },
      end: (status: RunStatus, error_text: string | null): void => {
        clearTimeout(deadline);
        holdMore(-held);
        entry.holder = undefined;
        const finished = this.now();
        const finished_at = new Date(finished).toISOString();
        const duration_seconds = Math.max(0, finished - started) / 1_000;
        entry.record = { ...entry.record, status, error_text, finished_at, duration_seconds };
        this.note(entry.record);
        this.ended.push(id);
        for (const old of this.ended.splice(0, this.ended.length - MAX_KEPT_RUNS)) this.entries.delete(old);
        const counted = this.counts.find((one) => one.source === begun.source_type && one.status === status);
        if (counted) counted.count++;
        resolve();
      },
    };
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
  show(id: string): RunView & { outcomes: Outcome[] } {
    const entry = this.find(id);
    return { ...toView(entry), outcomes: entry.outcomes };
  }

  /** Asks a run to end: at once when its action obeys the signal, else at the next action. As {@link show}. */
  cancel(id: string, why: string): RunView {
    const entry = this.find(id);
    const { record, control } = entry;
    if (record.finished_at !== null) throw conflict(`run ${record.run_id} has ended: ${record.status}`);
    control.abort(cancelled(why));
    return toView(entry);
  }

  /** Cancels the active runs of tokens that are not in force any more. */
  endRevoked(inForce: (token: string) => boolean): void {
    for (const { record, control } of this.active()) {
      const { token } = record;
      if (token !== null && !inForce(token)) control.abort(cancelled(`its token ${token} was revoked`));
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
  }

  private active(): Entry[] {
    return [...this.entries.values()].filter(({ record }) => record.finished_at === null);
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

const toView = ({ record, holder }: Entry): RunView => ({ ...record, waiting_for: holder?.() ?? null });
