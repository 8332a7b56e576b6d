/**
 * The address book as a file: export and import.
 */
import * as v from "valibot";
import { field, fileContent, flag, path } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { badInput } from "../../../lib/errors";
import { writeNamedFile } from "../../../lib/files";
import type { AddressBook } from "../address-book";
import { INSECURE_HTTP, requireEncryption } from "../settle-trust";
import { exportHosts, importHosts, TRANSFER_FORMATS } from "../transfer";

interface Uses {
  addressBook(): Promise<Pick<AddressBook, "hosts" | "addAll">>;
}

const TOKENS_IN_FILES = "it reads or writes a file of tokens, which belongs to the user of the host";
const FORMAT = v.optional(v.picklist(TRANSFER_FORMATS));
const NAME = v.pipe(v.string(), v.nonEmpty());

export const exportBook = operation({
  name: "admin.export",
  summary: "Export the hosts of the address book",
  scope: "admin",
  changes: "announces",
  leftOut: { http: TOKENS_IN_FILES, script: TOKENS_IN_FILES },
  input: v.strictObject({
    file: field(v.optional(path(NAME)), "File to write (default: return the text)"),
    format: field(FORMAT, "Format (default: csv for a file named *.csv, else json)"),
    tokens: flag("Include the tokens; needs a file"),
  }),
  output: v.object({
    file: v.nullable(v.string()),
    hosts: v.number(),
    /** Null when it was written to the file. */
    text: v.nullable(v.string()),
  }),
  async run(service: Uses, { file = null, format, tokens }, caller) {
    if (file === null && tokens) throw badInput("tokens: expected a file to write them to");
    const hosts = (await service.addressBook()).hosts();
    if (tokens) await caller.announce(`admin.export hosts=${hosts.length} tokens=true`);
    const text = await exportHosts(hosts, format ?? (file?.endsWith(".csv") ? "csv" : "json"), tokens);
    if (file !== null) writeNamedFile(file, text, "file");
    return { file, hosts: hosts.length, text: file === null ? text : null };
  },
});

export const importBook = operation({
  name: "admin.import",
  summary: "Add the hosts of a file to the address book: all of them, or none",
  answeredBy: "owner",
  scope: "admin",
  changes: "announces",
  leftOut: { http: TOKENS_IN_FILES, script: TOKENS_IN_FILES },
  input: v.strictObject({
    file: field(
      // Not marked as secret: it is on no surface that records its input.
      fileContent(v.string()),
      "JSON, or CSV with the columns label, base_url, token, tags (a b c), ca, pin",
    ),
    format: field(FORMAT, "Format (default: detected)"),
    replace: flag("Replace hosts that have the same label"),
    insecure_http: INSECURE_HTTP,
  }),
  output: v.object({ added: v.number(), replaced: v.number() }),
  async run(service: Uses, { file, format, replace, insecure_http }, caller) {
    const book = await service.addressBook();
    const hosts = await importHosts(file, book.hosts(), format);
    if (!insecure_http) requireEncryption(hosts);
    await caller.announce(`admin.import hosts=${hosts.length}`);
    return book.addAll(hosts, replace);
  },
});

export const operations = [exportBook, importBook];
