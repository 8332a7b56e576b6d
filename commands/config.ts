import type { Argv } from "yargs";
import { type CommandGroup, command, print, withService } from "../src/cli/command";
import { BUNDLED_NAMES } from "../src/config/bundle";
import { readBundleFile, writeBundleFile } from "../src/config/file";
import { exportConfig, importConfig } from "../src/config/operations";
import { callOperation } from "../src/core/call";
import { localCaller } from "../src/core/caller";
import { badInput } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import { readSecret } from "../src/lib/secret";

/** What both take. */
const ofFile = <Flags>(argv: Argv<Flags>, describe: string) =>
  argv
    .positional("file", { type: "string", demandOption: true, describe })
    .nargs("file", 1) // else yargs takes `-` for the empty text
    .option("passphrase-file", {
      type: "string",
      describe: "File with the passphrase (else SVC_PASSPHRASE, else a prompt)",
    })
    .nargs("passphrase-file", 1);

const passphrase = (file: string | undefined, confirm: boolean) =>
  readSecret({
    name: "passphrase",
    file,
    flag: "--passphrase-file",
    variable: "SVC_PASSPHRASE",
    confirm,
  });

const exportTo = command({
  builder: (argv) =>
    ofFile(argv, "The bundle; - for stdout")
      .option("encrypt", { type: "boolean", default: false, describe: "Seal the bundle under a passphrase" })
      .example("$0 config export host.json --encrypt", "Tokens and all, sealed"),
  handler: (flags) =>
    withService(flags, async (service) => {
      if (flags.passphraseFile !== undefined && !flags.encrypt) {
        throw badInput("passphrase-file: expected with --encrypt only");
      }
      const bundle = await callOperation(service, exportConfig, {}, localCaller(service, "cli"));
      const text = flags.json ? JSON.stringify(bundle) : JSON.stringify(bundle, null, 2);
      const sealing = flags.encrypt ? await passphrase(flags.passphraseFile, true) : undefined;
      await writeBundleFile(flags.file, text, sealing);
      const files = Object.keys(bundle.files);
      if (flags.file !== "-") print(flags, { file: flags.file, files }, () => exported(flags.file, files));
      return 0;
    }),
});

const importFrom = command({
  builder: (argv) =>
    ofFile(argv, "The bundle; - for stdin")
      .option("dry-run", { type: "boolean", default: false, describe: "Show the changes, make none" })
      .option("only", {
        type: "string",
        array: true,
        choices: BUNDLED_NAMES,
        describe: "These files of the bundle only",
      })
      .example("$0 config import host.json --dry-run", "What would change here")
      .example("$0 config import host.json --only viewer_id", "One file of it"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const bundle = await readBundleFile(flags.file, () => passphrase(flags.passphraseFile, false));
      const input = { bundle, dry_run: flags.dryRun, ...(flags.only && { only: flags.only }) };
      const report = await callOperation(service, importConfig, input, localCaller(service, "cli"));
      print(flags, report, () => imported(report));
      for (const warning of report.warnings) service.log.warn(warning);
      return 0;
    }),
});

export default {
  examples: [
    ["$0 config export host.json --encrypt", "Tokens and all, sealed"],
    ["$0 config import host.json --dry-run", "What would change here"],
  ],
  group: {
    "export <file>": { describe: "Write the configuration of this host as one bundle", ...exportTo },
    "import <file>": { describe: "Take over the configuration of a bundle", ...importFrom },
  },
} satisfies CommandGroup;

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
  if (lines.length === 0) lines.push("no files");
  return [...lines, dry_run ? "dry run: nothing was written" : undefined].filter(Boolean).join("\n");
}
