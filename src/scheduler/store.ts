/**
 * `jobs.json`: the jobs, and how far they have come.
 *
 * Promise: a reader sees the old file or the new one, whichever process changes it. A file that is no jobs file is set
 * aside under another name, reported, and never overwritten; an entry that is no job is reported and stays where it is.
 */
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { basename, dirname } from "node:path";
import * as v from "valibot";
import { systemCode, unavailable } from "../lib/errors";
import { fileStamp, writeFileAtomic } from "../lib/files";
import { withLock } from "../lib/lock";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import { JOB, type Job } from "./job";

/** How long a broken file has to stay as it is, in milliseconds: an editor may be about to write the rest of it. */
const SETTLE_MS = 100;

/** The most jobs in the file. */
export const MAX_JOBS = 1_000;

export interface JobStore {
  /** The jobs as the file has them now, in its order. @throws an `unavailable` failure when it cannot be read. */
  jobs(): Promise<readonly Job[]>;
  /**
   * Changes the jobs, alone among all processes: `edit` is handed them and returns them as they are to be.
   *
   * @throws what `edit` throws, and then nothing has changed; as {@link JobStore.jobs}.
   */
  change(edit: (jobs: readonly Job[]) => readonly Job[] | Promise<readonly Job[]>): Promise<void>;
  /** What is wrong with the file, or was with one that has been set aside; names no folder. */
  problems(): string[];
}

const FILE = v.looseObject({ jobs: v.array(v.unknown()) });
type Content = v.InferOutput<typeof FILE>;

/** What the file held when it was last read. */
interface Snapshot {
  readonly stamp: string;
  readonly content: Content;
  readonly jobs: readonly Job[];
  /** The entries that are no jobs, and what is wrong with each. */
  readonly strange: readonly unknown[];
  readonly faults: readonly string[];
}

/** @param paths the file, and the lock of those who change it. */
export function createJobStore(paths: { file: string; lock: string }, log: Log): JobStore {
  const { file, lock } = paths;
  let known: Snapshot | undefined;

  const load = (): Snapshot => {
    const stamp = fileStamp(file);
    if (known?.stamp === stamp) return known;
    const content = readContent(file);
    const before = known?.faults.join("; ") ?? "";
    known = { stamp, content, ...parse(content) };
    const faults = known.faults.join("; ");
    if (faults !== "" && faults !== before) log.error(`${file}: left out ${printable(faults, 1_000)}`);
    return known;
  };

  const loadOrSetAside = async (): Promise<Snapshot> => {
    for (;;) {
      const stamp = fileStamp(file);
      try {
        return load();
      } catch (error) {
        if (!(error instanceof NoJobsFile)) throw error;
        await Bun.sleep(SETTLE_MS);
        if (fileStamp(file) !== stamp) continue;
        const aside = `${file}.broken-${new Date().toISOString().replaceAll(":", "")}`;
        renameSync(file, aside);
        log.error(`${file} is no jobs file: it is ${aside} now, and there are no jobs`);
      }
    }
  };

  return {
    async jobs() {
      try {
        return load().jobs;
      } catch (error) {
        if (!(error instanceof NoJobsFile)) throw error;
        return await withLock(lock, async () => (await loadOrSetAside()).jobs);
      }
    },
    change: (edit) =>
      withLock(lock, async () => {
        const { content, jobs, strange } = await loadOrSetAside();
        const edited = await edit(jobs);
        if (edited === jobs) return;
        writeFileAtomic(file, `${JSON.stringify({ ...content, jobs: [...edited, ...strange] }, null, 2)}\n`);
      }),
    problems() {
      const aside = readdirSync(dirname(file)).filter((name) => name.startsWith(`${basename(file)}.broken-`));
      return [
        ...(known?.faults ?? []),
        ...aside.map(
          (name) => `${basename(file)} was broken and is set aside as ${name}: mend it or delete it`,
        ),
      ];
    },
  };
}

/** The file holds something else. */
class NoJobsFile extends Error {}

function readContent(file: string): Content {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT") return { jobs: [] };
    throw unavailable(`the jobs file cannot be read (${code ?? "unknown error"})`);
  }
  try {
    return v.parse(FILE, JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch {
    throw new NoJobsFile();
  }
}

function parse({ jobs: entries }: Content): Pick<Snapshot, "jobs" | "strange" | "faults"> {
  const jobs = new Map<string, Job>();
  const strange: unknown[] = [];
  const faults: string[] = [];
  for (const [at, entry] of entries.entries()) {
    const parsed = v.safeParse(JOB, entry);
    if (parsed.success && !jobs.has(parsed.output.job_id)) {
      jobs.set(parsed.output.job_id, parsed.output);
      continue;
    }
    const fault = parsed.success
      ? "a job of that job_id comes before it"
      : `${v.getDotPath(parsed.issues[0]) ?? "the entry"}: ${parsed.issues[0].message}`;
    strange.push(entry);
    faults.push(`jobs[${at}]: ${printable(fault, 200)}`);
  }
  return { jobs: [...jobs.values()], strange, faults };
}
