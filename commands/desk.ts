import * as v from "valibot";
import { readSealable, writeSealable } from "../src/cli/sealed-file";
import { type Group, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { field } from "../src/core/fields";
import { exportDesk, importDesk } from "../src/join/operations/desk";
import { showDesk } from "../src/join/operations/host";
import { rejected } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import { readSecret } from "../src/lib/secret";

const VARIABLE = "SVC_PASSPHRASE";

const passphrase_file = field(
  v.optional(v.string()),
  `File with the passphrase (else ${VARIABLE}, else a prompt)`,
);

const passphrase = (file: string | undefined, confirm: boolean) =>
  readSecret({ name: "passphrase", file, flag: "--passphrase-file", variable: VARIABLE, confirm });

export default {
  verbs: {
    show: view(showDesk, {
      columns: ["DESK", "LABEL", "HOST ID", "JOINED"],
      rows: ({ desk }) => (desk ? [[desk.address, printable(desk.label), desk.host_id, desk.joined]] : []),
      none: "this host has joined no desk",
      examples: [["$0 desk show", "The desk that looks after this host"]],
    }),
    export: view(exportDesk, {
      extra: { file: field(v.string(), "The bundle; - for stdout"), passphrase_file },
      positionals: ["file"],
      async run({ call, input, extra, globals }) {
        const bundle = await call(input);
        const { file } = extra;
        await writeSealable(file, JSON.stringify(bundle), await passphrase(extra.passphrase_file, true));
        const files = Object.keys(bundle.files);
        if (file !== "-") print(globals, { file, files }, () => `${printable(file)}: ${files.join(", ")}`);
        return 0;
      },
      examples: [["$0 desk export desk.age", "Keys and address book, sealed with a passphrase"]],
    }),
    import: view(importDesk, {
      hidden: ["bundle"],
      extra: { file: field(v.string(), "The bundle; - for stdin"), passphrase_file },
      positionals: ["file"],
      async complete(input, { file, passphrase_file }) {
        const bytes = await readSealable(file, () => passphrase(passphrase_file, false), true);
        return { ...input, bundle: bundleIn(bytes) };
      },
      text: ({ written, backups }) =>
        written.map((name) => (backups[name] ? `${name}  (was: ${backups[name]})` : name)).join("\n"),
      examples: [["$0 desk import desk.age", "This machine is the desk from now on: stop the other one"]],
    }),
  },
} satisfies Group;

/** @throws a `rejected` failure when it is not JSON in UTF-8. */
function bundleIn(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw rejected("bundle rejected: expected what `svc desk export` writes");
  }
}
