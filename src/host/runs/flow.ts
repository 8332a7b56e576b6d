/**
 * Flow commands: waiting, retries and clean-up around lists of actions, with loops (`loops.ts`) and variables (`values.ts`).
 *
 * Promise: when the run is cancelled or its deadline passes, each of them ends at once. Only the `finally` of `AC_try`
 * still runs, for 5 seconds at most; all of a run together.
 */
import * as v from "valibot";
import {
  ACTION_LIST,
  between,
  field,
  flag,
  passed,
  secret,
  setsVariable,
  seconds as span,
  whole,
} from "../../core/fields";
import { failed, INSIDE, insideOf, runOf } from "../../core/nested-lists";
import { operation } from "../../core/operation";
import { VARIABLE, VARIABLES } from "../../core/run";
import { SCRIPT_FILE } from "../../core/script";
import { sleep } from "../../lib/deadline";
import { body, FLOW } from "./flow-parts";
import { operations as loops } from "./loops";
import { operations as tables } from "./tables";
import { operations as values } from "./values";

/** The longest pause between attempts, in seconds, unless the first one is longer. */
const MAX_BACKOFF_S = 60;

export const operations = [
  operation({
    ...FLOW,
    name: "flow.sleep",
    summary: "Wait",
    command: "AC_sleep",
    example: { seconds: 1.5 },
    input: v.strictObject({
      seconds: field(span(between(0, 86_400)), "How long"),
    }),
    output: v.null(),
    async run(_service, { seconds }, { signal }) {
      await sleep(seconds * 1_000, signal);
      return null;
    },
  }),
  operation({
    ...FLOW,
    name: "flow.retry",
    summary: "Repeat actions until none of them fails",
    command: "AC_retry",
    example: { max_attempts: 5, backoff: 1, body: [["AC_wait_window", { title_substring: "Ready" }]] },
    input: v.strictObject({
      max_attempts: field(v.optional(whole(1, 1_000), 3), "The maximum number of attempts"),
      backoff: field(
        v.optional(span(between(0, 3_600)), 0.5),
        "Seconds before the second attempt; the pause doubles before each further attempt, up to a minute",
      ),
      body,
    }),
    output: v.object({ attempts: v.number(), ...INSIDE }),
    async run(_service, { max_attempts, backoff }, caller) {
      const run = runOf(caller);
      for (let attempts = 1; ; attempts++) {
        const report = await run.list("body");
        const inside = { attempts, ...insideOf([report]) };
        if (report.ok) return inside;
        if (report.cancelled || attempts === max_attempts) {
          throw failed(report, `attempt ${attempts}: ${report.error}`, inside);
        }
        const pause = Math.min(backoff * 2 ** (attempts - 1), Math.max(backoff, MAX_BACKOFF_S));
        await sleep(pause * 1_000, caller.signal);
      }
    },
  }),
  operation({
    ...FLOW,
    name: "flow.try",
    summary: "Run actions; handle a failure; run cleanup actions in any case",
    command: "AC_try",
    example: {
      body: [["AC_focus_window", { title_substring: "Report" }]],
      catch: [["AC_screenshot", { file_path: "/var/tmp/failed.png" }]],
      error_var: "problem",
    },
    input: v.strictObject({
      body,
      catch: field(v.optional(ACTION_LIST, []), "Actions that run when an action of `body` fails"),
      finally: field(
        v.optional(ACTION_LIST, []),
        "Actions that run last in any case; for 5 seconds at most when the run was cancelled",
      ),
      error_var: field(v.optional(setsVariable(VARIABLE)), "Variable that is set to the error message"),
      reraise: flag("Fail after `catch`, with the error of `body`"),
    }),
    output: v.object({ error: v.nullable(v.string()), ...INSIDE }),
    async run(_service, { error_var, reraise }, caller) {
      const run = runOf(caller);
      const body = await run.list("body");
      const reports = [body];
      if (body.error !== null && !body.cancelled) {
        if (error_var !== undefined) run.blame(error_var, body.error);
        reports.push(await run.list("catch"));
      }
      // `finally` runs in full also after AC_break or AC_continue, which takes effect afterwards, unless this action fails
      // or `finally` has one of its own.
      const before = run.arrive();
      reports.push(await run.list("finally", { shielded: true }));
      const left = run.arrive() ?? before;

      const inside = { error: body.error, ...insideOf(reports) };
      const bad = reports.find((report) => !report.ok && (report !== body || reraise || body.cancelled));
      if (bad) throw failed(bad, bad.error ?? "", inside);
      if (left) run.leave(left);
      return inside;
    },
  }),
  operation({
    ...FLOW,
    name: "flow.run_script",
    summary: "Run the actions of another script, up to the first that fails",
    command: "AC_run_script",
    example: { path: "/srv/scripts/sign-in.json", variables: { user: "ann" } },
    input: v.strictObject({
      path: field(
        v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096)),
        `Path of ${SCRIPT_FILE}, from the folder of the calling script on; or \`script:\` and the name of a stored script`,
      ),
      variables: field(
        passed(v.optional(VARIABLES, {})),
        "Variables that it has, by name: it has none of the calling script",
      ),
    }),
    output: v.object({
      ...INSIDE,
      /** Those of the called script, at its end. */
      variables: secret(v.record(v.string(), v.unknown())),
    }),
    async run(_service, { path, variables: given }, caller) {
      const { variables, ...report } = await runOf(caller).call(path, given);
      if (!report.ok) throw failed(report, report.error ?? "", insideOf([report]));
      return { ...insideOf([report]), variables };
    },
  }),
  ...loops,
  ...tables,
  ...values,
];
