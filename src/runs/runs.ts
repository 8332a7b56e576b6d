/**
 * The runs of this process: those that go on, which can be cancelled, and the last ones that ended.
 *
 * Promise: each run ends, at its deadline if not before. What is kept is bounded, and holds no secret.
 */
import { type Outcome, RUN_ENDINGS, type RunStatus } from "../core/run";
import { resolvesWithin } from "../lib/deadline";
import { cancelled, conflict, notFound, timedOut, unavailable } from "../lib/errors";
import { sizeWithin } from "../lib/json-size";
import { type ActiveRun, RUN_SOURCES, type RunRecord, type RunStart } from "./types";

/** Runs that may go on at once. */
const MAX_ACTIVE = 256;

/** Ended runs that are kept, and what is kept of each: so many outcomes, of so many bytes together. */
const MAX_KEPT_RUNS = 100;
const MAX_KEPT_OUTCOMES = 200;
const MAX_KEPT_BYTES = 64 * 1_024;

export interface Runs {
  /** @throws an `unavailable` failure when {@link MAX_ACTIVE} go on, or the process is about to stop. */
  begin(run: RunStart): ActiveRun;
  /** Newest first. */
  list(): RunRecord[];
  /** How many go on, and how many have ended in which way since the process started; 0 where none has. */
  totals(): { active: number; ended: readonly RunCount[] };
  /**
   * @param id the run's id, or as much of its beginning as no other run shares.
   * @throws a `not_found` failure; `conflict` when several runs begin so.
   */
  show(id: string): RunRecord & { outcomes: Outcome[] };
  /** Asks a run to end; it does so at its next action, or at once when that heeds its signal. As {@link Runs.show}. */
  cancel(id: string, why: string): RunRecord;
  /**
   * Lets no further run begin, waits for those that go on, then cancels them.
   *
   * @param graceMs how long they may go on; then each has {@link LAST_MS} for its end.
   */
  stop(graceMs?: number): Promise<void>;
}

/** How long runs may go on once the process is to stop: with {@link LAST_MS}, within the 10 s of the server. */
const GRACE_MS = 8_000;
const LAST_MS = 1_500;

interface RunCount {
  readonly source: string;
  readonly status: RunStatus;
  count: number;
}

interface Entry {
  record: RunRecord;
  bytesLeft: number;
  readonly outcomes: Outcome[];
  readonly control: AbortController;
  readonly done: Promise<void>;
}

/**
 * @param note is called with each run as it begins, and again as it ends.
 * @param now milliseconds since the epoch.
 */
export function createRuns(note: (run: RunRecord) => void, now: () => number = Date.now): Runs {
  const entries = new Map<string, Entry>();
  const counts: RunCount[] = RUN_SOURCES.flatMap((source) =>
    RUN_ENDINGS.map((status) => ({ source, status, count: 0 })),
  );
  /** The runs that have ended, the one that did so first in front. */
  const ended: string[] = [];
  let stopping = false;

  const active = () => [...entries.values()].filter(({ record }) => record.finished_at === null);

  const find = (id: string): Entry => {
    const exact = entries.get(id);
    if (exact) return exact;
    const found = [...entries].filter(([known]) => id.length >= 4 && known.startsWith(id));
    if (found.length > 1) throw conflict("several runs begin so: give more of the id");
    const [only] = found;
    if (only) return only[1];
    throw notFound("no such run, or it ended too long ago");
  };

  return {
    begin({ id, commands, source, timeoutSeconds, failed }) {
      if (stopping && !failed) throw unavailable("this process is stopping");
      if (active().length >= MAX_ACTIVE && !failed) throw unavailable(`${MAX_ACTIVE} runs go on already`);
      const started = now();
      const control = new AbortController();
      const { promise: done, resolve } = Promise.withResolvers<void>();
      const entry: Entry = {
        record: {
          run_id: id,
          source_type: source.type,
          source_id: source.id,
          script_path: source.path,
          commands: [...commands],
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
      entries.set(id, entry);
      note(entry.record);
      const abort = (reason: Error) => control.abort(reason);
      const deadline = setTimeout(
        () => abort(timedOut(`the run's deadline of ${timeoutSeconds} s has passed`)),
        timeoutSeconds * 1_000,
      );
      return {
        signal: control.signal,
        abort,
        is(status) {
          entry.record = { ...entry.record, status };
        },
        keep(outcome) {
          const bytes = sizeWithin(outcome, { bytes: entry.bytesLeft, depth: 100 });
          if (bytes === undefined || entry.outcomes.length >= MAX_KEPT_OUTCOMES) return;
          entry.bytesLeft -= bytes;
          entry.outcomes.push(outcome);
        },
        end(status, error) {
          clearTimeout(deadline);
          const finished = now();
          entry.record = {
            ...entry.record,
            status,
            error_text: error,
            finished_at: new Date(finished).toISOString(),
            duration_seconds: Math.max(0, finished - started) / 1_000,
          };
          note(entry.record);
          const counted = counts.find((known) => known.source === source.type && known.status === status);
          if (counted) counted.count++;
          ended.push(id);
          for (const old of ended.splice(0, Math.max(0, ended.length - MAX_KEPT_RUNS))) entries.delete(old);
          resolve();
        },
      };
    },
    totals: () => ({ active: active().length, ended: counts }),
    list: () => [...entries.values()].map(({ record }) => record).reverse(),
    show(id) {
      const { record, outcomes } = find(id);
      return { ...record, outcomes };
    },
    cancel(id, why) {
      const { record, control } = find(id);
      if (record.finished_at !== null) throw conflict(`run ${record.run_id} has ended: ${record.status}`);
      control.abort(cancelled(why));
      return record;
    },
    async stop(graceMs = GRACE_MS) {
      stopping = true;
      const over = () => Promise.all(active().map(({ done }) => done));
      await resolvesWithin(graceMs, over());
      for (const { control } of active()) control.abort(cancelled("the process that runs it is stopping"));
      await resolvesWithin(LAST_MS, over());
    },
  };
}
