import type * as v from "valibot";
import { shownTable } from "../src/cli/shown-table";
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { allowApproval, denyApproval, listApprovals } from "../src/host/approvals/operations";
import { printable } from "../src/lib/sanitize";

const COLUMNS = ["ID", "STATE", "ASKED BY", "FROM", "UNTIL", "WHAT", "DIGEST", "DETAIL"];

const NONE = "nothing waits";

/** In characters: more than an approval has, so that nothing is cut off that a person allows. */
const MAX_DETAIL = 20_000;

type Approval = v.InferOutput<typeof listApprovals.output>["approvals"][number];

const rowOf = (one: Approval): string[] => [
  ...[one.id, one.state, one.asked_by ?? "owner", one.client ?? "this host", one.expires_at],
  ...[one.what, one.digest ?? "", one.detail],
];

export default {
  verbs: {
    list: view(listApprovals, {
      columns: COLUMNS,
      rows: ({ approvals }) => approvals.map(rowOf),
      text: ({ approvals }) => {
        const lines = approvals.flatMap(({ id, state, detail }) =>
          state === "waiting" ? [`${id}: ${printable(detail, MAX_DETAIL)}`] : [],
        );
        const summary = shownTable(
          COLUMNS.slice(0, -1),
          approvals.map((one) => rowOf(one).slice(0, -1)),
          NONE,
        );
        return [summary, ...lines].join("\n\n");
      },
      none: NONE,
      examples: [
        ["$0 approvals list", "What waits, and what was decided lately"],
        ["$0 approvals list --on all", "On every host of the address book"],
      ],
    }),
    allow: view(allowApproval, {
      positionals: ["id"],
      text: ({ id, what }) => `${id} allowed: ${what}`,
      examples: [["$0 approvals allow 9f1c2e4a", "Who asked goes on"]],
    }),
    deny: view(denyApproval, {
      positionals: ["id"],
      text: ({ id, what }) => `${id} denied: ${what}`,
      examples: [["$0 approvals deny 9f1c2e4a", "Who asked is refused"]],
    }),
  },
} satisfies Group;
