/** `svc lease`: lists, shows, allows and ends what a person lends an agent for a while. */
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import type { Lease } from "../src/host/leases/operations";
import { allowLease, endLease, listLeases, showLease } from "../src/host/leases/operations";

const columns = ["LEASE", "STATE", "AGENT", "DESKTOP", "LEFT", "ACTIONS", "TO DO", "ENDED BECAUSE"];

const leftText = ({ state, left_s, minutes }: Lease): string => {
  if (left_s !== null) return `${left_s} s`;
  return state === "ended" ? "-" : `${minutes} min`;
};

const row = (lease: Lease): string[] => [
  ...[lease.id, lease.state, lease.agent, lease.desktop_name ?? lease.desktop, leftText(lease)],
  ...[`${lease.used} of ${lease.actions}`, lease.what, lease.reason ?? "-"],
];

const one = { positionals: ["id"], columns, rows: (lease: Lease) => [row(lease)] } as const;

export default {
  verbs: {
    list: view(listLeases, {
      columns,
      rows: ({ leases }) => leases.map(row),
      none: "no agent has a lease, or asks for one",
      examples: [["$0 lease list", "Those that wait, go on, and ended lately"]],
    }),
    show: view(showLease, {
      ...one,
      examples: [["$0 lease show 9f1c2e4a --json", "All that it may do"]],
    }),
    allow: view(allowLease, {
      ...one,
      good: ({ state }) => state !== "ended",
      text: ({ id, state, minutes, actions, reason }) =>
        state === "ended"
          ? `${id} has ended: ${reason}`
          : `${id} is ${state}: ${minutes} min, at most ${actions} actions; svc lease end ${id} ends it`,
      examples: [
        ["$0 lease allow 9f1c2e4a", "As it was asked for"],
        ["$0 lease allow 9f1c2e4a --minutes 5 --actions 50", "Less of it"],
      ],
    }),
    end: view(endLease, {
      ...one,
      text: ({ id, agent, used }) => `${id} has ended: ${agent} acts no longer, after ${used} actions`,
      examples: [["$0 lease end 9f1c2e4a", "At once: its keys are released"]],
    }),
  },
} satisfies Group;
