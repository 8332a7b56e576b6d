/**
 * The traces that this host keeps: those that a client asked for, and that of the last failed run of each job.
 *
 * Promise: they take a bounded amount of the disk. What a killed process left of one is removed by the next.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { HostStep } from "../../core/run";
import { isAlive } from "../../lib/alive";
import { busy, conflict, messageOf, notFound, unavailable } from "../../lib/errors";
import {
  ensurePrivateFolder,
  namesInFolder,
  PRIVATE_FOLDER,
  syncFolder,
  writeNamedFile,
} from "../../lib/files";
import type { Log } from "../../lib/log";
import { lookThrough } from "../../lib/look";
import { shortage } from "../../lib/quota";
import { openTrace, type Trace } from "./open";
import type { TracedRun } from "./trace";
import { createTraceWriter, type StepEnd, type StepStart } from "./trace-writer";
import { writePage } from "./write-page";

/** How many traces that clients asked for are kept, and the most that those and the traces of jobs take, in bytes each. */
const MAX_ASKED = 20;
const MAX_BYTES = 512 * 1024 * 1024;

/** How many runs that clients want traced are traced at once, and as many jobs; those of a named token leave some to others. */
const TRACED = { what: "traced runs", most: 8, times: 1 };

const SUFFIX = ".zip";
/** The folder of a run that is being traced: the process, and the run. */
const WORK = /^\.work-(\d+)-[0-9a-f-]{36}$/;

/** What a trace keeps of the screen. */
export interface TraceLooks {
  /** Takes a picture of the whole screen into a file. */
  shoot(file: string): Promise<unknown>;
  /** What programs show by name, in lines of so many bytes together. */
  outline?(bytes: number): Promise<readonly string[]>;
}

export interface TracesParts extends TraceLooks {
  /** `{config_dir}/traces`; made when the first trace begins. */
  readonly folder: string;
  /** How many traces of jobs are kept; 0 traces none. */
  readonly jobTraces: number;
  readonly log: Log;
}

/** A run as it begins. */
export type TracedStart = Readonly<
  Pick<TracedRun, "run_id" | "source_type" | "source_id" | "script_path">
> & {
  readonly commands: readonly string[];
  /** In whose share of what is limited it counts: the name of a token; null for the owner of the host. */
  readonly share: string | null;
};

/** How a run ended; no secret is in it. */
type TracedEnd = Readonly<Pick<TracedRun, "status" | "error_text">>;

/** A run that is being traced. */
export interface RunTrace {
  step(start: StepStart): Promise<(end: StepEnd) => Promise<void>>;
  /** Takes note of what another host has done. */
  add(step: HostStep): void;
  /** Writes what was recorded where it is to be kept. Never throws. @returns the run, and the digest of the archive; null when it was not kept. */
  end(
    how: TracedEnd,
    scrub: (text: string) => string,
  ): Promise<(TracedRun & { readonly sha256: string }) | null>;
}

interface KeptTrace extends TracedRun {
  readonly bytes: number;
}

export class Traces {
  /** The runs that are traced now. */
  private readonly active = new Set<{ readonly asked: boolean; readonly share: string | null }>();
  /** The folders of runs whose traces are under way, or are being written. */
  private readonly working = new Set<string>();

  constructor(private readonly parts: TracesParts) {}

  /**
   * Begins to trace a run.
   *
   * @param asked whether a client asked for it: then it is kept however the run ends, else when the run fails.
   * @returns undefined for a run that nobody asked to trace, where such are not traced. Where too many are, it notes nothing,
   *   and logs so when the run fails.
   * @param looks of the desktop on which the run works (default: that of the host).
   * @throws a `conflict` failure when too many runs are traced already, or the folder cannot be written.
   */
  async begin(
    { share, ...start }: TracedStart,
    asked: boolean,
    { shoot, outline }: TraceLooks = this.parts,
  ): Promise<RunTrace | undefined> {
    const { folder, jobTraces, log } = this.parts;
    if (!asked && jobTraces === 0) return undefined;
    const alike = [...this.active].filter((one) => one.asked === asked);
    const full = shortage(
      TRACED,
      alike.map((one) => one.share),
      share,
    );
    if (full !== undefined) {
      if (asked) throw busy(`trace: ${full}`, "conflict");
      return untraced((status) => {
        if (status !== "ok") log.warn(`run ${start.run_id} failed and was not traced: ${full}`);
      });
    }
    ensurePrivateFolder(folder);
    this.clear();
    const name = `.work-${process.pid}-${start.run_id}`;
    const work = join(folder, name);
    mkdirSync(work, { mode: PRIVATE_FOLDER });
    this.working.add(name);
    const slot = { asked, share };
    this.active.add(slot);
    const recorder = createTraceWriter({ folder: work, shoot, sparse: !asked, ...(outline && { outline }) });
    const started_at = new Date().toISOString();
    return {
      step: recorder.step,
      add: recorder.add,
      end: async (how, scrub) => {
        this.active.delete(slot);
        try {
          if (!asked && how.status === "ok") return null;
          const own = share === null ? {} : { share };
          const run = { ...start, ...own, commands: [...start.commands], ...how, started_at };
          const archive = join(work, "trace.zip");
          const ended = { ...run, finished_at: new Date().toISOString() };
          const written = await recorder.write(archive, ended, scrub);
          const sha256 = await digestOf(archive);
          renameSync(archive, this.fileOf(start.run_id));
          syncFolder(folder);
          this.forget(start.run_id);
          return { ...written, sha256 };
        } catch (error) {
          log.warn(`the trace of run ${start.run_id} was not kept: ${messageOf(error)}`);
          return null;
        } finally {
          this.working.delete(name);
          this.remove(name);
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

  /** Writes the trace of a run as a page that shows it. @throws as {@link open}; `bad_input` when the page cannot be written. */
  async writePage(run_id: string, page: string, field: string): Promise<void> {
    const { file, trace } = this.open(run_id);
    using _ = trace;
    await writePage(trace, file, page, field);
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
        at: lookThrough(join(this.parts.folder, name))?.mtimeMs ?? 0,
      }))
      .toSorted((a, b) => b.at - a.at)
      .map(({ name }) => name.slice(0, -SUFFIX.length));
  }

  private names(): string[] {
    return namesInFolder(this.parts.folder);
  }

  /**
   * Removes older traces of the same job, and what is over the bounds: the oldest of whoever has most, so that nobody pushes
   * out the traces of others.
   *
   * @param newest the run whose trace has just come.
   */
  private forget(newest: string): void {
    const kept = this.list();
    const own = kept.find(({ run_id }) => run_id === newest);
    const isSameJob = (one: KeptTrace) =>
      isJob(one) && own !== undefined && isJob(own) && one.source_id === own.source_id;
    const remove = ({ run_id }: KeptTrace) => rmSync(this.fileOf(run_id), { force: true });
    const isOlder = (one: KeptTrace) => one.run_id !== newest && isSameJob(one);
    kept.filter(isOlder).forEach(remove);
    const rest = kept.filter((one) => !isOlder(one));
    const [jobs, asked] = [rest.filter(isJob), rest.filter((one) => !isJob(one))];
    for (const [traces, most] of [[jobs, this.parts.jobTraces] as const, [asked, MAX_ASKED] as const]) {
      const tooMany = beyondShares(traces, newest, () => 1, most);
      const others = traces.filter((one) => !tooMany.includes(one));
      [...tooMany, ...beyondShares(others, newest, ({ bytes }) => bytes, MAX_BYTES)].forEach(remove);
    }
  }

  /** Removes what killed processes have left. */
  clear(): void {
    for (const name of this.names()) {
      const pid = Number(WORK.exec(name)?.[1] ?? Number.NaN);
      const left = pid === process.pid ? !this.working.has(name) : !isAlive(pid);
      if (!Number.isNaN(pid) && left) this.remove(name);
    }
  }

  /** Removes the folder of a run. Never throws: what cannot be removed now goes with the next trace, or at the next start. */
  private remove(name: string): void {
    try {
      rmSync(join(this.parts.folder, name), { recursive: true, force: true });
    } catch (error) {
      this.parts.log.warn(`what is left of a trace, ${name}, was not removed: ${messageOf(error)}`);
    }
  }
}

async function digestOf(file: string): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const part of Bun.file(file).stream()) hasher.update(part);
  return hasher.digest("hex");
}

const isJob = ({ source_type }: Pick<TracedStart, "source_type">) => source_type === "scheduler";

/** What a run has that is not traced. @param ended takes how it ended. */
const untraced = (ended: (status: TracedEnd["status"]) => void): RunTrace => ({
  step: async () => async () => {},
  add() {},
  async end({ status }) {
    ended(status);
    return null;
  },
});

/**
 * Those of `traces`, newest first, that are too many when all together may take `most`: each time the oldest of the share that
 * takes most.
 *
 * @param newest the run whose trace stays.
 */
function beyondShares(
  traces: readonly KeptTrace[],
  newest: string,
  taken: (trace: KeptTrace) => number,
  most: number,
): KeptTrace[] {
  const sum = (some: readonly KeptTrace[]) => some.reduce((all, one) => all + taken(one), 0);
  const left = [...traces];
  while (sum(left) > most) {
    const shares = [...Map.groupBy(left, ({ share }) => share).values()].toSorted((a, b) => sum(b) - sum(a));
    const [oldest] = shares.flatMap((own) => own.findLast(({ run_id }) => run_id !== newest) ?? []);
    if (oldest === undefined) break;
    left.splice(left.indexOf(oldest), 1);
  }
  return traces.filter((one) => !left.includes(one));
}
