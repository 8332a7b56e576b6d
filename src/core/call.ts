/**
 * Calling an operation, the same from every surface: check the input, put a change on record, run.
 */

import type * as v from "valibot";
import type { Service } from "../service";
import type { Caller } from "./caller";
import { parseInput } from "./input";
import type { InputSchema, Operation, OutputSchema } from "./operation";

/**
 * @param input as the surface received it, unchecked.
 * @returns what the operation returns, at once if it does: an answer that is there makes nobody wait.
 * @throws a `bad_input` failure naming the fields at fault; `unavailable` when a change cannot be put on record;
 *   whatever the operation throws.
 */
export function callOperation<I extends InputSchema, O extends OutputSchema>(
  service: Service,
  operation: Operation<I, O>,
  input: unknown,
  caller: Caller,
): Promise<v.InferInput<O>> | v.InferInput<O> {
  const checked = parseInput(operation.input, input);
  if (operation.changes !== true) return operation.run(service, checked, caller);
  return caller.announce(operation.name).then(() => operation.run(service, checked, caller));
}
