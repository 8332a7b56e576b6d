import * as v from "valibot";
import { operation } from "../../core/operation";
import type { History } from "../history";
import { HISTORY_QUERY, HISTORY_ROW } from "../types";

export const listHistory = operation({
  name: "history.list",
  summary: "List the past and active runs of this host, newest first",
  scope: "read",
  subcommand: "history",
  command: "AC_history_list",
  http: { method: "GET", path: "/history" },
  input: HISTORY_QUERY,
  output: v.object({ runs: v.array(HISTORY_ROW) }),
  run: async (service: { history(): Promise<History> }, query) => ({
    runs: await (await service.history()).list(query),
  }),
});

export const operations = [listHistory];
