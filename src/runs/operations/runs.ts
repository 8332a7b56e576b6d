import * as v from "valibot";
import { field, NO_INPUT } from "../../core/fields";
import { operation } from "../../core/operation";
import { OUTCOME, RUN_RECORD } from "../../core/run";
import type { Service } from "../../service";

const RUN_ID = v.pipe(v.string(), v.minLength(4), v.maxLength(64));

export const listRuns = operation({
  name: "runs.list",
  summary: "List the runs of this process: those that go on and the last that ended, newest first",
  scope: "read",
  command: "AC_runs_list",
  http: { method: "GET", path: "/runs" },
  input: NO_INPUT,
  output: v.object({ runs: v.array(RUN_RECORD), count: v.number() }),
  async run(service: Service) {
    const runs = (await service.runs()).list();
    return { runs, count: runs.length };
  },
});

export const showRun = operation({
  name: "runs.show",
  summary: "Show a run with the outcomes that are kept of it",
  scope: "operate",
  command: "AC_runs_show",
  example: { run_id: "9f1c2e4a" },
  http: { method: "GET", path: "/runs/{run_id}" },
  input: v.strictObject({ run_id: field(RUN_ID, "The run's id, or enough of its beginning") }),
  output: v.object({ ...RUN_RECORD.entries, outcomes: v.array(OUTCOME) }),
  run: async (service: Service, { run_id }) => (await service.runs()).show(run_id),
});

export const cancelRun = operation({
  name: "runs.cancel",
  summary: "Cancel a run that goes on",
  scope: "operate",
  changes: "announces",
  command: "AC_runs_cancel",
  example: { run_id: "9f1c2e4a" },
  http: { method: "POST", path: "/runs/cancel" },
  input: v.strictObject({ run_id: field(RUN_ID, "The run's id, or enough of its beginning") }),
  output: RUN_RECORD,
  async run(service: Service, input, caller) {
    const runs = await service.runs();
    const { run_id } = runs.show(input.run_id);
    await caller.announce(`runs.cancel run=${run_id}`);
    return runs.cancel(run_id, `cancelled by ${caller.client ?? caller.kind}`);
  },
});

export const operations = [listRuns, showRun, cancelRun];
