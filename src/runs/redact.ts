/**
 * Outcomes as they are kept after the reply: without secrets, and small.
 */
import type * as v from "valibot";
import type { Outcome } from "../core/run";
import { metadataOf } from "../core/schema";
import { sizeWithin } from "../lib/json-size";
import type { Runner } from "./runner";

/** The most that a kept result may take; a larger one is left out. */
const MAX_KEPT = { bytes: 4_096, depth: 64 };

/** `outcome` and the outcomes nested in it with every secret replaced by `"***"`. */
export function keepable(outcome: Outcome, run: Pick<Runner, "operations" | "secrets">): Outcome {
  const { operations, secrets } = run;
  const { result, detail, error, ...rest } = outcome;
  const walk = (value: unknown): unknown => {
    // A longer text is left out below.
    if (typeof value === "string" && value.length <= MAX_KEPT.bytes) return secrets.scrub(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    if (value !== outcome && operations.has(value)) return keepable(value as Outcome, run);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  const operation = operations.get(outcome);
  const clean = walk(
    operation ? withoutSecrets(operation.plain?.output ?? operation.output, result) : result,
  );
  const kept: Outcome = { ...rest };
  if (error !== undefined) kept.error = secrets.scrub(error);
  if (result !== undefined && sizeWithin(clean, MAX_KEPT) !== undefined) kept.result = clean;
  else if (result !== undefined) kept.omitted = true;
  const inside = detail && walk(detail);
  if (inside && sizeWithin(inside, MAX_KEPT) !== undefined) kept.detail = inside as Record<string, unknown>;
  return kept;
}

/** `value` with what `schema` marks as secret replaced by `"***"`; null stays null. */
function withoutSecrets(schema: v.GenericSchema, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (metadataOf(schema).secret) return "***";
  if (!partsOf(schema).some(holdsSecret)) return value;
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

const holdsSecret = (schema: v.GenericSchema): boolean =>
  metadataOf(schema).secret === true || partsOf(schema).some(holdsSecret);

/** The schemas that `schema` is made of: what it wraps, items, values, fields, alternatives. */
function partsOf(schema: object): v.GenericSchema[] {
  const { wrapped, item, value, entries = {}, options = [], items = [] } = schema as Record<string, object>;
  const parts = [wrapped, item, value, ...[entries, options, items].flatMap((many) => Object.values(many))];
  return parts.filter((part): part is v.GenericSchema => typeof part === "object" && "kind" in part);
}
