/**
 * The address book in other forms: JSON (as in `admin_hosts.json`) and CSV (RFC 4180; columns label, base_url, token, tags,
 * ca and pin, with spaces between tags).
 */
import * as v from "valibot";
import { badInput } from "../../lib/errors";
import { jsonIn } from "../../lib/json-in";
import { faultText } from "../../lib/json-places";
import { printable } from "../../lib/sanitize";
import { type Host, linkedHost, parseHost } from "./host";

export const TRANSFER_FORMATS = ["csv", "json"] as const;
type TransferFormat = (typeof TRANSFER_FORMATS)[number];

const COLUMNS = ["label", "base_url", "token", "tags", "ca", "pin"];

/** `hosts` as text; without their tokens unless `withTokens`. */
export async function exportHosts(
  hosts: readonly Host[],
  format: TransferFormat,
  withTokens: boolean,
): Promise<string> {
  const entries = withTokens ? hosts : hosts.map(({ token, ...rest }) => rest);
  if (format === "json") return `${JSON.stringify({ hosts: entries }, null, 2)}\n`;
  const { stringify } = await import("csv-stringify/sync");
  const rows = entries.map((entry) => ({ ...entry, tags: entry.tags.join(" ") }));
  return stringify(rows, { header: true, columns: COLUMNS });
}

/**
 * The hosts in `text`. An entry without a token takes that of the host in `known` with the same label; one that is reached over
 * its link is known to have joined where it is in `known`.
 *
 * @param format default: JSON when the text starts with a bracket or a brace, else CSV.
 * @throws a `bad_input` failure that names each entry at fault by line (CSV) or position (JSON) and never quotes a token.
 */
export async function importHosts(
  text: string,
  known: readonly Host[],
  format: TransferFormat = /^\s*[[{]/.test(text) ? "json" : "csv",
): Promise<Host[]> {
  const entries = await (format === "json" ? fromJson(text) : fromCsv(text));
  if (entries.length === 0) throw badInput("file: expected at least one host");
  const tokens = new Map(known.map(({ label, token }) => [label, token]));
  const members = new Map(known.map(({ base_url, member }) => [base_url, member]));
  const labels = new Set<string>();
  const faults: string[] = [];
  const hosts: Host[] = [];
  for (const { where, entry } of entries) {
    const parsed = parseEntry(entry, tokens, members);
    if ("fault" in parsed) faults.push(`${where}: ${parsed.fault}`);
    else if (labels.has(parsed.entry.label))
      faults.push(`${where}: label: ${printable(parsed.entry.label, 130)} is there twice`);
    else {
      labels.add(parsed.entry.label);
      hosts.push(parsed.entry);
    }
  }
  if (faults.length === 0) return hosts;
  const more = faults.length > 20 ? `; and ${faults.length - 20} more` : "";
  throw badInput(`file: ${faults.slice(0, 20).join("; ")}${more}`);
}

function parseEntry(
  { token, ...entry }: Entry["entry"],
  tokens: ReadonlyMap<unknown, Host["token"]>,
  members: ReadonlyMap<unknown, Host["member"]>,
) {
  if (typeof entry.base_url === "string" && linkedHost(entry.base_url) !== undefined) {
    const member = entry.member ?? members.get(entry.base_url);
    return parseHost({ ...entry, token: token || undefined, member });
  }
  const known = token || tokens.get(entry.label);
  return known ? parseHost({ ...entry, token: known }) : { fault: "token: missing" };
}

const ENTRIES = v.array(v.record(v.string(), v.unknown()));

const WRAPPED = v.object({ hosts: ENTRIES });

/** An entry of the text, and where it is, for messages: `line 3`. */
type Entry = { readonly where: string; readonly entry: v.InferOutput<typeof ENTRIES>[number] };

async function fromJson(text: string): Promise<Entry[]> {
  const content = jsonIn(text);
  if (content === undefined) throw badInput(`file: ${await faultText(text)}`);
  const checked = v.safeParse(
    v.union([
      v.pipe(
        WRAPPED,
        v.transform(({ hosts }) => hosts),
      ),
      ENTRIES,
    ]),
    content,
  );
  if (!checked.success) throw badInput('file: expected JSON of the form {"hosts": [{…}]}');
  return checked.output.map((entry, at) => ({ where: `hosts[${at}]`, entry }));
}

async function fromCsv(text: string): Promise<Entry[]> {
  const { parse } = await import("csv-parse/sync");
  let records: Array<{ record: Record<string, string>; info: { lines: number } }>;
  try {
    const lenient = { bom: true, trim: true, skip_empty_lines: true };
    records = parse(text, { ...lenient, columns: checkedHeader, info: true });
  } catch (error) {
    throw badInput(`file: ${printable(csvFault(error), 200)}`);
  }
  return records.map(({ record: { tags = "", ca = "", pin = "", ...rest }, info }) => ({
    where: `line ${info.lines}`,
    entry: {
      ...rest,
      tags: tags.split(/[\s;|]+/).filter((tag) => tag !== ""),
      ...(ca !== "" && { ca }),
      ...(pin !== "" && { pin }),
    },
  }));
}

/** @throws an error that names the column at fault by its number: a file without a header has a token there. */
function checkedHeader(header: readonly string[]): string[] {
  const names = header.map((name) => name.trim().toLowerCase());
  const unknown = names.findIndex((name) => !COLUMNS.includes(name));
  if (unknown !== -1)
    throw new Error(`column ${unknown + 1} of the first line: expected one of ${COLUMNS.join(", ")}`);
  if (!names.includes("label") || !names.includes("base_url"))
    throw new Error("expected columns label and base_url");
  return names;
}

/** csv-parse quotes the record at fault, which holds a token: only its code, its lengths and our own messages are shown. */
function csvFault(error: unknown): string {
  if (!(error instanceof Error)) return "expected CSV";
  if (!("code" in error)) return error.message;
  const { lines, columns, record } = v.parse(CSV_FAULT, error);
  const where = lines === undefined ? "" : `line ${lines}: `;
  if (error.code === "CSV_RECORD_INCONSISTENT_COLUMNS" && columns && record)
    return `${where}expected ${columns.length} values, one for each column of the first line, but found ${record.length}`;
  return `${where}expected ${CSV_WORDS.get(`${error.code}`) ?? `CSV (${error.code})`}`;
}

/** What the parser tells of a fault, where it does. */
const CSV_FAULT = v.object({
  lines: v.fallback(v.optional(v.number()), undefined),
  columns: v.fallback(v.optional(v.array(v.unknown())), undefined),
  record: v.fallback(v.optional(v.array(v.unknown())), undefined),
});

/** What was expected, by the codes of the parser. */
const CSV_WORDS: ReadonlyMap<string, string> = new Map([
  ["CSV_QUOTE_NOT_CLOSED", 'a " that closes the value which begins with one'],
  ["INVALID_OPENING_QUOTE", 'a value with a " in it to be within quotes, and that " twice'],
  ["CSV_INVALID_CLOSING_QUOTE", 'a comma or the end of the line after a closing "'],
  ["CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE", 'a comma or the end of the line after a closing "'],
]);
