/**
 * Outcomes as they may be kept after the reply: without secrets, and not too big.
 */
import type * as v from "valibot";
import type { Outcome } from "../core/run";
import { metadataOf } from "../core/schema";
import { sizeWithin } from "../lib/json-size";
import type { Command } from "./actions";
import type { Secrets } from "./secrets";

/** What a kept result may come to; a larger one is left out. */
const MAX_KEPT = { bytes: 4_096, depth: 64 };

/** What is known of the outcomes of a run. */
interface Known {
  operationOf(outcome: Outcome): Command | undefined;
  readonly secrets: Secrets;
}

/** `outcome` and the outcomes nested in it with every secret in them replaced by `"***"`. */
export function keepable(outcome: Outcome, known: Known): Outcome {
  const { operationOf, secrets } = known;
  const { result, detail, error, ...rest } = outcome;
  const walk = (value: unknown): unknown => {
    // A longer text is left out below.
    if (typeof value === "string" && value.length <= MAX_KEPT.bytes) return secrets.scrub(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    const inner = value as Outcome;
    if (value !== outcome && operationOf(inner)) return keepable(inner, known);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  const operation = operationOf(outcome);
  const told = walk(operation ? withoutSecrets(operation.plain?.output ?? operation.output, result) : result);
  const kept: Outcome = { ...rest };
  if (error !== undefined) kept.error = secrets.scrub(error);
  if (result !== undefined && sizeWithin(told, MAX_KEPT) !== undefined) kept.result = told;
  else if (result !== undefined) kept.omitted = true;
  const inside = detail && walk(detail);
  if (inside && sizeWithin(inside, MAX_KEPT) !== undefined) kept.detail = inside as Record<string, unknown>;
  return kept;
}

/** `value` with what `schema` marks as secret replaced by `"***"`; null stays null. */
function withoutSecrets(schema: v.GenericSchema, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (metadataOf(schema).secret) return "***";
  if (!holdsSecret(schema)) return value;
  if ("wrapped" in schema) return withoutSecrets(schema.wrapped as v.GenericSchema, value);
  if ("item" in schema && Array.isArray(value)) {
    return value.map((item) => withoutSecrets(schema.item as v.GenericSchema, item));
  }
  if (!("entries" in schema) || typeof value !== "object") return "***";
  const entries = schema.entries as Record<string, v.GenericSchema>;
  const known = Object.entries(value).flatMap(([key, item]) => {
    const entry = Object.hasOwn(entries, key) ? entries[key] : undefined;
    return entry ? [[key, withoutSecrets(entry, item)]] : [];
  });
  return Object.fromEntries(known);
}

function holdsSecret(schema: v.GenericSchema): boolean {
  if (metadataOf(schema).secret) return true;
  const inner = [
    ...("wrapped" in schema ? [schema.wrapped] : []),
    ...("item" in schema ? [schema.item] : []),
    ...("value" in schema ? [schema.value] : []),
    ...("entries" in schema ? Object.values(schema.entries as object) : []),
    ...("options" in schema && Array.isArray(schema.options) ? schema.options : []),
    ...("items" in schema && Array.isArray(schema.items) ? schema.items : []),
  ];
  return inner.some(
    (part) => typeof part === "object" && part !== null && holdsSecret(part as v.GenericSchema),
  );
}
