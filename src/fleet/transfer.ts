/**
 * The address book in a file, for a hundred hosts at once: as JSON (the form of `admin_hosts.json`) or as CSV (RFC 4180)
 * with the columns label, base_url, token, tags, ca and pin; several tags are separated by spaces.
 */
import * as v from "valibot";
import { badInput } from "../lib/errors";
import { printable } from "../lib/sanitize";
import { type Host, parseHost } from "./host";

export type TransferFormat = "csv" | "json";

const COLUMNS = ["label", "base_url", "token", "tags", "ca", "pin"] as const;

/** `hosts` as text. Without `withTokens`, the tokens are left out. */
export async function exportHosts(
  hosts: readonly Host[],
  format: TransferFormat,
  withTokens: boolean,
): Promise<string> {
  const told = hosts.map((host) => ({ ...host, token: withTokens ? host.token : "" }));
  if (format === "json") {
    const entries = withTokens ? told : told.map(({ token, ...rest }) => rest);
    return `${JSON.stringify({ hosts: entries }, null, 2)}\n`;
  }
  const { stringify } = await import("csv-stringify/sync");
  const rows = told.map((host) => ({ ...host, tags: host.tags.join(" ") }));
  return stringify(rows, { header: true, columns: [...COLUMNS] });
}

/**
 * The hosts in `text`. An entry without a token takes that of the host in `known` with its label.
 *
 * @param format what it is written in; by default JSON when it looks like it, else CSV.
 * @throws a `bad_input` failure naming the entries at fault by line (CSV) or position (JSON), never quoting a token.
 */
export async function importHosts(
  text: string,
  known: readonly Host[],
  format: TransferFormat = /^\s*[[{]/.test(text) ? "json" : "csv",
): Promise<Host[]> {
  const entries = format === "json" ? fromJson(text) : await fromCsv(text);
  if (entries.length === 0) throw badInput("file: expected hosts in it, and there are none");
  const tokens = new Map(known.map(({ label, token }) => [label, token]));
  const faults: string[] = [];
  const seen = new Set<string>();
  const hosts = entries.flatMap(({ where, entry }) => {
    const token = entry.token || (typeof entry.label === "string" ? tokens.get(entry.label) : undefined);
    const parsed = token ? parseHost({ ...entry, token }) : { fault: "token: missing" };
    const fault = "fault" in parsed ? parsed.fault : twice(parsed.host.label, seen);
    if (fault !== undefined) faults.push(`${where}: ${fault}`);
    return "host" in parsed ? [parsed.host] : [];
  });
  if (faults.length > 0) throw badInput(faultText(faults));
  return hosts;
}

interface Entry {
  readonly where: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

const twice = (label: string, seen: Set<string>) => {
  if (seen.has(label)) return `label: ${printable(label, 130)} is there twice`;
  seen.add(label);
  return undefined;
};

function faultText(faults: readonly string[]): string {
  const more = faults.length > 20 ? `; and ${faults.length - 20} more` : "";
  return `file: ${faults.slice(0, 20).join("; ")}${more}`;
}

const ENTRIES = v.array(v.record(v.string(), v.unknown()));

function fromJson(text: string): Entry[] {
  try {
    const content: unknown = JSON.parse(text);
    const listed = v.safeParse(v.object({ hosts: ENTRIES }), content);
    const entries = listed.success ? listed.output.hosts : v.parse(ENTRIES, content);
    return entries.map((entry, at) => ({ where: `hosts[${at}]`, entry }));
  } catch {
    throw badInput('file: expected JSON of the form {"hosts": [{…}]}');
  }
}

async function fromCsv(text: string): Promise<Entry[]> {
  const { parse } = await import("csv-parse/sync");
  let records: Array<{ record: Record<string, string>; info: { lines: number } }>;
  try {
    records = parse(text, {
      bom: true,
      columns: checkedHeader,
      trim: true,
      skip_empty_lines: true,
      info: true,
    });
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

/** @throws an error that says which column is odd. */
function checkedHeader(header: readonly string[]): string[] {
  const names = header.map((name) => name.trim().toLowerCase());
  const odd = names.findIndex((name) => COLUMNS.every((column) => column !== name));
  // Not by its name: without a header, the first line has a token in it.
  if (odd !== -1) throw new Error(`expected columns of ${COLUMNS.join(", ")} but number ${odd + 1} is none`);
  if (!names.includes("label") || !names.includes("base_url"))
    throw new Error("expected columns label and base_url");
  return names;
}

/** csv-parse quotes the record it fails at, which holds a token: only its own code and our own words are told. */
function csvFault(error: unknown): string {
  if (!(error instanceof Error)) return "expected CSV";
  if (!("code" in error)) return error.message;
  const line = "lines" in error ? ` at line ${error.lines}` : "";
  return `expected CSV${line} (${error.code})`;
}
