import { resolve } from "node:path";
import { type CommandGroup, command, print, terminated, withService } from "../src/cli/command";
import { ask, onHosts } from "../src/cli/fan-out";
import { callLocalServer } from "../src/client/local-server";
import { callOperation } from "../src/core/call";
import { localCaller } from "../src/core/caller";
import { DEFAULT_TIMEOUT_S } from "../src/core/run";
import { parseDuration } from "../src/lib/duration";
import { badInput } from "../src/lib/errors";
import { findRunningServer } from "../src/lib/running-server";
import { printable } from "../src/lib/sanitize";
import { IF_MISSED, IF_RUNNING } from "../src/scheduler/job";
import {
  addCronJob,
  addJob,
  type JobTold,
  listJobs,
  pauseJob,
  removeJob,
  resumeJob,
  runJob,
} from "../src/scheduler/operations";

const list = command({
  builder: (argv) => onHosts(argv).example("$0 jobs list", "Every job, and when it runs next"),
  handler: (flags) =>
    withService(flags, (service) =>
      ask(
        service,
        flags,
        listJobs,
        {},
        {
          columns: ["JOB", "WHEN", "NEXT", "RUNS", "IF MISSED", "IF RUNNING", "SCRIPT"],
          rows: ({ jobs }) => jobs.map(jobRow),
          none: "no jobs",
          warnings: ({ problems = [] }) => problems,
          good: ({ problems = [] }) => problems.length === 0,
        },
      ),
    ),
});

const add = command({
  builder: (argv) =>
    argv
      .positional("script", { type: "string", demandOption: true, describe: "Path of a .json file" })
      .option("every", { type: "string", describe: "Interval: 30s, 15m, 6h, 1d, or seconds" })
      .option("cron", { type: "string", describe: "Cron expression, instead of an interval" })
      .option("time-zone", { type: "string", describe: "What --cron is read in (that of this host)" })
      .option("id", { type: "string", describe: "What to call the job (a random id)" })
      .option("once", { type: "boolean", default: false, describe: "With --every: run a single time" })
      .option("max-runs", { type: "number", describe: "Runs after which it is paused" })
      .option("if-missed", {
        choices: IF_MISSED,
        default: "skip" as const,
        describe: "Runs missed while down",
      })
      .option("if-running", {
        choices: IF_RUNNING,
        default: "skip" as const,
        describe: "Time, and it still runs",
      })
      .option("timeout", { type: "number", default: DEFAULT_TIMEOUT_S, describe: "Seconds a run may take" })
      .conflicts("every", "cron")
      .example("$0 jobs add refresh.json --every 15m", "Every quarter of an hour")
      .example('$0 jobs add n.json --cron "30 2 * * *"', "At half past two each night"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const settings = {
        // Nothing is no folder.
        script_path: flags.script && resolve(flags.script),
        job_id: flags.id,
        max_runs: flags.maxRuns ?? null,
        if_missed: flags.ifMissed,
        if_running: flags.ifRunning,
        timeout_seconds: flags.timeout,
      };
      const caller = localCaller(service, "cli");
      const { cron: cron_expression, timeZone: time_zone, once } = flags;
      if (cron_expression !== undefined && once) throw badInput("once: expected with --every only");
      if (cron_expression === undefined && time_zone !== undefined) {
        throw badInput("time-zone: expected with --cron only");
      }
      const job =
        cron_expression === undefined
          ? await callOperation(
              service,
              addJob,
              { ...settings, interval_seconds: secondsOf(flags.every), repeat: !once },
              caller,
            )
          : await callOperation(service, addCronJob, { ...settings, cron_expression, time_zone }, caller);
      print(flags, job, () => `${job.job_id} runs next at ${job.next_run_at}`);
      if (job.problem) service.log.warn(`its script cannot be run as it is now: ${job.problem}`);
      return 0;
    }),
});

/** A subcommand that does one thing to one job. */
const changing = (
  operation: typeof pauseJob | typeof resumeJob,
  example: string,
  text: (job: JobTold) => string,
) =>
  command({
    builder: (argv) =>
      argv
        .positional("id", { type: "string", demandOption: true, describe: "The job" })
        .example(`$0 jobs ${example}`, ""),
    handler: (flags) =>
      withService(flags, async (service) => {
        const job = await callOperation(
          service,
          operation,
          { job_id: flags.id },
          localCaller(service, "cli"),
        );
        print(flags, job, () => text(job));
        return 0;
      }),
  });

const remove = command({
  builder: (argv) =>
    argv
      .positional("id", { type: "string", demandOption: true, describe: "The job" })
      .example("$0 jobs remove nightly", ""),
  handler: (flags) =>
    withService(flags, async (service) => {
      const removed = await callOperation(
        service,
        removeJob,
        { job_id: flags.id },
        localCaller(service, "cli"),
      );
      print(flags, removed, () => `${flags.id} is removed`);
      return 0;
    }),
});

const run = command({
  builder: (argv) =>
    argv
      .positional("id", { type: "string", demandOption: true, describe: "The job" })
      .option("allow-shell", {
        type: "boolean",
        default: false,
        describe: "Let the script run programs, where no server runs it",
      })
      .example("$0 jobs run nightly", "Now, besides its times, in the server if one runs"),
  handler: (flags) =>
    withService(
      flags,
      async (service) => {
        const running = findRunningServer(service.configDir) !== null;
        const input = { job_id: flags.id, wait: !running };
        if (!running) void terminated().then(async () => (await service.runs()).stop(0));
        const done = running
          ? await callLocalServer(service.configDir, runJob, input)
          : await callOperation(service, runJob, input, localCaller(service, "cli"));
        print(flags, done, () => `run ${done.run_id}: ${done.status}`);
        if (done.error_text) service.log.error(done.error_text);
        return done.status === "ok" || done.status === "running" ? 0 : 1;
      },
      { allowShell: flags.allowShell },
    ),
});

export default {
  examples: [
    ["$0 jobs add refresh.json --every 15m", "Run a script four times an hour"],
    ["$0 jobs list", "Every job, and when it runs next"],
  ],
  group: {
    list: { describe: "List the jobs", ...list },
    "add <script>": { describe: "Add a job", ...add },
    "remove <id>": { describe: "Remove a job", ...remove },
    "pause <id>": {
      describe: "Start no further run of a job",
      ...changing(pauseJob, "pause nightly", (job) => `${job.job_id} is paused`),
    },
    "resume <id>": {
      describe: "Go on with a paused job, its times counted from now",
      ...changing(resumeJob, "resume nightly", (job) => `${job.job_id} runs next at ${job.next_run_at}`),
    },
    "run <id>": { describe: "Run a job now", ...run },
  },
} satisfies CommandGroup;

/** The seconds in `15m`. @throws a `bad_input` failure. */
function secondsOf(text: string | undefined): number {
  if (text === undefined) throw badInput("every, cron: expected one of them");
  const seconds = parseDuration(/\d$/.test(text) ? `${text}s` : text);
  if (seconds !== undefined) return seconds;
  throw badInput(`every: expected 30s, 15m, 6h or 1d but found ${printable(text, 80)}`);
}

const jobRow = (job: JobTold) => [
  job.job_id,
  job.is_cron
    ? [job.cron_expression ?? "cron", job.time_zone].filter(Boolean).join(" ")
    : `every ${job.interval_seconds} s`,
  job.enabled ? (job.next_run_at ?? "") : "paused",
  job.max_runs === null ? `${job.runs}` : `${job.runs}/${job.max_runs}`,
  job.if_missed ?? "",
  job.if_running ?? "",
  job.script_path,
];
