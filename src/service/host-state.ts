/**
 * What of this host the state of a desk's file is about: its scripts, jobs, settings and secrets, as the features have them.
 */
import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import { parseInput } from "../core/input";
import { allows, type Grant } from "../core/rights";
import { digestOf, type NewScript, SCRIPT_FIELDS } from "../host/runs/stored-scripts";
import type { Job } from "../host/scheduler/job";
import { jobOf, NEW_JOB } from "../host/scheduler/operations";
import type { JobPart, ScriptPart, StateParts } from "../host/state/parts";
import { badInput, Failure } from "../lib/errors";
import { version } from "../version";
import type { WantedJob, WantedScript } from "../wire/state/wanted";
import type { Service } from "./interface";

/** As they are now. */
export async function stateParts(service: Service): Promise<StateParts> {
  const [scripts, settings, secrets, shown] = await Promise.all([
    scriptPart(service),
    service.settings(),
    service.secrets(),
    service.blackBoxShown(),
  ]);
  // What is left of before goes by itself: nothing is kept any more.
  const blackBox = shown === null || shown === "left" ? "off" : shown;
  return {
    ...{ scripts, settings, blackBox, version },
    jobs: jobPart(service),
    secrets: () => secrets.list().map(({ name }) => name),
  };
}

const FIELDS = v.strictObject(SCRIPT_FIELDS);

/** A wanted script as it is stored. */
const storedAs = (name: string, { actions, ...fields }: WantedScript): NewScript => ({
  ...{ name, actions },
  ...parseInput(FIELDS, fields),
});

async function scriptPart(service: Service): Promise<ScriptPart> {
  const stored = await service.storedScripts();
  return {
    digests: () => new Map(stored.list().map(({ name, sha256 }) => [name, sha256])),
    digestOf: (name, script) => digestOf(storedAs(name, script)),
    check: ({ actions }) => service.checkScript(actions),
    async store(name, script, caller) {
      await service.storeScript(storedAs(name, script), true, caller, "state.apply");
    },
    async remove(name) {
      if (!stored.has(name)) return;
      await stored.remove(name);
      await service.endJobsOfScript(name);
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

/** A wanted job as the scheduler has it. */
const scheduledAs = (id: string, { script, script_path, ...fields }: WantedJob, grant: Grant): Job => {
  const path = script === undefined ? script_path : `script:${script}`;
  return jobOf(parseInput(NEW_JOB, { ...fields, job_id: id, script_path: path }), grant);
};

/** What `work` returns. @throws what it throws, a `bad_input` failure with the name of the job. */
async function aboutJob<T>(id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "bad_input") throw error;
    throw badInput(`jobs.${id}: ${error.message}`);
  }
}

function jobPart(service: Service): JobPart {
  return {
    ids: async () => (await (await service.scheduler()).jobs()).map(({ job_id }) => job_id),
    async differing(id, wanted, grant) {
      const scheduler = await service.scheduler();
      const job = await aboutJob(id, async () => {
        const job = scheduledAs(id, wanted, grant);
        await scheduler.nextOf(job);
        return job;
      });
      const found = (await scheduler.jobs()).find(({ job_id }) => job_id === id);
      return found && differingFields(found, job, grant);
    },
    async put(id, wanted, grant) {
      await (await service.scheduler()).put(scheduledAs(id, wanted, grant));
    },
    async remove(id) {
      const scheduler = await service.scheduler();
      if ((await scheduler.jobs()).some(({ job_id }) => job_id === id)) await scheduler.remove(id);
    },
  };
}

/** The names of the fields in which a job is not as it is wanted. */
function differingFields(found: Job, wanted: Job, grant: Grant): string[] {
  const fields: string[] = JOB_FIELDS.filter((field) => !isDeepStrictEqual(found[field], wanted[field]));
  // Values may be secret: whoever may not read those of others learns nothing of them by comparing.
  const mayCompare = allows(grant, "admin") || found.token === grant.name;
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
