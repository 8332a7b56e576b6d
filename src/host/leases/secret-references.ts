/** Secrets of the host in what an agent puts into fields: `${secret:NAME}`. */
import type { InputSchema, Operation } from "../../core/operation";
import { entryOf, metadataOf } from "../../core/schema";
import { badInput, Failure } from "../../lib/errors";
import { mapTexts } from "../../lib/map-texts";
import { jsonLine } from "../../lib/sanitize";

const REFERENCE = /\$\{secret:([A-Za-z0-9][A-Za-z0-9._-]{0,63})\}/g;

type Fields = Readonly<Record<string, unknown>>;

/**
 * The names of the secrets that the input refers to.
 *
 * @throws a `bad_input` failure for one in a field that rows of the audit log show, or in what is looked for: a failure says that.
 */
export function secretsIn({ input: schema }: Pick<Operation, "input">, input: Fields): string[] {
  const names = Object.entries(input).flatMap(([field, value]) => {
    const found = namesIn(value);
    if (found.length > 0 && (!isSecret(schema, field) || namesIn(besideTexts(value)).length > 0))
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

/** What of a value does not go into a field: of steps all but their `text`, of a text nothing. */
function besideTexts(value: unknown): unknown {
  if (typeof value === "string") return null;
  if (!Array.isArray(value)) return value;
  return value.map((step) => (typeof step === "object" && step !== null ? { ...step, text: null } : step));
}

const namesIn = (value: unknown): string[] => {
  if (typeof value === "string") return Array.from(value.matchAll(REFERENCE), ([, name = ""]) => name);
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(namesIn);
};

/** `input` with the values in place of their names. */
export const withSecrets = <T>(input: T, values: ReadonlyMap<string, string>): T =>
  mapTexts(input, (text) => text.replaceAll(REFERENCE, (whole, name) => values.get(name) ?? whole));

/** How many characters of a name a snapshot shows of one that is cut, at least. */
const SHOWN = 99;

/** How a value may stand in an answer: as it is, in quotation marks of JSON, with white space as names have it, and cut. */
function formsOf(value: string): string[] {
  const plain = [value, value.replaceAll(/\s+/g, " ").trim()];
  const cut = plain.filter((one) => one.length > SHOWN).map((one) => [...one].slice(0, SHOWN).join(""));
  const all = [...plain, ...cut];
  return [...all, ...all.map((one) => jsonLine(one).slice(1, -1))].filter((one) => one !== "");
}

const masked = (values: ReadonlyMap<string, string>): ((text: string) => string) => {
  // The longest first: one may be a part of another.
  const all = [...new Set([...values.values()].flatMap(formsOf))].toSorted((a, b) => b.length - a.length);
  return (text) => all.reduce((left, one) => left.replaceAll(one, "***"), text);
};

/** `answer` with `***` in place of the values. */
export const withoutSecrets = (answer: unknown, values: ReadonlyMap<string, string>): unknown =>
  values.size === 0 ? answer : mapTexts(answer, masked(values));

/** `error` with `***` in place of the values. */
export function faultWithoutSecrets(error: unknown, values: ReadonlyMap<string, string>): unknown {
  if (values.size === 0 || !(error instanceof Error)) return error;
  const mask = masked(values);
  if (error instanceof Failure) {
    const shown = new Failure(error.code, mask(error.message), mapTexts(error.more, mask));
    return Object.assign(shown, { hasDoneNothing: error.hasDoneNothing });
  }
  const shown = new Error(mask(error.message));
  if (error.stack !== undefined) shown.stack = mask(error.stack);
  return shown;
}
