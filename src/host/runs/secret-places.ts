/**
 * Where a secret of the host may be filled in: where its value is logged, kept and sent nowhere.
 */

import * as v from "valibot";
import type { Operation } from "../../core/operation";
import { entryOf, metadataOf } from "../../core/schema";

const NOT_SECRET = "only a parameter that svc treats as secret takes one, such as a text to type";
/** Why a secret of this host goes to no other. */
export const STAYS =
  "a secret stays on its host: it may be named in the list for other hosts, which have their own";

/**
 * Why `${secret:…}` may not be written in this field, as the end of a message; undefined where it may.
 */
export function refusesSecret(operation: Operation, field: string): string | undefined {
  const { open, secret, remote } = marksOf(operation, field);
  if (open !== undefined) return open;
  if (remote) return undefined;
  if (goesElsewhere(operation)) return STAYS;
  return secret ? undefined : NOT_SECRET;
}

/**
 * Why a value that came there by a variable may not be in this field either; undefined where it may, or is masked. What the server does in
 * place of this process has rows of its own, which know no secret of this run.
 */
export function refusesValue(operation: Operation, field: string): string | undefined {
  const { open, secret } = marksOf(operation, field);
  if (open !== undefined) return open;
  if (goesElsewhere(operation)) return STAYS;
  return operation.serverInRuns && !secret ? NOT_SECRET : undefined;
}

/** Whether this field is a list for other hosts, in which references to secrets stay. */
export const isForOthers = (operation: Operation, field: string): boolean =>
  marksOf(operation, field).remote === true;

const goesElsewhere = ({ input }: Operation): boolean =>
  Object.values(input.entries).some((entry) => metadataOf(entry as v.GenericSchema).remote);

const marksOf = ({ input }: Operation, field: string) => metadataOf(entryOf(input, field) ?? v.unknown());
