import { allowApproval, denyApproval, listApprovals } from "../src/approvals/operations";
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";

export default {
  verbs: {
    list: view(listApprovals, {
      columns: ["ID", "STATE", "ASKED BY", "FROM", "UNTIL", "WHAT", "DETAIL", "DIGEST"],
      rows: ({ approvals }) =>
        approvals.map((one) => [
          ...[one.id, one.state, one.asked_by ?? "owner", one.client ?? "this host", one.expires_at],
          ...[one.what, one.detail, one.digest ?? ""],
        ]),
      none: "nothing waits",
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
