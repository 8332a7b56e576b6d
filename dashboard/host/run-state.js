/**
 * The runs and jobs of this host as they are after an event, and what a run is called.
 */

/** @typedef {import("../wire").Answer<"runs">["runs"][number]} ActiveRun */
/** @typedef {import("../wire").Answer<"jobs">["jobs"][number]} Job */

/** The colours of how a run stands or has ended. @type {Record<string, import("../parts.js").Tone>} */
export const RUN_TONES = {
  ok: "ok",
  error: "error",
  timeout: "error",
  interrupted: "error",
  cancelled: "warn",
  running: "info",
  waiting: "info",
};

/** Runs that are listed at most: as many as the server keeps that have ended, and may be active. */
const LISTED = 356;

/** Whether a run goes on. @param {Pick<ActiveRun, "status">} run */
export const isActive = ({ status }) => status === "running" || status === "waiting";

/**
 * What a run is called: its script without the folder, else its commands.
 *
 * @param {{ script_path: string, commands?: readonly string[] }} run
 */
export function runName({ script_path, commands = [] }) {
  if (script_path !== "") return script_path.split(/[/\\]/).at(-1) || script_path;
  return commands.join(", ") || "a list of actions";
}

/**
 * The list after a run began, went on or ended; null where the event does not say enough.
 *
 * @param {import("../wire").Answer<"runs">} answer newest first
 * @param {import("../events.js").Happening} happened
 */
export function afterRun(answer, { type, data }) {
  // What a script has logged is no news of its run.
  if (type === "run.log") return answer;
  const { at: _, ...changed } = /** @type {ActiveRun & { at: string }} */ (data);
  const place = answer.runs.findIndex(({ run_id }) => run_id === changed.run_id);
  const known = answer.runs[place];
  const isStep = type === "run.step";
  if (!known && isStep) return null;
  // What is listed may be newer than the event.
  if (known && known.finished_at !== null && type !== "run.ended") return answer;
  const { status, waiting_for } = changed;
  const next = known && isStep ? { ...known, status, waiting_for } : changed;
  const runs = known ? answer.runs.with(place, next) : [next, ...answer.runs].slice(0, LISTED);
  return { ...answer, runs, count: runs.length };
}

/**
 * The jobs after one changed; null where the event does not say enough.
 *
 * @param {import("../wire").Answer<"jobs">} answer
 * @param {import("../events.js").Happening} happened
 */
export function afterJob(answer, { type, data: { at: _, ...data } }) {
  const job = /** @type {Job} */ (data);
  const place = answer.jobs.findIndex(({ job_id }) => job_id === job.job_id);
  if (place === -1) return type === "job.removed" ? answer : null;
  const jobs = type === "job.removed" ? answer.jobs.toSpliced(place, 1) : answer.jobs.with(place, job);
  return { ...answer, jobs, count: jobs.length };
}
