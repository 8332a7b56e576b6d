/** `svc fleet`: gives hosts what a file says they should have, and shows where they differ from it. */
import * as v from "valibot";
import { type Group, print } from "../src/cli/subcommand";
import { answerHere, view } from "../src/cli/view";
import { field, flag } from "../src/core/fields";
import { refusalLines } from "../src/desk/fleet/operations/refusals";
import { applyPlan } from "../src/desk/plans/operations/run";
import { applyText } from "../src/desk/plans/operations/text";
import { readStateFile } from "../src/desk/plans/state/operations/file";
import { diffFleet, planFleet } from "../src/desk/plans/state/operations/fleet";
import { forgetFleet, listFleet } from "../src/desk/plans/state/operations/states";
import { diffCode, diffText, isApplied, stateRow } from "../src/desk/plans/state/operations/text";
import type { Service } from "../src/service/service";
import { begin } from "./plan";

const FILE = {
  file: field(
    v.pipe(v.string(), v.nonEmpty()),
    "What hosts should have: a .json, .json5, .yaml or .yml file, or - for stdin",
  ),
};

const ALL = {
  all: flag("Show also what no line of the file is about, and hosts that are as they should be"),
};

/** Why a plan is made that changes nothing. */
const UNWATCHED =
  "There is nothing to change: with a plan, this desk notes what these hosts should have, and asks them.";

/** The state of a file. Its lists are checked here, where their places are known; a desk elsewhere may know other commands. */
async function stateIn(service: Service, file: string) {
  const executor = service.elsewhere ? undefined : await service.executor();
  return readStateFile(file, executor && ((actions) => executor.check(actions)));
}

export default {
  verbs: {
    apply: view(planFleet, {
      on: false,
      describe: "Give hosts what a file says they should have, as a plan",
      hidden: ["state"],
      positionals: ["file"],
      extra: {
        ...FILE,
        dry_run: flag("Show how hosts differ, and change nothing"),
        plan_only: flag("Make the plan, and print the command that applies it"),
      },
      async run({ service, globals, input, extra: { file, dry_run, plan_only }, call, show }) {
        const state = await stateIn(service, file);
        const { on, prune = false, delivery_timeout_s: timeout_s } = input;
        const asked = {
          state,
          on,
          prune,
          ...(timeout_s !== undefined && { timeout_s: Math.min(timeout_s, 300) }),
        };
        const diff = await answerHere(service, diffFleet, asked);
        if (dry_run) {
          print(globals, diff, () => `${diffText(diff, false)}\nNothing was changed (--dry-run).`);
          return diffCode(diff) === 2 ? 2 : 0;
        }
        const isDone = isApplied(diff);
        if (isDone && diff.watched) {
          print(globals, diff, () => `${diffText(diff, false)}\nNothing to do.`);
          return 0;
        }
        const why = isDone ? `${UNWATCHED}\n` : "";
        if (!globals.json) print(globals, diff, () => `${diffText(diff, false)}\n${why}`);
        const made = await call({ ...input, state });
        // A desk elsewhere says so in its answer alone.
        if (service.elsewhere)
          for (const line of refusalLines(made.refusing, made.hosts.length)) service.log.warn(line);
        if (plan_only) {
          if (globals.json) return show(made);
          print(
            globals,
            made,
            () => `Nothing has been sent yet. To apply exactly this:\n  ${applyText(made, globals)}`,
          );
          return 0;
        }
        const { id, digest } = made;
        return begin<typeof applyPlan.input, typeof applyPlan.output>(
          {
            service,
            globals,
            input: { id, digest },
            report() {},
            call: (given, caller) => answerHere(service, applyPlan, given, caller),
          },
          id,
        );
      },
      epilogue:
        "Hosts change only what differs, each at most once, and say so in their audit logs. Secrets, the black box and the version are checked, not set. Ctrl-C stops waiting; a server that runs here goes on with the plan.",
      examples: [
        ["$0 fleet apply lab.yaml --on tag:lab", "Show how they differ, then make it so"],
        ["$0 fleet apply lab.yaml --on tag:lab --dry-run", "Change nothing"],
        [
          "$0 fleet apply lab.yaml --on tag:lab --prune --waves 1,10%,100%",
          "One host first; remove what the file no longer has",
        ],
      ],
    }),
    diff: view(diffFleet, {
      on: false,
      hidden: ["state"],
      positionals: ["file"],
      extra: { ...FILE, ...ALL },
      async run({ service, globals, input, extra: { file, all }, call }) {
        const diff = await call({ ...input, state: await stateIn(service, file) });
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
    }),
    forget: view(forgetFleet, {
      positionals: ["name"],
      text: ({ forgotten }) => `${forgotten} is forgotten: hosts keep what they have`,
      examples: [["$0 fleet forget lab", "Nobody looks for drift from it any more"]],
    }),
  },
} satisfies Group;
