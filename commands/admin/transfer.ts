import { command, print, withService } from "../../src/cli/command";
import { localCaller } from "../../src/core/caller";
import { exportHosts as exported, importHosts as imported } from "../../src/fleet/transfer";
import { badInput } from "../../src/lib/errors";
import { readTextFile, writeNamedFile } from "../../src/lib/files";
import { printable } from "../../src/lib/sanitize";

const FORMATS = ["csv", "json"] as const;

export const exportHosts = command({
  builder: (argv) =>
    argv
      .positional("file", { type: "string", default: "-", describe: "Where to; - for stdout" })
      .option("format", { choices: FORMATS, describe: "What to write (by the file's name, else json)" })
      .option("tokens", { type: "boolean", default: false, describe: "With the tokens; only into a file" })
      .example("$0 admin export hosts.csv", "For a spreadsheet, without tokens")
      .example("$0 admin export hosts.json --tokens", "To another machine; 0600"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const { file, tokens } = flags;
      if (file === "-" && tokens) throw badInput("tokens: expected a file to write them to");
      const hosts = (await service.addressBook()).hosts();
      const format = flags.format ?? (file.endsWith(".csv") ? "csv" : "json");
      if (tokens)
        await localCaller(service, "cli").announce(`admin.export hosts=${hosts.length} with tokens`);
      const text = await exported(hosts, format, tokens);
      if (file === "-") process.stdout.write(text);
      else {
        writeNamedFile(file, text, "file");
        print(flags, { file, hosts: hosts.length }, () => `${printable(file)}: ${hosts.length} hosts`);
      }
      return 0;
    }),
});

export const importHosts = command({
  builder: (argv) =>
    argv
      .positional("file", { type: "string", demandOption: true, describe: "CSV or JSON; - for stdin" })
      .nargs("file", 1) // else yargs takes `-` for the empty text
      .option("format", { choices: FORMATS, describe: "What it is written in (as it looks)" })
      .option("replace", {
        type: "boolean",
        default: false,
        describe: "Put hosts in the place of those that have their label",
      })
      .epilogue("Columns: label, base_url, token, tags (a b c), ca, pin. All hosts are added, or none.")
      .example("$0 admin import hosts.csv", "A hundred hosts at once"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const book = await service.addressBook();
      const hosts = await imported(readTextFile(flags.file, "file"), book.hosts(), flags.format);
      await localCaller(service, "cli").announce(`admin.import hosts=${hosts.length}`);
      const done = await book.addAll(hosts, flags.replace);
      print(flags, done, () => `${done.added} added, ${done.replaced} replaced`);
      return 0;
    }),
});
