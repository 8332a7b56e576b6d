/**
 * What of this host the state of a desk's file is about: its scripts, jobs, settings, secrets and black box, as the features have them.
 */
import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import { parseInput } from "../core/input";
import { allows, type Grant, isSession } from "../core/rights";
import { digestOf, type NewScript, SCRIPT_FIELDS } from "../host/runs/stored-scripts";
import type { Job } from "../host/scheduler/job";
import { jobOf, NEW_JOB } from "../host/scheduler/operations";
import type { BlackBoxPart, JobPart, ScriptPart, StateParts } from "../host/state/parts";
import { badInput, busy, Failure } from "../lib/errors";
import { nextSlice } from "../lib/turn";
import { version } from "../version";
import type { WantedJob, WantedScript } from "../wire/state/wanted";
import type { Service } from "./interface";

/** As they are now. */
export async function stateParts(service: Service): Promise<StateParts> {
  const [scripts, jobs, settings, secrets, tokens, blackBox] = await Promise.all([
    scriptPart(service),
    jobPart(service),
    service.settings(),
    service.secrets(),
    service.tokens(),
    blackBoxPart(service),
  ]);
  return {
    scripts,
    jobs,
    settings,
    blackBox,
    version,
    secrets: () => secrets.list().map(({ name }) => name),
    // A person has no token, and comes back.
    isGone: (token) => !isSession(token) && !tokens.list().some(({ name }) => name === token),
  };
}

async function blackBoxPart(service: Service): Promise<BlackBoxPart> {
  const shown = await service.blackBoxShown();
  const isOfState = async () => (await service.blackBox()).paused?.state !== undefined;
  return {
    // What is left of before goes by itself: nothing is kept any more.
    state: shown === null || shown === "left" ? "off" : shown,
    isPausedByState: shown === "paused" && (await isOfState()),
    async set(isOn, token, state) {
      const box = await service.blackBox();
      if (!isOn) await box.pause(token, state);
      else if (await isOfState()) box.resume();
    },
  };
}

const FIELDS = v.strictObject(SCRIPT_FIELDS);

const storedAs = (name: string, { actions, ...fields }: WantedScript): NewScript => ({
  name,
  actions,
  ...parseInput(FIELDS, fields),
});

async function scriptPart(service: Service): Promise<ScriptPart> {
  const stored = await service.storedScripts();
  const endJobs = async (names: readonly string[]) => {
    for (const name of names) await service.endJobsOfScript(name);
  };
  return {
    digests: () => new Map(stored.list().map(({ name, sha256 }) => [name, sha256])),
    digestOf: (name, script) => digestOf(storedAs(name, script)),
    async prepare({ wanted, put, remove }, caller) {
      const { scriptChecks, storedRow } = await import("../host/runs/operations/scripts");
      const all = Object.entries(wanted).map(([name, script]) => storedAs(name, script));
      const check = await scriptChecks(service, all, remove, caller);
      const isPut = new Set(put);
      const rows: string[] = [];
      // What stays may call what goes.
      for (const script of remove.length > 0 ? all : all.filter(({ name }) => isPut.has(name))) {
        const { name } = script;
        const waits = nextSlice();
        if (waits) await waits;
        const described = await about(`scripts.${name}`, () => check(script));
        if (isPut.has(name)) rows.push(storedRow("state.apply", name, true, described));
      }
      const full = stored.shortage(put, remove);
      if (full !== undefined) throw busy(full, "conflict");
      // A job may still run one that goes: unless there is no room for both, it goes when the jobs have changed.
      const early = stored.shortage(put, []) === undefined ? [] : remove;
      const late = early.length > 0 ? [] : remove;
      return {
        async store() {
          for (const row of rows) await caller.announce(row);
          if (put.length > 0) {
            await stored.change(
              all.filter(({ name }) => isPut.has(name)),
              early,
            );
            await endJobs(early);
          }
        },
        async remove() {
          if (late.length === 0) return;
          await stored.change([], late);
          await endJobs(late);
        },
      };
    },
  };
}

/** What two jobs are compared by. */
const JOB_FIELDS = [
  "script_path",
  "interval_seconds",
  "cron_expression",
  "time_zone",
  "repeat",
  "max_runs",
  "if_missed",
  "if_running",
  "timeout_seconds",
  "stop_on_error",
  "desktop",
] as const satisfies ReadonlyArray<keyof Job>;

/** Those of them that say when it runs. */
const TIMES = ["interval_seconds", "cron_expression", "time_zone"] as const satisfies ReadonlyArray<
  keyof Job
>;

const scheduledAs = (id: string, { script, script_path, ...fields }: WantedJob, grant: Grant): Job => {
  const path = script === undefined ? script_path : `script:${script}`;
  return jobOf(parseInput(NEW_JOB, { ...fields, job_id: id, script_path: path }), grant);
};

/** What `work` returns. @throws what it throws, a `bad_input` failure with the place that it is about. */
async function about<T>(place: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "bad_input") throw error;
    throw badInput(`${place}: ${error.message}`);
  }
}

async function jobPart(service: Service): Promise<JobPart> {
  const scheduler = await service.scheduler();
  // Read once: a state may have a thousand.
  const jobs = new Map((await scheduler.jobs()).map((job) => [job.job_id, job]));
  return {
    ids: () => [...jobs.keys()],
    differing: (id, wanted, grant) =>
      about(`jobs.${id}`, async () => {
        const job = scheduledAs(id, wanted, grant);
        const found = jobs.get(id);
        // The times of one that is scheduled can be.
        const isKnown = found && found.next_run_at !== null;
        if (!isKnown || TIMES.some((field) => found[field] !== job[field])) await scheduler.nextOf(job);
        return found && differingFields(found, job, grant);
      }),
    async prepare({ wanted, put, remove }, grant) {
      const isPut = new Set(put);
      const all = Object.entries(wanted)
        .filter(([id]) => isPut.has(id))
        .map(([id, job]) => scheduledAs(id, job, grant));
      const putAll = await scheduler.prepare(all, remove);
      return async () => {
        if (all.length + remove.length > 0) await putAll();
      };
    },
  };
}

/** The names of the fields in which a job is not as it is wanted. */
function differingFields(found: Job, wanted: Job, grant: Grant): string[] {
  const fields: string[] = JOB_FIELDS.filter((field) => !isDeepStrictEqual(found[field], wanted[field]));
  // Values may be secret: whoever may not read those of others learns nothing of them by comparing.
  const isMaker = found.token !== null && found.token === grant.name && !grant.limited;
  const mayCompare = allows(grant, "admin") || isMaker;
  const [ofFound, ofWanted] = [found.variables ?? {}, wanted.variables ?? {}];
  const isSame = mayCompare && isDeepStrictEqual(ofFound, ofWanted);
  const areNone = Object.keys(ofFound).length + Object.keys(ofWanted).length === 0;
  if (!isSame && !areNone) fields.push("variables");
  if (isPausedByHand(found)) fields.push("paused");
  if (found.disabled_reason !== null) fields.push("disabled");
  return fields;
}

/** Whether somebody has paused it: one that has had its runs is paused too. */
const isPausedByHand = ({ enabled, repeat, max_runs, runs, disabled_reason }: Job): boolean =>
  !enabled && disabled_reason === null && repeat && (max_runs === null || runs < max_runs);
