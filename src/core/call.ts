/**
 * Calling an operation, the same from every surface: check the input, put on record what changes or reveals something, run.
 */
import type * as v from "valibot";
import { badInput, explained, forbidden } from "../lib/errors";
import { printable } from "../lib/sanitize";
import type { Caller } from "./caller";
import { parseInput, sentence } from "./input";
import { type InputSchema, isReadOnly, type Operation, type OutputSchema, redact } from "./operation";
import { beyond, type Grant, LOOKS, missingFor } from "./rights";

/**
 * @param input as the surface received it, unchecked.
 * @returns what the operation returns; not a promise where it returns none, so that nobody waits for a ready answer.
 * @throws a `bad_input` failure naming the fields at fault; `forbidden` when the caller may not use it; `unavailable` when
 *   it must be on record first and cannot be; whatever the operation throws.
 */
export function callOperation<I extends InputSchema, O extends OutputSchema, S extends object>(
  service: S,
  operation: Operation<I, O, S>,
  input: unknown,
  caller: Caller,
): Promise<v.InferInput<O>> | v.InferInput<O> {
  return performOperation(service, operation, parseCall(operation, input), caller);
}

/** The input of a call, checked. @throws a `bad_input` failure that names every field at fault. */
export function parseCall<I extends InputSchema, O extends OutputSchema, S extends object>(
  operation: Operation<I, O, S>,
  value: unknown,
): v.InferOutput<I> {
  const input = parseInput(operation.input, value);
  const odd = operation.mismatch?.(input);
  if (odd) throw badInput(sentence([odd]), { fields: [odd.field] });
  return input;
}

/** {@link callOperation} with an input that has passed the check already: an action of a list. */
export function performOperation<I extends InputSchema, O extends OutputSchema, S extends object>(
  service: S,
  operation: Operation<I, O, S>,
  input: v.InferOutput<I>,
  caller: Caller,
): Promise<v.InferInput<O>> | v.InferInput<O> {
  const missing = missingFor(caller.grant, operation);
  if (missing !== undefined) throw forbidden(beyond(caller.grant, missing));
  const { on } = caller.grant;
  const reached = on === undefined ? service : limitedTo(service, operation, on);
  const isRecorded = operation.changes === true || operation.reveals === true;
  // The clicks and keys of a run are recorded together, before the first of them: there may be thousands.
  if (!isRecorded || (caller.run && operation.uses)) return operation.run(reached, input, caller);
  return runOnRecord(reached, operation, input, caller);
}

/** What a whole service offers for those who are limited to some hosts of the address book. */
interface LimitsHosts<S> {
  /** The same service, whose address book has no other hosts. */
  onlyOn?(selection: string): S;
}

/** The service for a grant that is for the hosts of a selection alone. @throws a `forbidden` failure for what is about this host. */
function limitedTo<I extends InputSchema, O extends OutputSchema, S extends object>(
  service: S & LimitsHosts<S>,
  operation: Operation<I, O, S>,
  on: NonNullable<Grant["on"]>,
): S {
  const { name, scope, onHosts } = operation;
  const isAllowed = onHosts || (LOOKS.includes(scope) && isReadOnly(operation as unknown as Operation));
  if (isAllowed && service.onlyOn) return service.onlyOn(on);
  throw forbidden(
    `you may act on ${printable(on, 200)} alone (oidc.json), and ${name} is about this host itself`,
  );
}

async function runOnRecord<I extends InputSchema, O extends OutputSchema, S extends object>(
  service: S,
  operation: Operation<I, O, S>,
  input: v.InferOutput<I>,
  caller: Caller,
): Promise<v.InferInput<O>> {
  operation.requires?.(service, input);
  const subject = subjectOf(operation, input);
  await caller.announce(subject).catch((error) => {
    if (!operation.elsewhere) throw error;
    caller.warn?.(`no audit row was left: ${explained(error)}`);
  });
  try {
    return await operation.run(service, input, caller);
  } catch (error) {
    // The caller gets the error itself, whether it can be recorded or not.
    await caller.recordFailure?.(subject, error).catch(() => {});
    throw error;
  }
}

/** How much of each field goes on record, and of all of them together, in characters. */
const MAX_VALUE = 200;
const MAX_SUBJECT = 1_000;

/** What a call is about, for its audit row: `jobs.remove job_id="nightly"`. Secrets are `"***"`. */
export function subjectOf(
  { name, input: schema }: Operation,
  input: Readonly<Record<string, unknown>>,
): string {
  const fields = Object.entries(redact(schema, input))
    .filter(([, value]) => value !== undefined)
    .map(([field, value]) => `${field}=${printable(JSON.stringify(value) ?? "null", MAX_VALUE)}`);
  return printable([name, ...fields].join(" "), MAX_SUBJECT);
}
