/**
 * Files of data that belong to a script: tables in CSV (RFC 4180) and values in JSON, so that "for each row" needs no program.
 *
 * Promise: no action reads or writes outside of the folder of its script, also behind links; what is read is bounded; a file that is
 * written is whole or the one before.
 */
import { dirname, extname, isAbsolute, resolve } from "node:path";
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { field, passed, secret } from "../../core/fields";
import { runOf } from "../../core/nested-lists";
import { operation } from "../../core/operation";
import { badInput, Failure, systemCode } from "../../lib/errors";
import { writeNamedFile } from "../../lib/files";
import { namesInside } from "../../lib/inside";
import { boundOf, excessIn } from "../../lib/json-bounds";
import { jsonOr } from "../../lib/json-in";
import { readRegularFile } from "../../lib/regular-file";
import { printable } from "../../lib/sanitize";
import { mapInSlices, nextTurn } from "../../lib/turn";
import { FLOW } from "./flow-parts";

/** The largest file that is read or written, in bytes: what all variables of a run may have. */
const MAX_BYTES = 4 * 1024 * 1024;

const MAX_ROWS = 100_000;

/** The most values of JSON, as of a script. */
const MAX_VALUES = 100_000;

/** How much is parsed or written in one turn of the event loop. */
const PIECE = { characters: 64 * 1024, rows: 1_000 };

const DELIMITERS = { ".csv": ",", ".tsv": "\t" } as const;

const FILE = v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096));

const where = "from the folder of the script on";

const delimiter = field(
  v.optional(v.picklist([",", ";", "\t", "|"])),
  "What stands between two values (default: a tab in a .tsv file, else a comma)",
);

const CELL = v.nullable(v.union([v.string(), v.number(), v.boolean()]));

export const operations = [
  operation({
    ...FLOW,
    name: "data.read_csv",
    reveals: true,
    summary: "Read a table from a file beside the script: a list of its rows",
    command: "AC_read_csv",
    example: { path: "orders.csv", as: "orders" },
    input: v.strictObject({
      path: field(FILE, `The .csv or .tsv file, ${where}`),
      delimiter,
      header: field(
        v.optional(v.boolean(), true),
        "Whether the first row has the names of the columns: then each row is an object, else a list",
      ),
    }),
    output: secret(v.array(v.union([v.record(v.string(), v.string()), v.array(v.string())]))),
    async run(_service, { path, delimiter, header }, caller) {
      const end = endOf(path, Object.keys(DELIMITERS)) as keyof typeof DELIMITERS;
      const text = await readText(placeOf(path, caller));
      return parseTable(text, delimiter ?? DELIMITERS[end], header);
    },
  }),
  operation({
    ...FLOW,
    name: "data.read_json",
    reveals: true,
    summary: "Read a value from a file of JSON beside the script",
    command: "AC_read_json",
    example: { path: "order.json", as: "order" },
    input: v.strictObject({ path: field(FILE, `The .json file, ${where}`) }),
    output: secret(v.unknown()),
    async run(_service, { path }, caller) {
      endOf(path, [".json"]);
      const text = await readText(placeOf(path, caller));
      const excess = excessIn(text, MAX_VALUES);
      if (excess) throw badInput(`path: expected ${boundOf(excess, MAX_VALUES)}`);
      return jsonOr(text, () => badInput("path: the file is not JSON"));
    },
  }),
  operation({
    ...FLOW,
    name: "data.write_csv",
    changes: true,
    summary: "Write a table to a file beside the script, or add rows to it",
    command: "AC_write_csv",
    example: { path: "done.csv", rows: [{ order: 17, status: "sent" }], append: true },
    input: v.strictObject({
      path: field(FILE, `The .csv or .tsv file, ${where}`),
      rows: field(
        passed(
          v.pipe(
            v.array(v.union([v.record(v.string(), CELL), v.array(CELL)])),
            v.maxLength(MAX_ROWS),
            v.check(
              (rows) => rows.every((row) => Array.isArray(row) === Array.isArray(rows[0])),
              "rows of one kind: objects or lists",
            ),
          ),
        ),
        "The rows: objects by the names of the columns, or lists; they are neither logged nor kept",
      ),
      columns: field(
        v.optional(v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(1_000))),
        "The columns, in their order (default: those of the file that is added to, else of the first row)",
      ),
      append: field(v.optional(v.boolean(), false), "Add the rows to the file, if it is there"),
      delimiter,
    }),
    output: v.object({ rows: v.number() }),
    async run(_service, { path, rows, columns, append, delimiter: given }, caller) {
      const end = endOf(path, Object.keys(DELIMITERS)) as keyof typeof DELIMITERS;
      const delimiter = given ?? DELIMITERS[end];
      const file = placeOf(path, caller);
      const before = append ? await textThere(file) : "";
      const known = before === "" ? undefined : await headerOf(before, delimiter);
      const isNamed = !Array.isArray(rows[0]);
      const wanted = columns ?? (isNamed ? (known ?? Object.keys(rows[0] ?? {})) : undefined);
      if (wanted && known && isNamed) requireSame(wanted, known);
      const head = wanted && before === "" && wanted.length > 0 ? [wanted] : [];
      const named = rowReader(wanted ?? []);
      const body = await mapInSlices(rows, (row) => (Array.isArray(row) ? row : named(row)));
      const kept = before === "" || before.endsWith("\n") ? before : `${before}\n`;
      const text = kept + (await tableOf([...head, ...body], delimiter));
      if (Buffer.byteLength(text) > MAX_BYTES)
        throw badInput(`rows: expected a file of at most ${MAX_BYTES} bytes`);
      writeNamedFile(file, text, "path");
      return { rows: rows.length };
    },
  }),
];

/** The end of a file's name. @throws `bad_input` where it is none of `ends`: scripts and keys beside it are no tables. */
function endOf(path: string, ends: readonly string[]): string {
  const end = extname(path).toLowerCase();
  if (ends.includes(end)) return end;
  throw badInput(`path: expected a name that ends in ${ends.join(" or ")}`);
}

/** The absolute path of a file of the script. @throws `bad_input` where it leads out of the script's folder, or there is none. */
function placeOf(path: string, caller: Caller): string {
  const { script } = runOf(caller);
  if (!isAbsolute(script))
    throw badInput("path: expected in a script that is a file: what was sent or stored has no folder");
  const folder = dirname(script);
  const file = resolve(folder, path);
  const outside = badInput(
    `path: expected a file in the folder of the script, and not ${printable(path, 200)}`,
  );
  try {
    if (namesInside(file, folder) === null) throw outside;
  } catch (error) {
    throw error instanceof Failure ? error : outside;
  }
  return file;
}

/** The text of a regular file in UTF-8. @throws `bad_input` where there is none. */
async function readText(file: string): Promise<string> {
  const content = await readRegularFile(file, MAX_BYTES, (expected) => badInput(`path: ${expected}`)).catch(
    (error) => {
      const code = systemCode(error);
      if (code === undefined) throw error;
      const why = code === "ENOENT" ? "no such file" : `cannot be read (${code})`;
      throw badInput(`path: ${why}: ${printable(file, 200)}`);
    },
  );
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    throw badInput("path: the file is not in UTF-8");
  }
}

/** The text of a file that may be missing: empty then. */
const textThere = async (file: string): Promise<string> =>
  (await Bun.file(file).exists()) ? readText(file) : "";

type Row = Record<string, string> | string[];

/** The rows of a table, parsed in turns. @throws `bad_input` that names the line of the fault. */
async function parseTable(text: string, delimiter: string, header: boolean, to?: number): Promise<Row[]> {
  const { parse } = await import("csv-parse");
  const parser = parse({
    delimiter,
    columns: header,
    bom: true,
    skip_empty_lines: true,
    relax_quotes: false,
    ...(to !== undefined && { to }),
  });
  const rows: Row[] = [];
  const read = (async () => {
    for await (const row of parser) {
      if (rows.push(row as Row) > MAX_ROWS) throw badInput(`path: expected at most ${MAX_ROWS} rows`);
    }
  })();
  const written = (async () => {
    for (let at = 0; at < text.length && !parser.destroyed; at += PIECE.characters) {
      parser.write(text.slice(at, at + PIECE.characters));
      await nextTurn();
    }
    if (!parser.destroyed) parser.end();
  })();
  try {
    await Promise.all([read, written]);
  } catch (error) {
    if (error instanceof Failure) throw error;
    const { lines, code } = error as { readonly lines?: number; readonly code?: string };
    // Its message quotes what is there.
    throw badInput(`path: not CSV, in line ${lines ?? "?"} (${code ?? "cannot be parsed"})`);
  }
  return rows;
}

async function headerOf(text: string, delimiter: string): Promise<string[]> {
  const [first = []] = await parseTable(text, delimiter, false, 1);
  return first as string[];
}

function requireSame(wanted: readonly string[], known: readonly string[]): void {
  if (wanted.length === known.length && wanted.every((name, at) => name === known[at])) return;
  throw badInput(`columns: the file has ${printable(known.join(", "), 500)}`);
}

/** @returns a function that gives the values of a row by columns. It throws `bad_input` for one that the table has no column for. */
function rowReader(columns: readonly string[]): (row: Readonly<Record<string, unknown>>) => unknown[] {
  // A file that is read may have a hundred thousand.
  const known = new Set(columns);
  return (row) => {
    const odd = Object.keys(row).find((name) => !known.has(name));
    if (odd !== undefined) throw badInput(`rows: ${printable(odd, 100)} is none of the columns`);
    return columns.map((name) => row[name] ?? "");
  };
}

/** The text of a table, made in turns. */
async function tableOf(rows: readonly unknown[][], delimiter: string): Promise<string> {
  const { stringify } = await import("csv-stringify/sync");
  const cast = { boolean: (value: boolean) => String(value) };
  const parts: string[] = [];
  for (let at = 0; at < rows.length; at += PIECE.rows) {
    parts.push(stringify(rows.slice(at, at + PIECE.rows), { delimiter, cast }));
    await nextTurn();
  }
  return parts.join("");
}
