/**
 * What commands with lists of actions inside them share: the run around them, and what they say about those lists.
 */
import * as v from "valibot";
import { badInput, Failure } from "../lib/errors";
import type { Caller } from "./caller";
import { type NestedReport, OUTCOME, type RunContext } from "./run";

/** Fields of an answer: what became of the actions in the lists, and how many outcomes were left out. */
export const INSIDE = { outcomes: v.array(OUTCOME), omitted: v.number() };

/** The run around an action. @throws a `bad_input` failure when there is none. */
export function runOf({ run }: Caller): RunContext {
  if (run) return run;
  throw badInput("expected as an action of a script");
}

/** What the answer of an action says of the lists inside it, as {@link INSIDE} describes it. */
export const insideOf = (reports: readonly NestedReport[]) => ({
  outcomes: reports.flatMap(({ outcomes }) => outcomes),
  omitted: reports.reduce((sum, { omitted }) => sum + omitted, 0),
});

/** The failure of an action in which a list failed, or was cut off because the run was cancelled. */
export function failed({ cancelled, error }: NestedReport, message: string, more: Record<string, unknown>) {
  return cancelled
    ? new Failure("cancelled", error ?? "cancelled", more)
    : new Failure("rejected", message, more);
}
