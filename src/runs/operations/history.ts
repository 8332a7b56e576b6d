import * as v from "valibot";
import { field } from "../../core/fields";
import { operation } from "../../core/operation";
import type { History } from "../history";
import { HISTORY_ROW } from "../types";

const TEXT = v.optional(v.pipe(v.string(), v.maxLength(1_000)));

export const listHistory = operation({
  name: "history.list",
  summary: "List the past and active runs of this host, newest first",
  scope: "read",
  subcommand: "history",
  command: "AC_history_list",
  http: { method: "GET", path: "/history" },
  input: v.strictObject({
    limit: field(
      v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000)), 100),
      "The maximum number of runs",
    ),
    source_type: field(TEXT, "Only runs from this source: `rest`, `scheduler` or `manual`"),
    source_id: field(TEXT, "Only runs of this client or job"),
    status: field(TEXT, "Only runs with this status: `ok`, `error`, `cancelled`, `timeout`, `interrupted`"),
    before_id: field(
      v.optional(v.pipe(v.number(), v.safeInteger())),
      "Only runs with a lower id: the last id of a page gives the next page",
    ),
  }),
  output: v.object({ runs: v.array(HISTORY_ROW) }),
  run: async (service: { history(): Promise<History> }, query) => ({
    runs: await (await service.history()).list(query),
  }),
});

export const operations = [listHistory];
