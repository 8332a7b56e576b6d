import * as v from "valibot";
import { ACTION_LIST, field, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { OUTCOME } from "../../core/run";
import { sleep } from "../../lib/deadline";
import { COMPARISONS, compare } from "../compare";
import { attempt, branch, loop, retry, runAround, variable } from "../flow";
import { VARIABLE_NAME } from "../types";

const NAME = v.pipe(
  v.string(),
  v.regex(VARIABLE_NAME, "letters, digits and _, at most 64, not beginning with a digit"),
);
/** Flow commands act on the run around them. */
const leftOut = {
  http: "it means something inside a list only",
  cli: "it means something inside a list only",
};
const INSIDE = { outcomes: v.array(OUTCOME), omitted: v.number() };
const body = field(ACTION_LIST, "Actions, up to the first that fails");

export const operations = [
  operation({
    name: "flow.sleep",
    summary: "Wait",
    scope: "operate",
    command: "AC_sleep",
    leftOut,
    example: { seconds: 1.5 },
    input: v.strictObject({
      seconds: field(v.pipe(v.number(), v.minValue(0), v.maxValue(86_400)), "How long"),
    }),
    output: v.null(),
    async run(_service, { seconds }, { signal }) {
      await sleep(seconds * 1_000, signal);
      return null;
    },
  }),
  operation({
    name: "flow.loop",
    summary: "Run actions a number of times",
    scope: "operate",
    command: "AC_loop",
    leftOut,
    example: { times: 3, body: [["AC_sleep", { seconds: 1 }]] },
    input: v.strictObject({
      times: field(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100_000)), "How often"),
      body,
    }),
    output: v.object({ iterations: v.number(), ...INSIDE }),
    run: (_service, { times }, { run }) => loop(runAround(run), times),
  }),
  operation({
    name: "flow.break",
    summary: "Leave the loop around this action",
    scope: "operate",
    command: "AC_break",
    leftOut,
    within: "AC_loop",
    input: NO_INPUT,
    output: v.null(),
    run(_service, _input, { run }) {
      runAround(run).leave("break");
      return null;
    },
  }),
  operation({
    name: "flow.continue",
    summary: "Go on with the next turn of the loop around this action",
    scope: "operate",
    command: "AC_continue",
    leftOut,
    within: "AC_loop",
    input: NO_INPUT,
    output: v.null(),
    run(_service, _input, { run }) {
      runAround(run).leave("continue");
      return null;
    },
  }),
  operation({
    name: "flow.retry",
    summary: "Run actions again until none of them fails",
    scope: "operate",
    command: "AC_retry",
    leftOut,
    example: { max_attempts: 5, backoff: 1, body: [["AC_wait_window", { title_substring: "Ready" }]] },
    input: v.strictObject({
      max_attempts: field(
        v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000)), 3),
        "How often at most",
      ),
      backoff: field(
        v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(3_600)), 0.5),
        "Seconds before the second attempt, twice as many before each further one, up to a minute",
      ),
      body,
    }),
    output: v.object({ attempts: v.number(), ...INSIDE }),
    run: (_service, { max_attempts, backoff }, { run, signal }) =>
      retry(runAround(run), { maxAttempts: max_attempts, backoff }, signal),
  }),
  operation({
    name: "flow.try",
    summary: "Run actions, others when one of them fails, and others in any case",
    scope: "operate",
    command: "AC_try",
    leftOut,
    example: {
      body: [["AC_focus_window", { title_substring: "Report" }]],
      catch: [["AC_screenshot", { file_path: "/var/tmp/failed.png" }]],
      error_var: "problem",
    },
    input: v.strictObject({
      body,
      catch: field(v.optional(ACTION_LIST, []), "Actions for when one of the body fails"),
      finally: field(
        v.optional(ACTION_LIST, []),
        "Actions that run last in any case; 5 seconds at most when the run was cancelled",
      ),
      error_var: field(v.optional(NAME), "Variable that is set to what went wrong"),
      reraise: field(v.optional(v.boolean(), false), "Fail after `catch`, with what went wrong in the body"),
    }),
    output: v.object({ error: v.nullable(v.string()), ...INSIDE }),
    run: (_service, { error_var, reraise }, { run }) =>
      attempt(runAround(run), { errorVar: error_var, reraise }),
  }),
  operation({
    name: "flow.set_var",
    summary: "Set what `${name}` stands for in the actions that follow",
    scope: "operate",
    command: "AC_set_var",
    leftOut,
    example: { name: "customer", value: "ACME" },
    input: v.strictObject({
      name: field(NAME, "The variable"),
      value: field(secret(v.unknown()), "Any value; it may be secret, so it is neither logged nor kept"),
    }),
    output: secret(v.unknown()),
    run(_service, { name, value }, { run }) {
      runAround(run).variables.set(name, value);
      return value;
    },
  }),
  operation({
    name: "flow.if_var",
    summary: "Run actions depending on a variable",
    scope: "operate",
    command: "AC_if_var",
    leftOut,
    example: { name: "count", op: "ge", value: 10, else: [["AC_sleep", { seconds: 1 }]] },
    input: v.strictObject({
      name: field(NAME, "The variable, which has to be set"),
      op: field(
        v.optional(v.picklist(COMPARISONS), "eq"),
        "How it compares; `lt`, `le`, `gt` and `ge` are for two numbers or two texts",
      ),
      value: field(secret(v.unknown()), "What it is compared with"),
      then: field(v.optional(ACTION_LIST, []), "Actions for when it compares so"),
      else: field(v.optional(ACTION_LIST, []), "Actions for when it does not"),
    }),
    output: v.object({ matched: v.boolean(), ...INSIDE }),
    async run(_service, { name, op, value }, { run }) {
      const around = runAround(run);
      const matched = compare(variable(around, name), op, value);
      return { matched, ...(await branch(around, matched ? "then" : "else")) };
    },
  }),
];
