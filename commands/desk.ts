import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { showDesk } from "../src/join/operations/host";

export default {
  verbs: {
    show: view(showDesk, {
      columns: ["DESK", "LABEL", "HOST ID", "JOINED"],
      rows: ({ desk }) => (desk ? [[desk.address, desk.label, desk.host_id, desk.joined]] : []),
      none: "this host has joined no desk",
      examples: [["$0 desk show", "The desk that looks after this host"]],
    }),
  },
} satisfies Group;
