import * as v from "valibot";
import { field, NO_INPUT } from "../../core/fields";
import { operation } from "../../core/operation";
import { OUTCOME } from "../../core/run";
import type { Runs } from "../runs";
import { RUN_RECORD } from "../types";

interface Uses {
  runs(): Promise<Runs>;
}

const ONE_RUN = v.strictObject({
  run_id: field(v.pipe(v.string(), v.minLength(4), v.maxLength(64)), "Run id, or its first characters"),
});

export const listRuns = operation({
  name: "runs.list",
  summary: "List active and recently ended runs of the server, newest first",
  scope: "read",
  command: "AC_runs_list",
  http: { method: "GET", path: "/runs" },
  answeredBy: "server",
  input: NO_INPUT,
  output: v.object({ runs: v.array(RUN_RECORD), count: v.number() }),
  async run(service: Uses) {
    const runs = (await service.runs()).list();
    return { runs, count: runs.length };
  },
});

export const showRun = operation({
  name: "runs.show",
  summary: "Show a run and the outcomes of its actions",
  scope: "operate",
  command: "AC_runs_show",
  example: { run_id: "9f1c2e4a" },
  http: { method: "GET", path: "/runs/{run_id}" },
  answeredBy: "server",
  input: ONE_RUN,
  output: v.object({ ...RUN_RECORD.entries, outcomes: v.array(OUTCOME) }),
  run: async (service: Uses, { run_id }) => (await service.runs()).show(run_id),
});

export const cancelRun = operation({
  name: "runs.cancel",
  summary: "Cancel an active run",
  scope: "operate",
  changes: "announces",
  command: "AC_runs_cancel",
  example: { run_id: "9f1c2e4a" },
  http: { method: "POST", path: "/runs/cancel" },
  answeredBy: "server",
  input: ONE_RUN,
  output: RUN_RECORD,
  async run(service: Uses, input, caller) {
    const runs = await service.runs();
    // The row has the whole id, also when the caller gave its beginning.
    const { run_id } = runs.show(input.run_id);
    await caller.announce(`runs.cancel run=${run_id}`);
    return runs.cancel(run_id, `cancelled by ${caller.client ?? caller.kind}`);
  },
});

export const operations = [listRuns, showRun, cancelRun];
