/**
 * The traces that this host keeps: those that a client asked for, and that of the last failed run of each job.
 *
 * Promise: they take a bounded amount of the disk. What a killed process left of one is removed by the next.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../lib/alive";
import { conflict, messageOf, notFound, systemCode, unavailable } from "../lib/errors";
import { ensurePrivateFolder, PRIVATE_FOLDER, syncFolder, writeNamedFile } from "../lib/files";
import type { Log } from "../lib/log";
import { openTrace, type Trace } from "./open";
import { createRecorder, type StepEnd, type StepStart } from "./recorder";
import type { TracedRun } from "./trace";

/** How many traces that clients asked for are kept, and the most that those and the traces of jobs take, in bytes each. */
const MAX_ASKED = 20;
const MAX_BYTES = 512 * 1024 * 1024;

/** How many runs are traced at once. */
const MAX_TRACED = 8;

const SUFFIX = ".zip";
/** The folder of a run that is being traced: the process, and the run. */
const WORK = /^\.work-(\d+)-[0-9a-f-]{36}$/;

export interface TracesParts {
  /** `{config_dir}/traces`; made when the first trace begins. */
  readonly folder: string;
  /** How many traces of jobs are kept; 0 traces none. */
  readonly jobTraces: number;
  /** Takes a picture of the whole screen into a file. */
  shoot(file: string): Promise<unknown>;
  readonly log: Log;
}

/** A run as it begins. */
export interface TracedStart {
  readonly run_id: string;
  readonly source_type: string;
  readonly source_id: string;
  readonly script_path: string;
  readonly commands: readonly string[];
}

/** How a run ended; no secret is in it. */
export interface TracedEnd {
  readonly status: TracedRun["status"];
  readonly error_text: string | null;
}

/** A run that is being traced. */
export interface RunTrace {
  step(start: StepStart): Promise<(end: StepEnd) => Promise<void>>;
  /** Writes what was recorded where it is to be kept. Never throws. @returns null when it was not. */
  end(how: TracedEnd, scrub: (text: string) => string): Promise<TracedRun | null>;
}

/** A trace in a list. */
export interface KeptTrace extends TracedRun {
  readonly bytes: number;
}

export class Traces {
  private active = 0;

  constructor(private readonly parts: TracesParts) {}

  /**
   * Begins to trace a run.
   *
   * @param asked whether a client asked for it: then it is kept however the run ends, else when the run fails.
   * @returns undefined for a run that nobody asked to trace, where such are not traced.
   * @throws a `conflict` failure when too many runs are traced already, or the folder cannot be written.
   */
  async begin(start: TracedStart, asked: boolean): Promise<RunTrace | undefined> {
    const { folder, jobTraces, shoot, log } = this.parts;
    if (!asked && (jobTraces === 0 || this.active >= MAX_TRACED)) return undefined;
    if (this.active >= MAX_TRACED) throw conflict(`trace: ${MAX_TRACED} runs are traced already`);
    ensurePrivateFolder(folder);
    this.clear();
    const work = join(folder, `.work-${process.pid}-${start.run_id}`);
    mkdirSync(work, { mode: PRIVATE_FOLDER });
    this.active++;
    const recorder = createRecorder({ folder: work, shoot, sparse: !asked });
    const started_at = new Date().toISOString();
    return {
      step: recorder.step,
      end: async (how, scrub) => {
        this.active--;
        try {
          if (!asked && how.status === "ok") return null;
          const run = { ...start, commands: [...start.commands], ...how, started_at };
          const archive = join(work, "trace.zip");
          const written = await recorder.write(
            archive,
            { ...run, finished_at: new Date().toISOString() },
            scrub,
          );
          renameSync(archive, this.fileOf(start.run_id));
          syncFolder(folder);
          this.forget(start.run_id);
          return written;
        } catch (error) {
          log.warn(`the trace of run ${start.run_id} was not kept: ${messageOf(error)}`);
          return null;
        } finally {
          rmSync(work, { recursive: true, force: true });
        }
      },
    };
  }

  /** Newest first. */
  list(): KeptTrace[] {
    return this.ids().flatMap((id) => {
      const file = this.fileOf(id);
      try {
        using trace = openTrace(file);
        return [{ ...trace.run, bytes: statSync(file).size }];
      } catch {
        // It has just been removed, or somebody has put another file there.
        return [];
      }
    });
  }

  /**
   * The trace of a run, open.
   *
   * @param id the run's id, or a beginning of it that no other trace shares.
   * @throws a `not_found` failure; `conflict` when several ids begin so.
   */
  open(id: string): { readonly file: string; readonly trace: Trace } {
    const found = this.ids().filter((known) => known.startsWith(id));
    if (found.length > 1) throw conflict("several ids of runs begin so: give more of the id");
    const [only] = found;
    if (only === undefined) throw notFound("no trace of such a run is kept");
    const file = this.fileOf(only);
    return { file, trace: openTrace(file) };
  }

  /** Moves the trace of a run to a file that a person named. @throws a `bad_input` failure when it cannot be written. */
  moveTo(run_id: string, file: string, field: string): KeptTrace {
    const from = this.fileOf(run_id);
    const kept = this.list().find((one) => one.run_id === run_id);
    if (!kept) throw unavailable("the trace of this run could not be kept");
    writeNamedFile(file, readFileSync(from), field);
    rmSync(from, { force: true });
    return kept;
  }

  private fileOf(run_id: string): string {
    return join(this.parts.folder, `${run_id}${SUFFIX}`);
  }

  /** The ids of the runs whose traces are kept, newest first. */
  private ids(): string[] {
    return this.names()
      .filter((name) => /^[0-9a-f-]{36}\.zip$/.test(name))
      .map((name) => ({
        name,
        at: statSync(join(this.parts.folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
      }))
      .toSorted((a, b) => b.at - a.at)
      .map(({ name }) => name.slice(0, -SUFFIX.length));
  }

  private names(): string[] {
    try {
      return readdirSync(this.parts.folder);
    } catch (error) {
      if (systemCode(error) === "ENOENT") return [];
      throw error;
    }
  }

  /** Removes what is over the bounds, and older traces of the same job. @param newest the run whose trace has just come. */
  private forget(newest: string): void {
    const kept = this.list();
    const own = kept.find(({ run_id }) => run_id === newest);
    const isSameJob = (one: KeptTrace) =>
      isJob(one) && own !== undefined && isJob(own) && one.source_id === own.source_id;
    for (const jobs of [true, false]) {
      const most = jobs ? this.parts.jobTraces : MAX_ASKED;
      let count = 0;
      let bytes = 0;
      for (const one of kept.filter((trace) => isJob(trace) === jobs)) {
        bytes += one.bytes;
        const isOld = one.run_id !== newest && (isSameJob(one) || count >= most || bytes > MAX_BYTES);
        if (isOld) rmSync(this.fileOf(one.run_id), { force: true });
        else count++;
      }
    }
  }

  /** Removes what killed processes have left. */
  private clear(): void {
    for (const name of this.names()) {
      const pid = Number(WORK.exec(name)?.[1] ?? Number.NaN);
      const left = pid === process.pid ? this.active === 0 : !isAlive(pid);
      if (!Number.isNaN(pid) && left) rmSync(join(this.parts.folder, name), { recursive: true, force: true });
    }
  }
}

const isJob = ({ source_type }: TracedStart) => source_type === "scheduler";
