/** `svc fleet`: gives hosts what a file says they should have, and shows where they differ from it. */
import { type Group, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { flag } from "../src/core/fields";
import { diffFleet } from "../src/desk/plans/state/operations/fleet";
import { forgetFleet, listFleet } from "../src/desk/plans/state/operations/states";
import { diffCode, diffText, stateRow } from "../src/desk/plans/state/operations/text";
import { withRelease } from "../src/desk/plans/state/operations/upgrade-first";
import { printable } from "../src/lib/sanitize";
import { applyVerb } from "./fleet-apply";
import { FILE, fileAt } from "./fleet-file";

const ALL = {
  all: flag("Show also what no line of the file is about, and hosts that are as they should be"),
};

export default {
  verbs: {
    apply: applyVerb,
    diff: view(diffFleet, {
      on: false,
      hidden: ["state"],
      positionals: ["file"],
      extra: { ...FILE, ...ALL },
      async run({ service, globals, input, extra: { file, all }, call }) {
        const { wanted, release } = await fileAt(service, file);
        const found = await call({ ...input, state: wanted });
        const diff = release.length > 0 ? { ...found, hosts: found.hosts.map(withRelease) } : found;
        print(globals, diff, () => diffText(diff, all));
        return diffCode(diff);
      },
      epilogue:
        "Exit code: 0 no host differs; 1 some do; 2 a host gave no answer, or the file cannot be used. + is missing, ~ differs, - is to go (--prune), ! is for a person.",
      examples: [
        ["$0 fleet diff lab.yaml --on tag:lab", "What each host lacks, and in what it differs"],
        ["$0 fleet diff lab.yaml --on tag:lab --all", "And what it has besides"],
      ],
    }),
    list: view(listFleet, {
      columns: ["STATE", "ON", "MADE", "SHA-256", "LOOKED", "SAME", "DRIFT", "UNKNOWN", "PLANNED"],
      rows: ({ states }) => states.map(stateRow),
      none: "no states: `svc fleet apply FILE --on HOSTS` applies one",
      examples: [["$0 fleet list", "As hosts were asked last: a server asks each hour"]],
      warnings: ({ elsewhere }) => (elsewhere === null ? [] : [printable(elsewhere, 500)]),
    }),
    forget: view(forgetFleet, {
      positionals: ["name"],
      text: ({ forgotten }) => `${forgotten} is forgotten: hosts keep what they have`,
      examples: [["$0 fleet forget lab", "Nobody looks for drift from it any more"]],
    }),
  },
} satisfies Group;
