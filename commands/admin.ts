import type { CommandGroup } from "../src/cli/command";
import { broadcast } from "./admin/broadcast";
import { add, list, remove, tag, targets } from "./admin/hosts";
import { poll } from "./admin/poll";
import { exportHosts, importHosts } from "./admin/transfer";

export default {
  examples: [
    ["$0 admin add lab https://lab.example:9939 --tag floor1", "Add a host"],
    ["$0 admin poll", "How all of them are"],
  ],
  group: {
    "add <label> <url>": { describe: "Add a host", ...add },
    "remove <label>": { describe: "Remove a host", ...remove },
    "tag <label> [tags..]": { describe: "Set the tags of a host", ...tag },
    list: { describe: "List the hosts", ...list },
    poll: { describe: "Ask hosts how they are", ...poll },
    "broadcast <actions>": { describe: "Run actions on hosts", ...broadcast },
    "export [file]": { describe: "Write the hosts to a file", ...exportHosts },
    "import <file>": { describe: "Add the hosts of a file", ...importHosts },
    targets: { describe: "Give the hosts to Prometheus", ...targets },
  },
} satisfies CommandGroup;
