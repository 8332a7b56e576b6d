import * as v from "valibot";
import { print, subcommand, withService } from "../../src/cli/subcommand";
import { localCaller } from "../../src/core/caller";
import { field } from "../../src/core/fields";
import { exportHosts as exported, importHosts as imported } from "../../src/fleet/transfer";
import { badInput } from "../../src/lib/errors";
import { readTextFile, writeNamedFile } from "../../src/lib/files";
import { printable } from "../../src/lib/sanitize";

const FORMAT = v.picklist(["csv", "json"]);

export const exportHosts = subcommand({
  describe: "Write the hosts to a file",
  input: v.strictObject({
    file: field(v.optional(v.string(), "-"), "File to write, - for stdout"),
    format: field(v.optional(FORMAT), "What to write (by the file's name, else json)"),
    tokens: field(v.optional(v.boolean(), false), "With the tokens; only into a file"),
  }),
  positionals: ["file"],
  run: ({ file = "-", tokens = false, ...given }, globals) =>
    withService(globals, async (service) => {
      if (file === "-" && tokens) throw badInput("tokens: expected a file to write them to");
      const hosts = (await service.addressBook()).hosts();
      const format = given.format ?? (file.endsWith(".csv") ? "csv" : "json");
      if (tokens)
        await localCaller(service, "cli").announce(`admin.export hosts=${hosts.length} with tokens`);
      const text = await exported(hosts, format, tokens);
      if (file === "-") process.stdout.write(text);
      else {
        writeNamedFile(file, text, "file");
        print(globals, { file, hosts: hosts.length }, () => `${printable(file)}: ${hosts.length} hosts`);
      }
      return 0;
    }),
  examples: [
    ["$0 admin export hosts.csv", "For a spreadsheet, without tokens"],
    ["$0 admin export hosts.json --tokens", "To another machine; 0600"],
  ],
});

export const importHosts = subcommand({
  describe: "Add the hosts of a file",
  input: v.strictObject({
    file: field(v.string(), "CSV or JSON; - for stdin"),
    format: field(v.optional(FORMAT), "What it is written in (as it looks)"),
    replace: field(v.optional(v.boolean(), false), "Replace hosts that have the same label"),
  }),
  positionals: ["file"],
  run: ({ file, format, replace = false }, globals) =>
    withService(globals, async (service) => {
      const book = await service.addressBook();
      const hosts = await imported(readTextFile(file, "file"), book.hosts(), format);
      await localCaller(service, "cli").announce(`admin.import hosts=${hosts.length}`);
      const done = await book.addAll(hosts, replace);
      print(globals, done, () => `${done.added} added, ${done.replaced} replaced`);
      return 0;
    }),
  epilogue: "Columns: label, base_url, token, tags (a b c), ca, pin. All hosts are added, or none.",
  examples: [["$0 admin import hosts.csv", "A hundred hosts at once"]],
});
