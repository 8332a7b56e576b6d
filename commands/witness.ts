/** `svc witness key`: prints the key with which this host cosigns the audit logs of others. */
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { showKey } from "../src/host/witness/operations";
import { printable } from "../src/lib/sanitize";

export default {
  verbs: {
    key: view(showKey, {
      columns: ["KEY"],
      rows: ({ vkey }) => [[vkey]],
      text: ({ vkey }) => printable(vkey),
      examples: [
        [
          '$0 audit verify-proof FILE --witness "$($0 witness key)"',
          "What this host has cosigned, on this host",
        ],
      ],
    }),
  },
} satisfies Group;
