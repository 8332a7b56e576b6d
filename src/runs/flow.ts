/**
 * Flow commands: waiting, loops, retries, alternatives and clean-up around lists of actions.
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
  NO_INPUT,
  readsVariable,
  secret,
  setsVariable,
  seconds as span,
  whole,
} from "../core/fields";
import { failed, INSIDE, insideOf, runOf } from "../core/nested";
import { operation } from "../core/operation";
import type { Departure, NestedReport } from "../core/run";
import { sleep } from "../lib/deadline";
import { badInput } from "../lib/errors";
import { VARIABLE_NAME } from "./types";

const NAME = v.pipe(
  v.string(),
  v.regex(VARIABLE_NAME, "letters, digits and _, at most 64, not beginning with a digit"),
);
const body = field(ACTION_LIST, "Actions to run, up to the first that fails");

const IN_LISTS = "it has a meaning inside a list of actions only";
const FLOW = { scope: "operate", leftOut: { http: IN_LISTS, cli: IN_LISTS } } as const;

/** The longest pause between attempts, in seconds, unless the first one is longer. */
const MAX_BACKOFF_S = 60;

const equal = (left: unknown, right: unknown) => Bun.deepEquals(left, right, true);

/**
 * Comparisons of two JSON values. Values of different types are never equal: `"5"` is not `5`. One that does not compare
 * such values throws a `bad_input` failure, which quotes none of them: they may be secret.
 */
const COMPARISONS = {
  eq: equal,
  ne: (left: unknown, right: unknown) => !equal(left, right),
  lt: (left: unknown, right: unknown) => orderOf(left, right) < 0,
  le: (left: unknown, right: unknown) => orderOf(left, right) <= 0,
  gt: (left: unknown, right: unknown) => orderOf(left, right) > 0,
  ge: (left: unknown, right: unknown) => orderOf(left, right) >= 0,
  contains,
};

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
    name: "flow.loop",
    summary: "Run actions a number of times",
    command: "AC_loop",
    example: { times: 3, body: [["AC_sleep", { seconds: 1 }]] },
    input: v.strictObject({
      times: field(whole(0, 100_000), "How often"),
      body,
    }),
    output: v.object({ iterations: v.number(), ...INSIDE }),
    async run(_service, { times }, caller) {
      const run = runOf(caller);
      const reports: NestedReport[] = [];
      for (let iterations = 1; iterations <= times; iterations++) {
        const report = await run.list("body");
        reports.push(report);
        const inside = () => ({ iterations, ...insideOf(reports) });
        if (!report.ok) throw failed(report, `iteration ${iterations}: ${report.error}`, inside());
        if (run.arrive() === "break") return inside();
      }
      return { iterations: times, ...insideOf(reports) };
    },
  }),
  departure("break", "Leave the loop around this action"),
  departure("continue", "Continue with the next iteration of the loop around this action"),
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
      error_var: field(v.optional(setsVariable(NAME)), "Variable that is set to the error message"),
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
    name: "flow.set_var",
    summary: "Set the value of `${name}` for the actions that follow",
    command: "AC_set_var",
    example: { name: "customer", value: "ACME" },
    input: v.strictObject({
      name: field(setsVariable(NAME), "The variable"),
      value: field(secret(v.unknown()), "Any value; it may be secret, so it is neither logged nor kept"),
    }),
    output: secret(v.unknown()),
    run(_service, { name, value }, caller) {
      runOf(caller).variables.set(name, value);
      return value;
    },
  }),
  operation({
    ...FLOW,
    name: "flow.if_var",
    summary: "Run actions depending on a variable",
    command: "AC_if_var",
    example: { name: "count", op: "ge", value: 10, else: [["AC_sleep", { seconds: 1 }]] },
    input: v.strictObject({
      name: field(readsVariable(NAME), "The variable; it must be set"),
      op: field(
        v.optional(v.picklist(Object.keys(COMPARISONS) as Array<keyof typeof COMPARISONS>), "eq"),
        "The comparison; `lt`, `le`, `gt` and `ge` compare two numbers or two texts",
      ),
      value: field(secret(v.unknown()), "The value to compare it with"),
      then: field(v.optional(ACTION_LIST, []), "Actions that run when the comparison is true"),
      else: field(v.optional(ACTION_LIST, []), "Actions that run when it is false"),
    }),
    output: v.object({ matched: v.boolean(), ...INSIDE }),
    async run(_service, { name, op, value }, caller) {
      const run = runOf(caller);
      if (!run.variables.has(name)) throw badInput(`unknown variable: ${name}`);
      const matched = COMPARISONS[op](run.variables.get(name), value);
      const report = await run.list(matched ? "then" : "else");
      if (!report.ok) throw failed(report, report.error ?? "", insideOf([report]));
      return { matched, ...insideOf([report]) };
    },
  }),
];

/** `AC_break` and `AC_continue`. */
function departure(how: Departure, summary: string) {
  return operation({
    ...FLOW,
    name: `flow.${how}`,
    summary,
    command: `AC_${how}`,
    within: "AC_loop",
    input: NO_INPUT,
    output: v.null(),
    run(_service, _input, caller) {
      runOf(caller).leave(how);
      return null;
    },
  });
}

function contains(whole: unknown, part: unknown): boolean {
  if (Array.isArray(whole)) return whole.some((item) => equal(item, part));
  if (typeof whole === "string" && typeof part === "string") return whole.includes(part);
  if (typeof whole === "object" && whole !== null && typeof part === "string")
    return Object.hasOwn(whole, part);
  throw badInput("contains: expected text in a text, an item of a list or the name of a field of an object");
}

function orderOf(left: unknown, right: unknown): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left === "string" && typeof right === "string") return left < right ? -1 : left > right ? 1 : 0;
  throw badInput("lt, le, gt, ge: expected two numbers or two texts");
}
