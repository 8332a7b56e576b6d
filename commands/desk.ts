/** `svc desk`: shows and sets what the desk of this host may do; exports and imports what makes a machine a desk. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import {
  bundleIn,
  PASSPHRASE_FIELD,
  passphraseOf,
  readSealable,
  writeSealable,
} from "../src/cli/sealed-file";
import { type Description, type Group, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { field } from "../src/core/fields";
import { scopesText } from "../src/core/rights";
import { exportDesk, importDesk } from "../src/desk/join/operations";
import { setDesk, showDesk } from "../src/host/join/operations";
import { printable } from "../src/lib/sanitize";

/** What a desk has besides what its bundle holds, by file. */
const STAYS: readonly Description[] = [
  ["audit.db", "the audit log: `svc audit export` writes it into a file"],
  ["history.db", "what has run here"],
  ["rest_token", "the owner's token: the other machine has its own"],
  ["releases", "programs for upgrades of hosts: `svc admin upgrade` takes them again"],
  ["images", "pictures that scripts look for: copy the folder"],
  ["ocr", "languages to read: copy the folder"],
];

/** Names what is here and does not go along. */
function staysText(configDir: string): string | undefined {
  const here = STAYS.filter(([name]) => existsSync(join(configDir, name)));
  const named = here.map(([name, what]) => `${name} (${what})`).join("; ");
  return named === "" ? undefined : `not in the bundle, stays on this machine: ${named}`;
}

export default {
  verbs: {
    show: view(showDesk, {
      columns: ["DESK", "LABEL", "HOST ID", "JOINED", "ALLOWS"],
      rows: ({ desk }) =>
        desk
          ? [
              [
                ...[desk.address, printable(desk.label), desk.host_id, desk.joined],
                desk.allows ? scopesText(desk.allows) : "its token is gone: `svc join` again",
              ],
            ]
          : [],
      none: "this host has joined no desk",
      examples: [["$0 desk show", "The desk that looks after this host"]],
    }),
    set: view(setDesk, {
      on: false,
      text: ({ desk, allows }) => `the desk at ${desk} may use here: ${scopesText(allows)}`,
      examples: [
        ["$0 desk set --allow admin", "Also what needs admin: programs, where svc runs with --allow-shell"],
        ["$0 desk set --allow desk", "All but that, as by default"],
        ["$0 desk set --allow read,audit", "Only look"],
      ],
    }),
    export: view(exportDesk, {
      extra: { file: field(v.string(), "The bundle; - for stdout"), passphrase_file: PASSPHRASE_FIELD },
      positionals: ["file"],
      async run({ call, input, extra, globals, service }) {
        const bundle = await call(input);
        const { file } = extra;
        await writeSealable(file, JSON.stringify(bundle), await passphraseOf(extra.passphrase_file, true));
        const files = [...Object.keys(bundle.files), ...Object.keys(bundle.databases ?? {})];
        if (file !== "-") print(globals, { file, files }, () => `${printable(file)}: ${files.join(", ")}`);
        const stays = staysText(service.configDir);
        if (stays !== undefined) service.log.warn(stays);
        return 0;
      },
      examples: [["$0 desk export desk.age", "All that makes this machine a desk, sealed with a passphrase"]],
    }),
    import: view(importDesk, {
      hidden: ["bundle"],
      extra: { file: field(v.string(), "The bundle; - for stdin"), passphrase_file: PASSPHRASE_FIELD },
      positionals: ["file"],
      async complete(input, { file, passphrase_file }) {
        const bytes = await readSealable(file, () => passphraseOf(passphrase_file, false), true);
        return { ...input, bundle: bundleIn(bytes, "svc desk export") };
      },
      text: ({ written, backups, notes }) =>
        [
          ...written.map((name) => (backups[name] ? `${name}  (was: ${backups[name]})` : name)),
          ...notes.map((note) => printable(note)),
        ].join("\n"),
      examples: [["$0 desk import desk.age", "This machine is the desk from now on: stop the other one"]],
    }),
  },
} satisfies Group;
