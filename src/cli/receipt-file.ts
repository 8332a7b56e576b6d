/** Receipts on the command line: to a file or to standard output. */
import * as v from "valibot";
import { field, path } from "../core/fields";
import { writeNamedFile } from "../lib/files";
import { printable } from "../lib/sanitize";
import { type GlobalFlags, print } from "./subcommand";

/** The flag that names the file. */
export const RECEIPT_FILE = field(v.optional(path(v.string()), "-"), "File to write (.json), - for stdout");

/** Writes a receipt, as JSON in a line. @returns the exit code. @throws `bad_input` for a file that cannot be written. */
export function writeReceipt(globals: GlobalFlags, receipt: object, output: string): number {
  const text = `${JSON.stringify(receipt)}\n`;
  if (output === "-") print(globals, receipt, () => text.trimEnd());
  else {
    writeNamedFile(output, text, "--output");
    print(globals, { output }, () => printable(output));
  }
  return 0;
}
