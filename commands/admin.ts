import type { Group } from "../src/cli/subcommand";
import { broadcast } from "./admin/broadcast";
import { add, list, remove, tag, targets } from "./admin/hosts";
import { poll } from "./admin/poll";
import { exportHosts, importHosts } from "./admin/transfer";

export default {
  examples: [
    ["$0 admin add lab https://lab.example:9939 --tag floor1", "Add a host"],
    ["$0 admin poll", "The state of all hosts"],
  ],
  verbs: { add, remove, tag, list, poll, broadcast, export: exportHosts, import: importHosts, targets },
} satisfies Group;
