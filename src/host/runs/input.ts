/**
 * The input of an action as it runs: with variables filled in and checked. The secrets in it are remembered.
 */
import * as v from "valibot";
import { checkInput, sentence } from "../../core/input";
import { entryOf, metadataOf } from "../../core/schema";
import { badInput } from "../../lib/errors";
import type { Action, Command } from "./actions";
import { holdsSecret, type Secrets } from "./redact";
import { isForOthers, refusesValue, STAYS } from "./secret-places";
import {
  expressionsIn,
  fillIn,
  forOthers,
  namesOfExpression,
  referenceOf,
  referencesIn,
  secretOf,
  type Variables,
} from "./variables";

/** @param secrets takes what is secret. @param ofHost the secrets of this host among them. */
export function createInputs(secrets: Secrets, ofHost: Secrets) {
  /** The error messages that variables were set to, by their names. */
  const errors = new Map<string, string>();

  const conceal = (value: unknown): void => {
    if ([...errors.values()].some((error) => error === value)) secrets.quote();
    else secrets.add(value);
  };
  /** The value of an expression; remembers the secrets that it reads, which an error may quote, and what became of them. */
  const evaluate = (source: string, variables: Variables): unknown => {
    const hidden = namesOfExpression(source).filter((name) => !variables.isShown({ name, path: [] }));
    for (const name of hidden) if (variables.has(name)) conceal(variables.get(name));
    const value = variables.evaluate(source);
    if (hidden.length > 0) conceal(value);
    return value;
  };
  /** `value` of the field `field`, filled in; remembers the secrets in it. */
  const fill = (operation: Command, field: string, value: unknown, variables: Variables): unknown => {
    for (const source of expressionsIn(value)) evaluate(source, variables);
    const isElsewhere = isForOthers(operation, field);
    const filled = fillIn(value, isElsewhere ? forOthers(variables) : variables);
    const why = ofHost.isIn(filled) ? refusesValue(operation, field) : undefined;
    if (why !== undefined) throw badInput(`${field}: ${why}`);
    const isPassed = metadataOf(entryOf(operation.input, field) ?? v.unknown()).passed === true;
    for (const reference of referencesIn(value)) {
      if (variables.isShown(reference) || (isElsewhere && secretOf(reference) !== undefined)) continue;
      const found = variables.resolve(reference);
      if (!isPassed || typeof found !== "object") conceal(found);
    }
    return filled;
  };
  const filledIn = ({ operation, input, deferred }: Action, variables: Variables) => {
    if (deferred.length === 0) return input;
    const filled = deferred.map((field) => [field, fill(operation, field, input[field], variables)]);
    // A variable may be secret, so no message quotes a value.
    const checked = checkInput(
      operation.input,
      { ...input, ...Object.fromEntries(filled) },
      { quote: false },
    );
    if (!checked.ok) throw badInput(sentence(checked.offences));
    const odd = operation.mismatch?.(checked.input);
    if (odd) throw badInput(sentence([odd]));
    return checked.input;
  };

  return {
    fill,
    evaluate,
    /** `value` filled in for another host; remembers the secrets in it. @throws `bad_input` where a secret of this host is in it. */
    hand(value: unknown, variables: Variables): unknown {
      for (const source of expressionsIn(value)) evaluate(source, variables);
      const filled = fillIn(value, variables);
      if (ofHost.isIn(filled)) throw badInput(STAYS);
      for (const reference of referencesIn(value))
        if (!variables.isShown(reference)) conceal(variables.resolve(reference));
      return filled;
    },
    /** The input with variables filled in; remembers the secrets in it. @throws `bad_input` where it does not fit the operation so. */
    of(action: Action, variables: Variables): Readonly<Record<string, unknown>> {
      const input = filledIn(action, variables);
      // The author says of `AC_set_var` and the like that what they set is none.
      if (input.secret === false || comparesOpen(action, input, variables)) return input;
      for (const [field, schema] of Object.entries(action.operation.input.entries)) {
        // A list or an object is secret as a whole: its parts may be names that everybody knows.
        if (metadataOf(schema).secret && typeof input[field] === "string") conceal(input[field]);
      }
      return input;
    },
    /** Sets a variable to an error message. It does not count as a secret: the run reports the same message. */
    blame(name: string, error: string, variables: Variables): void {
      errors.set(name, error);
      variables.note(name, error);
    },
  };
}

/** Whether it compares a variable that is no secret: what that is compared with is none either, unless it is a variable that is one. */
function comparesOpen(
  { operation }: Action,
  input: Readonly<Record<string, unknown>>,
  variables: Variables,
): boolean {
  return Object.entries(operation.input.entries).some(([field, schema]) => {
    const name = input[field];
    return (
      metadataOf(schema).variable === "reads" &&
      typeof name === "string" &&
      variables.isShown(referenceOf(name))
    );
  });
}

/**
 * Whether the result of `action` has no secret: those of the actions inside it may have any, and what a secret is filled into may
 * give it back, for all that svc knows.
 */
export function isOpen({ operation, lists, input, deferred }: Action, variables: Variables): boolean {
  const isLeaf = Object.keys(lists).length === 0;
  const filled = deferred.flatMap((field) => referencesIn(input[field]));
  if (!isLeaf || !filled.every((reference) => variables.isShown(reference))) return false;
  return !holdsSecret(operation.plain?.output ?? operation.output);
}
