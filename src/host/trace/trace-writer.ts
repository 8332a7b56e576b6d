/**
 * Recording a run: its actions as steps, and pictures of the screen around those that look or act.
 *
 * Promise: recording never fails the run. A trace is bounded in steps, pictures and bytes; the latest are kept, as what
 * went wrong is at the end. What is written has no secret but what the screen itself showed.
 */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { MEND, type Mend } from "../../core/mend";
import type { HostStep, Outcome } from "../../core/run";
import { deadline } from "../../lib/deadline";
import { messageOf } from "../../lib/errors";
import { sizeWithin } from "../../lib/json-size";
import { mapTexts } from "../../lib/map-texts";
import { jsonLine } from "../../lib/sanitize";
import { createZip } from "../../lib/zip";
import { LIMITS, PICTURES, RUN_FILE, STEPS_FILE, type Step, type TracedRun } from "./trace";

/** How long the screen has to show what an action did before the picture after it, in milliseconds. */
const SETTLE_MS = 50;

/** A picture that is younger than this is also the one before the next action, in milliseconds. */
const SAME_MS = 100;

/** How far apart the pictures of a run are that nobody asked to trace, in milliseconds: they must not slow it down. */
const SPARSE_MS = 250;

/** After so many pictures in a row that failed, no more are taken. */
const MAX_FAILED = 3;

/** How much of an error is written, in characters, and the most that is remembered until then. */
const MAX_ERROR = 2_000;
const MAX_REMEMBERED = 20_000;

/** The most that the arguments of an action take, and the longest text in them, in characters. */
const MAX_ARGUMENTS = { bytes: 4_096, depth: 64 };
const MAX_TEXT = 1_000;

interface TraceWriterParts {
  /** A private folder of its own, which exists. */
  readonly folder: string;
  /** Takes a picture of the whole screen into a file. */
  shoot(file: string): Promise<unknown>;
  /** What programs show by name, in lines of so many bytes together. */
  outline?(bytes: number): Promise<readonly string[]>;
  /** Set for a run that nobody asked to trace. */
  readonly sparse: boolean;
}

/** An action that begins. */
export interface StepStart {
  readonly place: string;
  readonly command: string;
  /** As they were written, without lists inside and without secrets that the schema knows. */
  readonly arguments: unknown;
  /** Whether it looks at the screen or acts on it. */
  readonly pictured: boolean;
  /** Whether it finds something by name. */
  readonly named?: boolean;
}

/** How a step ended: an outcome without secrets. */
export type StepEnd = Pick<Outcome, "ok" | "result" | "error" | "duration_ms"> & {
  readonly mend?: Mend;
};

interface Shot {
  readonly name: string;
  readonly file: string;
  readonly bytes: number;
  readonly digest: bigint | number;
  readonly at: number;
}

function endOf({ ok, result, error, duration_ms, mend }: StepEnd): Partial<Step> {
  const element = wordsOf(result);
  return {
    ok,
    duration_ms,
    ...(error !== undefined && { error: error.slice(0, MAX_REMEMBERED) }),
    ...(result !== undefined && { result }),
    ...(element !== undefined && { element }),
    ...(mend && { mend: v.parse(MEND, mend) }),
  };
}

export function createTraceWriter({ folder, shoot, outline, sparse }: TraceWriterParts) {
  const started = performance.now();
  const steps: Step[] = [];
  const pictures = createPictures(folder, shoot);
  const trees = createTrees(outline);
  const ran = new Set<string>();
  let stepCount = 0;
  let stepBytes = 0;
  let omittedSteps = 0;

  const count = (step: Step, sign: 1 | -1) => {
    stepBytes += sign * Buffer.byteLength(JSON.stringify(step));
  };
  const forgetSteps = () => {
    while (steps.length > LIMITS.steps || (stepBytes > LIMITS.stepBytes && steps.length > 1)) {
      // Those around the present one have not ended.
      const at = steps.findIndex(({ ok }) => ok !== null);
      const [oldest] = at < 0 ? [] : steps.splice(at, 1);
      if (!oldest) return;
      count(oldest, -1);
      omittedSteps++;
    }
  };

  return {
    /** Takes note that an action begins. @returns takes note of its end. Neither throws. */
    async step({
      place,
      command,
      pictured,
      named = false,
      ...start
    }: StepStart): Promise<(end: StepEnd) => Promise<void>> {
      const step: Step = {
        number: ++stepCount,
        place,
        command,
        arguments: shortened(start.arguments),
        at_ms: 0,
        duration_ms: null,
        ok: null,
        before: null,
        after: null,
      };
      steps.push(step);
      ran.add(command);
      if (pictured) {
        const isFresh = pictures.ageOfLast() < (sparse ? SPARSE_MS : SAME_MS);
        step.before = isFresh ? pictures.last() : await pictures.take(step);
      }
      step.at_ms = rounded(performance.now() - started);
      return async (end) => {
        if (pictured && !(sparse && end.ok && pictures.ageOfLast() < SPARSE_MS)) {
          if (!sparse) await Bun.sleep(SETTLE_MS);
          step.after = await pictures.take(step);
          await trees.take(step, named);
        }
        Object.assign(step, endOf(end));
        count(step, 1);
        forgetSteps();
      };
    },
    /** Takes note of an action of another host. Never throws. */
    add(taken: HostStep): void {
      const step = stepOf(taken, ++stepCount, started);
      steps.push(step);
      ran.add(step.command);
      count(step, 1);
      forgetSteps();
    },
    /**
     * Writes the archive to `file`, which must not exist yet.
     *
     * @param scrub replaces the secrets that became known during the run.
     */
    async write(
      file: string,
      run: Omit<
        TracedRun,
        "format" | "version" | "steps" | "pictures" | "omitted_steps" | "omitted_pictures"
      >,
      scrub: (text: string) => string,
    ): Promise<TracedRun> {
      const { shots } = pictures;
      const known = new Set(shots.map(({ name }) => name));
      const kept = (name: string | null) => (name !== null && known.has(name) ? name : null);
      const clean = inOrder(steps).map((step): Step => {
        const { error, ...rest } = mapTexts(step, scrub);
        const around = { before: kept(step.before), after: kept(step.after) };
        // Cut off last: in a part of it, a secret could not be recognized.
        return { ...rest, ...around, ...(error !== undefined && { error: cut(error, MAX_ERROR) }) };
      });
      const about: TracedRun = {
        format: "svc-trace",
        version: 1,
        ...run,
        // A script whose path is in a variable adds some to those that were known at the start.
        commands: [...new Set([...run.commands, ...ran])],
        steps: clean.length,
        pictures: shots.length,
        omitted_steps: omittedSteps,
        omitted_pictures: pictures.omitted(),
      };
      await writeArchive(file, about, clean, shots);
      return about;
    },
  };
}

/** How long what programs show is waited for, in milliseconds. */
const TREE_MS = 1_500;

/** What programs show, from the first step on that finds something by name: asking for it changes how programs start. */
function createTrees(outline: TraceWriterParts["outline"]) {
  let isWanted = false;
  let failures = 0;
  return {
    async take(step: Step, named: boolean): Promise<void> {
      isWanted ||= named;
      if (!isWanted || !outline || failures >= MAX_FAILED) return;
      try {
        step.tree = [...(await deadline(outline(LIMITS.treeBytes), { ms: TREE_MS }))];
        failures = 0;
      } catch {
        failures++;
      }
    },
  };
}

const USED = v.object({
  role: v.string(),
  name: v.string(),
  window_title: v.string(),
  healed: v.optional(v.boolean(), false),
  found_by: v.optional(v.string()),
  by: v.optional(v.string()),
});
/** A place that was found in one of several ways. */
const HEALED = v.object({ x: v.number(), y: v.number(), healed: v.literal(true), found_by: v.string() });

/** The element that is a result, or the deeds of AC_act, in words. */
function wordsOf(result: unknown): string | undefined {
  if (v.is(DONE, result)) return result.done.join("; ");
  if (v.is(HEALED, result)) return `healed: found by its ${result.found_by}, at ${result.x}, ${result.y}`;
  if (!v.is(USED, result)) return undefined;
  const { role, name, window_title, healed, found_by, by } = result;
  const where = window_title === "" ? "" : ` in window ${jsonLine(window_title)}`;
  const how = by === "real" ? " (by pointer and keyboard)" : "";
  return `${role} ${jsonLine(name)}${where}${healed ? ` (healed: found by its ${found_by})` : ""}${how}`;
}

const DONE = v.object({ done: v.array(v.string()) });

/** The pictures of a trace: the newest, within {@link LIMITS}. */
function createPictures(folder: string, shoot: TraceWriterParts["shoot"]) {
  const shots: Shot[] = [];
  let shotCount = 0;
  let shotBytes = 0;
  let failedShots = 0;
  let omitted = 0;

  const forget = async () => {
    while (shots.length > 1 && (shots.length > LIMITS.pictures || shotBytes > LIMITS.bytes)) {
      const oldest = shots.shift();
      if (!oldest) return;
      shotBytes -= oldest.bytes;
      omitted++;
      await rm(oldest.file, { force: true });
    }
  };
  /** The name of a new picture; that of the last one when the screen has not changed since. */
  const shootNew = async (): Promise<string> => {
    const number = ++shotCount;
    const file = join(folder, `${number}.png`);
    await shoot(file);
    const data = await readFile(file);
    const digest = Bun.hash(data);
    const last = shots.at(-1);
    if (last && last.digest === digest && last.bytes === data.length) {
      shots[shots.length - 1] = { ...last, at: performance.now() };
      await rm(file, { force: true });
      return last.name;
    }
    const name = `${PICTURES}${String(number).padStart(5, "0")}.png`;
    shots.push({ name, file, bytes: data.length, digest, at: performance.now() });
    shotBytes += data.length;
    await forget();
    return name;
  };
  return {
    /** Those that are kept, the oldest first. */
    shots: shots as readonly Shot[],
    omitted: () => omitted,
    last: (): string | null => shots.at(-1)?.name ?? null,
    /** How old the last one is, in milliseconds. */
    ageOfLast: () => performance.now() - (shots.at(-1)?.at ?? Number.NEGATIVE_INFINITY),
    /** Takes a picture for a step. @returns its name; null where there is none, and then the step says why. */
    async take(step: Step): Promise<string | null> {
      if (failedShots >= MAX_FAILED) return null;
      try {
        const name = await shootNew();
        failedShots = 0;
        return name;
      } catch (error) {
        failedShots++;
        step.no_picture = messageOf(error);
        return null;
      }
    },
  };
}

async function writeArchive(
  file: string,
  about: TracedRun,
  steps: readonly Step[],
  shots: readonly Shot[],
): Promise<void> {
  const zip = await createZip(file);
  try {
    await zip.add(RUN_FILE, Buffer.from(JSON.stringify(about)));
    await zip.add(STEPS_FILE, Buffer.from(JSON.stringify(steps)));
    for (const shot of shots) await zip.add(shot.name, await readFile(shot.file));
    await zip.finish();
  } finally {
    await zip.close();
  }
}

/** A step of another host: it has no pictures. @param started when the trace was, by `performance.now()`. */
const stepOf = (
  { host, place, command, began, duration_ms, ok, error, ...step }: HostStep,
  number: number,
  started: number,
): Step => ({
  number,
  place,
  command,
  host,
  arguments: shortened(step.arguments),
  at_ms: rounded(began - started),
  duration_ms,
  ok,
  ...(error !== undefined && { error: error.slice(0, MAX_REMEMBERED) }),
  before: null,
  after: null,
});

/** The steps in the order of their beginnings: those of other hosts are known only once they have ended. */
function inOrder(steps: readonly Step[]): Step[] {
  if (steps.every(({ host }) => host === undefined)) return [...steps];
  const numbers = steps.map(({ number }) => number).sort((a, b) => a - b);
  return steps
    .toSorted((a, b) => a.at_ms - b.at_ms || a.number - b.number)
    .map((step, at) => ({ ...step, number: numbers[at] ?? step.number }));
}

const rounded = (ms: number) => Math.round(ms * 1_000) / 1_000;

const cut = (text: string, max: number) => (text.length > max ? `${text.slice(0, max)}…` : text);

/** `value` with its long texts left out, such as a picture in base64. In a part of one, a secret could not be recognized. */
function shortened(value: unknown): unknown {
  const short = mapTexts(value, (text) => (text.length > MAX_TEXT ? `(${text.length} characters)` : text));
  return sizeWithin(short, MAX_ARGUMENTS) === undefined ? "(too large to be kept)" : short;
}
