/** Secrets of the host in what an agent puts into fields: `${secret:NAME}`. */
import type { InputSchema, Operation } from "../../core/operation";
import { entryOf, metadataOf } from "../../core/schema";
import { badInput } from "../../lib/errors";

const REFERENCE = /\$\{secret:([A-Za-z0-9][A-Za-z0-9._-]{0,63})\}/g;

type Fields = Readonly<Record<string, unknown>>;

/**
 * The names of the secrets that the input refers to.
 *
 * @throws a `bad_input` failure for one in a field that rows of the audit log show.
 */
export function secretsIn({ input: schema }: Pick<Operation, "input">, input: Fields): string[] {
  const names = Object.entries(input).flatMap(([field, value]) => {
    const found = namesIn(value);
    if (found.length > 0 && !isSecret(schema, field))
      throw badInput(
        `${field}: expected no secret of the host here: only in text that is typed or put into fields`,
      );
    return found;
  });
  return [...new Set(names)];
}

function isSecret(schema: InputSchema, field: string): boolean {
  const entry = entryOf(schema, field);
  return entry !== undefined && metadataOf(entry).secret === true;
}

const namesIn = (value: unknown): string[] => {
  if (typeof value === "string") return Array.from(value.matchAll(REFERENCE), ([, name = ""]) => name);
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(namesIn);
};

/** `input` with the values in place of their names. */
export const withSecrets = <T>(input: T, values: ReadonlyMap<string, string>): T =>
  mapped(input, (text) => text.replaceAll(REFERENCE, (whole, name) => values.get(name) ?? whole));

/** `answer` with `***` in place of the values. */
export function withoutSecrets(answer: unknown, values: ReadonlyMap<string, string>): unknown {
  if (values.size === 0) return answer;
  // The longest first: one may be a part of another.
  const all = [...values.values()].filter((one) => one !== "").toSorted((a, b) => b.length - a.length);
  return mapped(answer, (text) => all.reduce((left, one) => left.replaceAll(one, "***"), text));
}

function mapped<T>(value: T, change: (text: string) => string): T;
function mapped(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((one) => mapped(one, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, mapped(one, change)]));
}
