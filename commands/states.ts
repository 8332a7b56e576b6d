/** `svc states`: lists what desks have applied to this host, and forgets one. */
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { forgetState, listStates } from "../src/host/state/operations";
import { timeText } from "../src/lib/time-text";

export default {
  verbs: {
    list: view(listStates, {
      columns: ["STATE", "BY", "APPLIED", "DIGEST", "SCRIPTS", "JOBS", "SETTINGS"],
      rows: ({ states }) =>
        states.map(({ name, by, applied, sha256, scripts, jobs, settings }) => [
          ...[name, by ?? "owner", applied === null ? "not yet" : timeText(applied), sha256.slice(0, 12)],
          ...[`${scripts}`, `${jobs}`, `${settings}`],
        ]),
      none: "no desk has applied a state here",
      examples: [["$0 states list", "What desks have put here with svc fleet apply"]],
    }),
    forget: view(forgetState, {
      positionals: ["name"],
      text: ({ forgotten }) => `${forgotten} manages nothing here any more; what it has put here stays`,
      columns: ["STATE"],
      rows: ({ forgotten }) => [[forgotten]],
      examples: [["$0 states forget lab", "Another desk may apply a state of that name then"]],
    }),
  },
} satisfies Group;
