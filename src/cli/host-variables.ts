/**
 * The flags that give variables to hosts: `--var`, `--var-file`, and `--vars-file` with those of each host.
 */
import * as v from "valibot";
import { field, fileContent } from "../core/fields";
import { jsonOrText } from "../core/text";
import { VARIABLE_NAME } from "../core/written";
import { badInput } from "../lib/errors";
import { jsonIn } from "../lib/json-in";
import { printable } from "../lib/sanitize";
import { VARIABLE_FIELDS, withVariables } from "./script-run";

export const HOST_VARIABLE_FIELDS = {
  ...VARIABLE_FIELDS,
  variables_by_host: field(
    // Not marked as a secret, of which a flag takes one line: nothing records it.
    v.optional(fileContent(v.string())),
    "Variables of each host: CSV with a column label and one for each variable, or JSON by label",
  ),
};

/** The name of that flag. */
export const HOST_VARIABLE_NAMES = { variables_by_host: "vars-file" };

type Flags = v.InferOutput<v.ObjectSchema<typeof HOST_VARIABLE_FIELDS, undefined>>;
type Rows = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The input with the variables of all flags; those of a host count before those of all hosts. */
export async function withHostVariables<
  I extends { readonly variables?: Record<string, unknown> | undefined },
>(input: I, { variables_by_host: text, ...flags }: Flags): Promise<I> {
  const { variables = {}, ...rest } = withVariables(input, flags);
  return {
    ...rest,
    ...(Object.keys(variables).length > 0 && { variables }),
    ...(text !== undefined && { variables_by_host: await rowsIn(text) }),
  } as I;
}

const ROWS = v.record(v.string(), v.record(v.string(), v.unknown()));

/** @throws `bad_input` that says where the file is wrong, and quotes no value. */
async function rowsIn(text: string): Promise<Rows> {
  if (!/^\s*[[{]/.test(text)) return rowsInCsv(text);
  const value = jsonIn(text);
  const read = v.safeParse(ROWS, value);
  if (read.success && !Array.isArray(value)) return read.output;
  throw badInput('variables_by_host: expected JSON such as {"lab-01": {"customer": "ACME"}}');
}

async function rowsInCsv(text: string): Promise<Rows> {
  const { parse } = await import("csv-parse/sync");
  const rows: Record<string, Record<string, unknown>> = Object.create(null);
  let records: Array<{ record: Record<string, string>; info: { lines: number } }>;
  try {
    records = parse(text, {
      bom: true,
      trim: true,
      skip_empty_lines: true,
      columns: checkedHeader,
      info: true,
    });
  } catch (error) {
    throw badInput(`variables_by_host: ${faultOf(error)}`);
  }
  for (const { record, info } of records) {
    const { label = "", ...values } = record;
    const name = label.normalize("NFC");
    if (name === "") throw badInput(`variables_by_host: line ${info.lines}: expected a label`);
    if (name in rows)
      throw badInput(`variables_by_host: line ${info.lines}: ${printable(name, 130)} is there twice`);
    rows[name] = Object.fromEntries(Object.entries(values).map(([key, cell]) => [key, jsonOrText(cell)]));
  }
  return { ...rows };
}

/** @throws an error for a first line that names no variables: it may have values, which no message quotes. */
function checkedHeader(header: readonly string[]): string[] {
  const names = header.map((name) => name.trim());
  const odd = names.findIndex((name) => !VARIABLE_NAME.test(name));
  if (odd !== -1)
    throw new HeaderError(`column ${odd + 1} of the first line: expected label, or a name of a variable`);
  if (!names.includes("label")) throw new HeaderError("expected a column label in the first line");
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new HeaderError(`the column ${twice} is there twice`);
  return names;
}

class HeaderError extends Error {}

/** csv-parse quotes the record at fault, which may hold a secret. */
function faultOf(error: unknown): string {
  if (error instanceof HeaderError) return error.message;
  const { code, lines } = Object(error);
  return `expected CSV${typeof lines === "number" ? ` at line ${lines}` : ""} (${printable(`${code}`, 60)})`;
}
