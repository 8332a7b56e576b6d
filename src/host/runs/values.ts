/**
 * Commands about variables: setting one, choosing by one, and insisting on one.
 */
import * as v from "valibot";
import { ACTION_LIST, expression, field, passed, secret, setsVariable } from "../../core/fields";
import { kindOf } from "../../core/input";
import { failed, INSIDE, insideOf, runOf } from "../../core/nested-lists";
import { operation } from "../../core/operation";
import { type RunContext, VARIABLE } from "../../core/run";
import { badInput, rejected } from "../../lib/errors";
import { ALONE, type Computation, compute, WITH_VALUE } from "./compute";
import { CONDITION, holds, whyNot } from "./condition";
import { FLOW, isShownAlone } from "./flow-parts";
import { conditionFault } from "./variables";

const namesOf = (functions: object) => Object.keys(functions) as Computation[];

/** A message of the script's author. */
const MESSAGE = v.pipe(v.string(), v.nonEmpty(), v.maxLength(1_000));

export const operations = [
  operation({
    ...FLOW,
    name: "flow.set_var",
    summary: "Set the value of `${name}` for the actions that follow",
    command: "AC_set_var",
    example: { name: "customer", value: "ACME" },
    input: v.strictObject({
      name: field(setsVariable(VARIABLE), "The variable"),
      value: field(
        passed(v.optional(v.unknown())),
        "Any value; it may be secret, so it is neither logged nor kept. With `op`, what that needs besides the variable",
      ),
      op: field(
        v.optional(v.picklist([...namesOf(WITH_VALUE), ...namesOf(ALONE)])),
        `Change the value that the variable has: ${namesOf(WITH_VALUE).join(", ")} with \`value\`; ${namesOf(ALONE).join(", ")} without`,
      ),
      secret: field(
        v.optional(v.boolean()),
        "Whether the value is secret (default: true, unless it is or was a variable that is none)",
      ),
    }),
    output: secret(v.unknown()),
    mismatch({ op, value }) {
      const isNeeded = op === undefined || Object.hasOwn(WITH_VALUE, op);
      if (isNeeded === (value !== undefined)) return undefined;
      const message = isNeeded ? "missing: expected any value" : `expected none with ${op}`;
      return { field: "value", message };
    },
    run(_service, { name, value, op, secret }, caller) {
      const run = runOf(caller);
      const result = op === undefined ? value : compute(op, run.valueOf(name), value);
      const isPlain = op ? run.isShown([`\${${name}}`, run.written("value")]) : isShownAlone(run, "value");
      const isShown = secret === undefined ? isPlain : !secret;
      run.set(name, result, isShown);
      if (isShown) run.show();
      return result;
    },
  }),
  operation({
    ...FLOW,
    name: "flow.if_var",
    summary: "Run actions depending on a variable",
    command: "AC_if_var",
    example: { name: "count", op: "ge", value: 10, else: [["AC_sleep", { seconds: 1 }]] },
    input: v.strictObject({
      ...CONDITION,
      then: field(v.optional(ACTION_LIST, []), "Actions that run when the comparison is true"),
      else: field(v.optional(ACTION_LIST, []), "Actions that run when it is false"),
    }),
    output: v.object({ matched: v.boolean(), ...INSIDE }),
    run(_service, condition, caller) {
      const run = runOf(caller);
      return branch(run, holds(run, condition));
    },
  }),
  operation({
    ...FLOW,
    name: "flow.if",
    summary: "Run actions depending on an expression",
    command: "AC_if",
    example: {
      when: "order.total > 0 && order.customer.matches('^A')",
      then: [["AC_log", { message: "${order.customer}" }]],
    },
    input: v.strictObject({
      when: field(
        expression(
          v.pipe(
            v.string(),
            v.nonEmpty(),
            v.maxLength(2_000),
            v.rawCheck(({ dataset: { value, typed }, addIssue }) => {
              const fault = typed ? conditionFault(value) : undefined;
              if (fault !== undefined)
                addIssue({ message: `an expression in CEL (${fault.replace(/^the expression: /, "")})` });
            }),
          ),
        ),
        "The condition, in CEL: `total > 0 && name.matches('^A')`, with the names of variables",
      ),
      then: field(v.optional(ACTION_LIST, []), "Actions that run when it is true"),
      else: field(v.optional(ACTION_LIST, []), "Actions that run when it is false"),
    }),
    output: v.object({ matched: v.boolean(), ...INSIDE }),
    run(_service, { when }, caller) {
      const run = runOf(caller);
      const matched = run.evaluate(when);
      if (typeof matched !== "boolean")
        throw badInput(`when: expected true or false but found ${kindOf(matched)}`);
      return branch(run, matched);
    },
  }),
  operation({
    ...FLOW,
    name: "flow.assert",
    summary: "Fail unless a variable compares so",
    command: "AC_assert",
    example: { name: "total", op: "gt", value: 0, message: "the order is empty" },
    input: v.strictObject({
      ...CONDITION,
      message: field(
        v.optional(MESSAGE),
        "What the error says first; the comparison follows, with both values unless they are secret",
      ),
    }),
    output: v.null(),
    run(_service, { message, ...condition }, caller) {
      const run = runOf(caller);
      if (holds(run, condition)) return null;
      throw rejected(whyNot(run, condition, message));
    },
  }),
  operation({
    ...FLOW,
    name: "flow.fail",
    summary: "Fail, with an error of one's own",
    command: "AC_fail",
    example: { message: "no such customer: ${customer}" },
    input: v.strictObject({ message: field(MESSAGE, "The error") }),
    output: v.null(),
    run(_service, { message }, caller) {
      runOf(caller);
      throw rejected(message);
    },
  }),
  operation({
    ...FLOW,
    name: "flow.log",
    summary: "Leave a message in the record of the run, and as an event",
    command: "AC_log",
    example: { message: "row ${loop.index} is done" },
    input: v.strictObject({ message: field(MESSAGE, "The message; secrets in it become ***") }),
    output: v.object({ message: v.string(), kept: v.boolean() }),
    run: (_service, { message }, caller) => ({ message, kept: runOf(caller).log(message) }),
  }),
];

/** Runs the list for `matched`. @throws what its first failed action does, with what ran. */
async function branch(run: RunContext, matched: boolean) {
  const report = await run.list(matched ? "then" : "else");
  if (!report.ok) throw failed(report, report.error ?? "", insideOf([report]));
  return { matched, ...insideOf([report]) };
}
