import * as v from "valibot";
import { field } from "../../core/fields";
import { operation } from "../../core/operation";
import type { Service } from "../../service";

const text = v.optional(v.pipe(v.string(), v.maxLength(1_000)));

const ROW = v.object({
  id: v.number(),
  run_id: v.nullable(v.string()),
  source_type: v.string(),
  source_id: v.string(),
  script_path: v.string(),
  started_at: v.string(),
  finished_at: v.nullable(v.string()),
  status: v.string(),
  error_text: v.nullable(v.string()),
  duration_seconds: v.nullable(v.number()),
});

export const listHistory = operation({
  name: "history.list",
  summary: "List the runs of this host, newest first",
  scope: "read",
  command: "AC_history_list",
  http: { method: "GET", path: "/history" },
  input: v.strictObject({
    limit: field(
      v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(10_000)), 100),
      "The most runs to answer with",
    ),
    source_type: field(text, "Only runs from there: `rest`, `scheduler` or `manual`"),
    source_id: field(text, "Only runs of this client or job"),
    status: field(text, "Only runs that ended so: `ok`, `error`, `cancelled`, `timeout`, `interrupted`"),
    before_id: field(
      v.optional(v.pipe(v.number(), v.safeInteger())),
      "Only runs with a lower id: the last id of a page gives the next page",
    ),
  }),
  output: v.object({ runs: v.array(ROW) }),
  run: async (service: Service, query) => ({ runs: await (await service.history()).list(query) }),
});

export const operations = [listHistory];
