/**
 * The operations on runs: those that are active or have ended a moment ago, and the history.
 */
import * as v from "valibot";
import { field, secret, whole } from "../../../core/fields";
import { RUN_MEND } from "../../../core/mend";
import { operation } from "../../../core/operation";
import { allows, beyond, type Grant, isAdminHere } from "../../../core/rights";
import { OUTCOME } from "../../../core/run";
import { Failure, forbidden, notFound } from "../../../lib/errors";
import { attachRun } from "../attached-run";
import type { Executor } from "../executor";
import type { History } from "../history";
import { mendIn } from "../mend";
import type { Runs } from "../runs";
import { HISTORY_QUERY, HISTORY_ROW, LOG_LINE, RUN_VIEW } from "../types";

interface ShowUses extends Uses {
  keptOfRun(id: string): Promise<{ readonly from: string; readonly to: string } | null>;
}

interface Uses {
  executor(): Promise<Pick<Executor, "permit">>;
  runs(): Promise<Runs>;
  history(): Promise<History>;
}

const ONE_RUN = v.strictObject({
  run_id: field(v.pipe(v.string(), v.minLength(4), v.maxLength(64)), "Run id, or its first characters"),
});

export const listRuns = operation({
  name: "runs.list",
  summary: "List the runs of the server, newest first",
  scope: "read",
  serverInRuns: true,
  command: "AC_runs_list",
  http: { method: "GET", path: "/runs" },
  answeredBy: "server",
  input: v.strictObject({
    limit: field(v.optional(whole(1, 10_000)), "The maximum number of runs"),
  }),
  output: v.object({ runs: v.array(RUN_VIEW), count: v.number() }),
  async run(service: Uses, { limit }) {
    const runs = (await service.runs()).list().slice(0, limit);
    return { runs, count: runs.length };
  },
});

/** Kept in another run, the outcomes would be shown to whoever may use its command. */
const SHOWN = v.object({
  ...RUN_VIEW.entries,
  outcomes: secret(v.array(OUTCOME)),
  /** False for a run whose outcomes are no longer kept, or are in another process. Hosts of before it do not send it. */
  outcomes_kept: v.optional(v.boolean(), true),
  /** What the script logged. Hosts of before it do not send it. */
  log: v.optional(secret(v.array(LOG_LINE)), []),
  /** From when to when the black box keeps what was on the screen before it failed; null where it does not. Hosts of before do not send it. */
  black_box: v.optional(v.nullable(v.object({ from: v.string(), to: v.string() })), null),
});

type ShownRun = v.InferOutput<typeof SHOWN>;

export const showRun = operation({
  name: "runs.show",
  summary: "Show a run and the outcomes of its actions",
  // A token that may start one sees how it ended; runs of others need `operate` on this host.
  scope: "any",
  reveals: true,
  serverInRuns: true,
  command: "AC_runs_show",
  example: { run_id: "9f1c2e4a" },
  http: { method: "GET", path: "/runs/{run_id}" },
  answeredBy: "server",
  input: ONE_RUN,
  output: SHOWN,
  async run(service: ShowUses, { run_id }, { grant }) {
    const run = await foundRun(
      service,
      run_id,
      grant.on === undefined && allows(grant, "operate") ? undefined : grant,
    );
    // The history does not say what its commands were.
    if (!run.outcomes_kept && !isOf(run, grant) && !isAdminHere(grant))
      throw forbidden(beyond(grant, "a run of others that only the history has needs admin"));
    // The outcomes of a run are the answers of its commands.
    if (!isOfScript(run, grant)) (await service.executor()).permit(run.commands, grant);
    const kept = await service.keptOfRun(run.run_id);
    return { ...run, black_box: kept && { from: kept.from, to: kept.to } };
  },
});

/** Whether it ran a stored script that `grant` allows by its name. */
const isOfScript = ({ script_path, token }: ShownRun, { name, scopes }: Grant) =>
  token === name && scopes.some((scope) => scope === `run:${script_path.replace("script:", "")}`);

/**
 * The run as it is in memory, else as the history has it, without its outcomes.
 *
 * @param owner who may see runs of its own alone; undefined for all.
 * @throws `not_found`; `forbidden` for another run than the owner's, whether there is one or not.
 */
async function foundRun(service: Uses, id: string, owner: Grant | undefined): Promise<ShownRun> {
  try {
    const run = await inMemory(service, id);
    if (owner === undefined || isOf(run, owner)) return run;
  } catch (error) {
    if (owner === undefined || !(error instanceof Failure)) throw error;
  }
  throw forbidden(beyond(owner, "runs of others need operate"));
}

/** A token that has the name of one before it has none of its runs. */
const isOf = ({ token, started_at }: ShownRun, { name, owner, since = 0 }: Grant) =>
  (name !== null || owner === true) && token === name && Date.parse(started_at) >= since;

async function inMemory(service: Uses, id: string): Promise<ShownRun> {
  try {
    return { ...(await service.runs()).show(id), outcomes_kept: true, black_box: null };
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "not_found") throw error;
    const row = await (await service.history()).find(id);
    // Rows of another tool may be of no run.
    const run = v.safeParse(SHOWN, { ...row, commands: [], outcomes: [], outcomes_kept: false, log: [] });
    if (!run.success) throw error;
    return run.output;
  }
}

export const mendRun = operation({
  name: "runs.mend",
  summary: "Show what a failed run expected of an element, and what is there instead",
  scope: "any",
  reveals: true,
  serverInRuns: true,
  leftOut: { script: "it is for who mends the script" },
  http: { method: "GET", path: "/runs/{run_id}/mend" },
  answeredBy: "server",
  input: ONE_RUN,
  output: v.object({ run_id: v.string(), script_path: v.string(), ...RUN_MEND.entries }),
  async run(service: ShowUses, { run_id: wanted }, caller) {
    const { run_id, script_path, outcomes } = await showRun.run(service, { run_id: wanted }, caller);
    const mend = mendIn(outcomes);
    if (!mend)
      throw notFound(
        `run ${run_id.slice(0, 8)} has no mend request: none of its actions has failed to find an element, or its outcomes are not kept any more`,
      );
    return { run_id, script_path, ...mend };
  },
});

export const cancelRun = operation({
  name: "runs.cancel",
  summary: "Cancel an active run",
  scope: "operate",
  changes: "announces",
  serverInRuns: true,
  command: "AC_runs_cancel",
  example: { run_id: "9f1c2e4a" },
  http: { method: "POST", path: "/runs/cancel" },
  answeredBy: "server",
  input: ONE_RUN,
  output: RUN_VIEW,
  async run(service: Uses, input, caller) {
    const runs = await service.runs();
    // The row has the whole id, also when the caller gave its beginning.
    const { run_id } = runs.show(input.run_id);
    await caller.announce(`runs.cancel run=${run_id}`);
    const by = caller.client ?? (caller.kind === "cli" ? "the command line" : caller.kind);
    return runs.cancel(run_id, `cancelled by ${by}`);
  },
});

export const listHistory = operation({
  name: "history.list",
  summary: "List the past and active runs of this host, newest first",
  scope: "read",
  subcommand: "history",
  command: "AC_history_list",
  http: { method: "GET", path: "/history" },
  input: HISTORY_QUERY,
  output: v.object({ runs: v.array(HISTORY_ROW) }),
  run: async (service: Uses, query) => ({
    runs: await (await service.history()).list(query),
  }),
});

export const operations = [listRuns, showRun, mendRun, cancelRun, attachRun, listHistory];
