import { callOperation } from "../src/call";
import { localCaller } from "../src/caller";
import { command, print, withService } from "../src/cli";
import { BUNDLED_NAMES } from "../src/config/bundle";
import { readBundleFile, writeBundleFile } from "../src/config/file";
import { exportConfig, importConfig } from "../src/config/operations";
import { readSecret } from "../src/lib/secret";
import { printable } from "../src/lib/text";

export default command({
  builder: (argv) =>
    argv
      .positional("action", { choices: ["export", "import"] as const, demandOption: true })
      .positional("file", {
        type: "string",
        demandOption: true,
        describe: "The bundle; - for stdout or stdin",
      })
      .nargs("file", 1) // else yargs takes `-` for the empty text
      .option("encrypt", {
        type: "boolean",
        default: false,
        describe: "export: seal the bundle under a passphrase",
      })
      .option("passphrase-file", {
        type: "string",
        describe: "File with the passphrase (else SVC_PASSPHRASE, else a prompt)",
      })
      .option("dry-run", { type: "boolean", default: false, describe: "import: show the changes, make none" })
      .option("only", {
        type: "string",
        array: true,
        choices: BUNDLED_NAMES,
        describe: "import: these files of the bundle only",
      })
      .example("$0 config export host.json --encrypt", "Tokens and all, sealed")
      .example("$0 config import host.json --dry-run", "What would change here")
      .example("$0 config import host.json --only viewer_id", "One file of it"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const caller = localCaller(service, "cli");
      const passphrase = (confirm: boolean) =>
        readSecret({
          name: "passphrase",
          file: flags.passphraseFile,
          flag: "--passphrase-file",
          variable: "SVC_PASSPHRASE",
          confirm,
        });
      if (flags.action === "export") {
        const bundle = await callOperation(service, exportConfig, {}, caller);
        const text = flags.json ? JSON.stringify(bundle) : JSON.stringify(bundle, null, 2);
        await writeBundleFile(flags.file, text, flags.encrypt ? await passphrase(true) : undefined);
        const files = Object.keys(bundle.files);
        if (flags.file !== "-") print(flags, { file: flags.file, files }, () => exported(flags.file, files));
        return 0;
      }
      const bundle = await readBundleFile(flags.file, () => passphrase(false));
      const input = { bundle, dry_run: flags.dryRun, ...(flags.only && { only: flags.only }) };
      const report = await callOperation(service, importConfig, input, caller);
      print(flags, report, () => imported(report));
      for (const warning of report.warnings) service.log.warn(warning);
      return 0;
    }),
});

function exported(file: string, files: readonly string[]): string {
  return `${printable(file)}: ${files.length === 0 ? "no files" : files.join(", ")}`;
}

interface Told {
  readonly dry_run: boolean;
  readonly files: ReadonlyArray<{ name: string; change: string; diff: string | null; note: string | null }>;
  readonly backups: Readonly<Record<string, string>>;
}

function imported({ dry_run, files, backups }: Told): string {
  const lines = files.flatMap(({ name, change, diff, note }) => [
    [`${change.padEnd(9)}  ${name}`, note && `(${note})`, backups[name] && `(was: ${backups[name]})`]
      .filter(Boolean)
      .join("  "),
    ...(diff?.split("\n").map((line) => `    ${printable(line, 200)}`) ?? []),
  ]);
  return [...lines, dry_run ? "dry run: nothing was written" : undefined].filter(Boolean).join("\n");
}
