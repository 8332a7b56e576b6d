/**
 * The loops: `AC_loop`, `AC_for_each` and `AC_while`, and the two ways out of a turn.
 *
 * Promise: a loop ends where a run does; what its turns leave is bounded by the run (`runner.ts`).
 */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { field, NO_INPUT, passed, setsVariable, whole } from "../../core/fields";
import { failed, INSIDE, runOf } from "../../core/nested-lists";
import { operation } from "../../core/operation";
import { type Departure, VARIABLE } from "../../core/run";
import { rejected } from "../../lib/errors";
import { CONDITION, holds } from "./condition";
import { body, FLOW, isShownAlone } from "./flow-parts";

/** The commands that {@link departure} leaves. */
const LOOPS = ["AC_for_each", "AC_loop", "AC_while"] as const;

const RESULT = v.object({ iterations: v.number(), ...INSIDE });

export const operations = [
  operation({
    ...FLOW,
    name: "flow.loop",
    summary: "Run actions a number of times",
    command: "AC_loop",
    example: { times: 3, body: [["AC_sleep", { seconds: 1 }]] },
    input: v.strictObject({
      times: field(whole(0, 100_000), "How often; `${loop.index}` is 1 in the first turn"),
      body,
    }),
    output: RESULT,
    run: (_service, { times }, caller) => turns(caller, (turn) => turn <= times),
  }),
  operation({
    ...FLOW,
    name: "flow.for_each",
    summary: "Run actions for each item of a list",
    command: "AC_for_each",
    example: {
      list: ["ACME", "Initech"],
      var: "customer",
      body: [["AC_write", { write_string: "${customer}\n" }]],
    },
    input: v.strictObject({
      list: field(passed(v.array(v.unknown())), "The list, often a variable; it is neither logged nor kept"),
      var: field(setsVariable(VARIABLE), "Variable that is set to each item in turn, and keeps the last one"),
      body,
      secret: field(
        v.optional(v.boolean()),
        "Whether the items are secret (default: true, unless `list` is a variable that is none)",
      ),
    }),
    output: RESULT,
    run(_service, { list, var: name, secret }, caller) {
      const run = runOf(caller);
      const shown = secret === undefined ? isShownAlone(run, "list") : !secret;
      return turns(caller, (turn) => {
        if (turn > list.length) return false;
        run.set(name, list[turn - 1], shown);
        return true;
      });
    },
  }),
  operation({
    ...FLOW,
    name: "flow.while",
    summary: "Run actions as long as a variable compares so",
    command: "AC_while",
    example: {
      name: "left",
      op: "gt",
      value: 0,
      body: [["AC_set_var", { name: "left", op: "sub", value: 1 }]],
    },
    input: v.strictObject({
      ...CONDITION,
      body,
      max_turns: field(
        v.optional(whole(1, 100_000), 1_000),
        "How often at most: the action fails when the comparison is true even then",
      ),
    }),
    output: RESULT,
    run(_service, { name, op, max_turns }, caller) {
      const run = runOf(caller);
      return turns(caller, (turn) => {
        // The value may be a variable, which the body changes.
        if (!holds(run, { name, op, value: run.fill("value") })) return false;
        if (turn > max_turns) throw rejected(`${name} is still ${op} the value after ${max_turns} turns`);
        return true;
      });
    },
  }),
  departure("break", "Leave the loop around this action"),
  departure("continue", "Continue with the next iteration of the loop around this action"),
];

/** Runs the body for each turn, from 1 on, that `next` wants: it is asked before each. */
async function turns(caller: Caller, next: (turn: number) => boolean): Promise<v.InferInput<typeof RESULT>> {
  const run = runOf(caller);
  // Not the report of each turn: there may be 100,000, and nearly all have no outcome that is kept.
  const inside: v.InferInput<typeof RESULT> = { iterations: 0, outcomes: [], omitted: 0 };
  while (next(inside.iterations + 1)) {
    const turn = ++inside.iterations;
    const report = await run.list("body", { turn });
    inside.outcomes.push(...report.outcomes);
    inside.omitted += report.omitted;
    if (!report.ok) throw failed(report, `iteration ${turn}: ${report.error}`, inside);
    if (run.arrive() === "break") break;
  }
  return inside;
}

/** `AC_break` and `AC_continue`. */
function departure(how: Departure, summary: string) {
  return operation({
    ...FLOW,
    name: `flow.${how}`,
    summary,
    command: `AC_${how}`,
    within: LOOPS,
    input: NO_INPUT,
    output: v.null(),
    run(_service, _input, caller) {
      runOf(caller).leave(how);
      return null;
    },
  });
}
