/** `svc config`: exports and imports the configuration of a host, and shows and changes its settings. */
import * as v from "valibot";
import {
  bundleIn,
  PASSPHRASE,
  PASSPHRASE_FIELD,
  passphraseOf,
  readSealable,
  writeSealable,
} from "../src/cli/sealed-file";
import { type Group, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { field, flag } from "../src/core/fields";
import {
  exportConfig,
  importConfig,
  listSettings,
  setAside,
  setSetting,
} from "../src/host/config/operations";
import { badInput } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";

/** As an exit code: an import would change something. */
const WOULD_CHANGE = 3;

export default {
  verbs: {
    export: view(exportConfig, {
      on: false,
      describe: "Write the configuration of this host as one bundle",
      extra: {
        file: field(v.string(), "The bundle; - for stdout"),
        encrypt: flag("Encrypt the bundle with a passphrase"),
        passphrase_file: PASSPHRASE_FIELD,
      },
      positionals: ["file"],
      async run({ service, call, input, extra, globals }) {
        const { file, encrypt } = extra;
        if (extra.passphrase_file !== undefined && !encrypt) {
          throw badInput("passphrase_file: expected with --encrypt only");
        }
        const bundle = await call(input);
        const text = globals.json ? JSON.stringify(bundle) : JSON.stringify(bundle, null, 2);
        const sealing = encrypt ? await passphraseOf(extra.passphrase_file, true) : undefined;
        await writeSealable(file, text, sealing);
        const files = Object.keys(bundle.files);
        if (!encrypt && files.length > 0) {
          service.log.warn(
            "the bundle is not encrypted, and may have tokens and keys: --encrypt asks for a passphrase",
          );
        }
        if (file !== "-") {
          print(globals, { file, files }, () => `${printable(file)}: ${files.join(", ") || "no files"}`);
        }
        return 0;
      },
      examples: [["$0 config export host.json --encrypt", "Includes tokens; encrypted"]],
    }),
    import: view(importConfig, {
      on: false,
      describe: "Import the configuration of a bundle",
      hidden: ["bundle"],
      extra: {
        file: field(v.string(), "The bundle; - for stdin"),
        passphrase_file: PASSPHRASE_FIELD,
        exit_code: flag("With --dry-run: exit code 3 when something would change"),
      },
      positionals: ["file"],
      async complete(input, { file, passphrase_file, exit_code }) {
        if (exit_code && !input.dry_run) throw badInput("exit_code: expected with --dry-run only");
        const given = (passphrase_file ?? process.env[PASSPHRASE]) !== undefined;
        const bytes = await readSealable(file, () => passphraseOf(passphrase_file, false), given);
        return { ...input, bundle: bundleIn(bytes, "svc config export") };
      },
      text: imported,
      warnings: ({ warnings }) => warnings,
      async run({ call, input, extra, show }) {
        const report = await call(input);
        const shown = show(report);
        return extra.exit_code && report.written.length > 0 ? WOULD_CHANGE : shown;
      },
      examples: [
        ["$0 config import host.json --dry-run", "What would change here"],
        ["$0 config import host.json --only viewer_id", "One file of the bundle"],
        ["$0 config import host.json --only admin_hosts.json --merge", "Add its hosts to those here"],
      ],
    }),
    set: view(setSetting, {
      on: false,
      positionals: ["name", "value"],
      complete: ({ name, value = [] }) => ({ name, value: value.flatMap((one) => one.split(",")) }),
      text: lineOf,
      examples: [
        ["$0 config set diagnose.skip screenshot,mouse", "A host without a desktop on purpose"],
        ["$0 config set diagnose.skip", "Every check again"],
      ],
    }),
    "set-aside": view(setAside, {
      on: false,
      positionals: ["file"],
      text: ({ file, kept }) =>
        kept.length === 0 ? `${file}: svc begins anew without it` : `${file}: kept as ${kept.join(", ")}`,
      examples: [["$0 config set-aside tokens.json", "A broken file that no backup has: every token ends"]],
    }),
    list: view(listSettings, {
      columns: ["SETTING", "VALUE"],
      rows: ({ settings }) => settings.map(({ name, value }) => [name, value.join(",")]),
    }),
  },
} satisfies Group;

function lineOf({ name, value }: v.InferInput<typeof setSetting.output>): string {
  return `${name}: ${value.join(",") || "not set"}`;
}

function imported({ dry_run, files, backups }: v.InferInput<typeof importConfig.output>): string {
  const lines = files.flatMap(({ name, change, diff, note }) => [
    [`${change.padEnd(9)}  ${name}`, note && `(${note})`, backups[name] && `(was: ${backups[name]})`]
      .filter(Boolean)
      .join("  "),
    ...(diff?.split("\n").map((line) => `    ${printable(line, 200)}`) ?? []),
  ]);
  if (lines.length === 0) lines.push("no files");
  return [...lines, dry_run ? "dry run: nothing was written" : undefined].filter(Boolean).join("\n");
}
