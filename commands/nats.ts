/** `svc nats`: sets up a NATS server, has desks and hosts use it, and tests it. */
import * as v from "valibot";
import {
  bundleIn,
  PASSPHRASE_FIELD,
  passphraseOf,
  readSealable,
  writeSealable,
} from "../src/cli/sealed-file";
import { shownTable } from "../src/cli/shown-table";
import { type Group, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { field, flag, path } from "../src/core/fields";
import { grantNats } from "../src/desk/join/operations";
import { showNats } from "../src/desk/nats/operations/fleet";
import { addNatsDesk, makeNatsBundle, testNats, useNats } from "../src/desk/nats/operations/server";
import { printable } from "../src/lib/sanitize";
import { checkBundleFolder, writeBundle } from "../src/lib/server-bundle";
import { timeText } from "../src/lib/time-text";

const FILE = field(v.string(), "The part of a desk; - for standard input or output");

export default {
  own: view(makeNatsBundle, {
    describe: "Write the files that set up a NATS server, and make this desk one of its users",
    extra: {
      output_dir: field(
        v.optional(path(v.pipe(v.string(), v.maxLength(1_000)))),
        "Folder for the files (default: ./nats-bundle; of a region: ./nats-bundle-REGION)",
      ),
      force: flag("Overwrite files in a folder that is not empty"),
    },
    async run({ call, input, extra, globals }) {
      // One for each server: --force, which repeats one, is not to write over that of another.
      const ownFolder = input.region === undefined ? "./nats-bundle" : `./nats-bundle-${input.region}`;
      const { output_dir = ownFolder, force } = extra;
      checkBundleFolder(output_dir, force);
      const { files, ...made } = await call(input);
      const folder = writeBundle(files, output_dir, force);
      const body = { folder, files: files.map(({ name }) => name), ...made };
      print(globals, body, () => bundleText(body));
      return 0;
    },
    examples: [["$0 nats --operator lab --url tls://nats.example.org", "Write ./nats-bundle"]],
  }),
  verbs: {
    show: view(showNats, {
      text: ({ host, desk }) =>
        [
          host && connectionText("this host", host),
          desk && desk.fault !== null && desk.fault !== desk.problem && printable(desk.fault, 500),
          desk && connectionText("this desk", desk, desk.hosts, desk.twins),
          ...(desk?.regions.map((one) =>
            connectionText(`this desk, region ${one.region}`, one, one.hosts, one.twins),
          ) ?? []),
        ]
          .filter((line) => line)
          .join("\n") ||
        "no NATS: this host has joined no desk with a server, and there is no nats.json here",
      examples: [["$0 nats show", "Whether this machine has its connection to the NATS server"]],
    }),
    desk: view(addNatsDesk, {
      extra: {
        file: FILE,
        seal: flag("Seal the file with a passphrase, which it asks for"),
        passphrase_file: PASSPHRASE_FIELD,
      },
      positionals: ["desk", "file"],
      async run({ call, input, extra, globals }) {
        const { file, seal, passphrase_file } = extra;
        const sealed = seal || passphrase_file !== undefined;
        const passphrase = sealed ? await passphraseOf(passphrase_file, true) : undefined;
        const part = await call(input);
        await writeSealable(file, JSON.stringify(part, null, 2), passphrase);
        const { name, id } = part.desk;
        if (file !== "-")
          print(globals, { file, desk: { name, id } }, () => `${printable(file)}: ${name} ${id}`);
        return 0;
      },
      examples: [["$0 nats desk second second.json", "The part of another desk, which runs `svc nats use`"]],
    }),
    use: view(useNats, {
      hidden: ["part"],
      extra: { file: FILE, passphrase_file: PASSPHRASE_FIELD },
      positionals: ["file"],
      async complete(input, { file, passphrase_file }) {
        const bytes = await readSealable(file, () => passphraseOf(passphrase_file, false));
        return { ...input, part: bundleIn(bytes, "svc nats desk") };
      },
      text: ({ urls, desk, may_join, backup, region }) =>
        [
          `${desk.name} ${desk.id}`,
          ...(region === null ? [] : [`region ${region}`]),
          ...urls,
          may_join
            ? "hosts that join this desk become users of the server"
            : "hosts cannot join over it here",
          ...(backup === null ? [] : [`the part before: ${printable(backup)}`]),
        ].join("\n"),
      examples: [["$0 nats use second.json", "This desk reaches the hosts over the server from now on"]],
    }),
    grant: view(grantNats, {
      on: false,
      positionals: ["hosts"],
      columns: ["LABEL", "RESULT", "DETAIL"],
      rows: (results) =>
        results.map((one) => [
          printable(one.label),
          one.ok ? "ok" : "FAILED",
          one.ok ? (one.changed ? "reached over NATS from now on" : "was before") : printable(one.error),
        ]),
      none: "no hosts",
      good: (results) => results.every(({ ok }) => ok),
      examples: [["$0 nats grant tag:lab", "Hosts that joined before there was a server use it"]],
    }),
    test: view(testNats, {
      positionals: ["url"],
      text: reportText,
      good: ({ ok }) => ok,
      examples: [["$0 nats test tls://nats.example.org", "Test a server"]],
    }),
  },
} satisfies Group;

type NatsHost = NonNullable<v.InferOutput<typeof showNats.output>["host"]>;

function connectionText(
  who: string,
  { urls, state, since, next, problem }: NatsHost,
  hosts: { readonly up: number; readonly gone: number } | null = null,
  twins: readonly string[] = [],
): string {
  const parts = [
    since === null ? state : `${state} since ${timeText(since)}`,
    next === null ? undefined : `tried again at ${next}`,
    problem === null || state === "connected" ? undefined : problem,
    hosts && `hosts connected: ${hosts.up}; that were: ${hosts.gone}`,
    twins.length > 0 && `two machines with one key: ${printable(twins.join(", "), 300)}`,
  ].filter((part) => part);
  const where = urls.map((url) => printable(url)).join(" ");
  return `${where === "" ? who : `${who}, ${where}`}: ${parts.join("; ")}`;
}

type Bundle = Pick<
  v.InferInput<typeof makeNatsBundle.output>,
  "urls" | "pin" | "desk" | "region" | "new_keys"
> & {
  readonly folder: string;
  readonly files: readonly string[];
};

function bundleText({ folder, files, urls, pin, desk, region, new_keys }: Bundle): string {
  const lines = [printable(folder), ...files.map((name) => `  ${name}`), ...urls];
  if (pin !== null) lines.push(`pin   ${pin}`);
  lines.push(`desk  ${desk.name} ${desk.id}`);
  if (region !== null)
    lines.push(`region  ${region}${new_keys ? ", new: its server has keys of its own" : ""}`);
  return lines.join("\n");
}

function reportText({ checks }: v.InferInput<typeof testNats.output>): string {
  const rows = checks.map(({ name, ok, detail }) => [ok ? "ok" : "FAILED", name, detail]);
  return shownTable(["RESULT", "CHECK", "DETAIL"], rows);
}
