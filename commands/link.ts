/** `svc link`: shows the link of this host to its desk, and those of hosts to this desk. */
import type * as v from "valibot";
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { listLinks, showLink } from "../src/desk/link/operations";
import { timeText } from "../src/lib/time-text";

type LinkView = v.InferOutput<typeof showLink.output>;

function textOf({ served, host, hub }: LinkView): string {
  const lines: string[] = [];
  if (host) {
    const { desk, label, state, since, next, problem, rtt_ms, twin } = host;
    const parts = [
      since === null ? state : `${state} since ${timeText(since)}`,
      rtt_ms === null ? undefined : `${rtt_ms} ms`,
      next === null ? undefined : `dials again at ${timeText(next)}`,
      problem === null || state === "linked" ? undefined : problem,
    ].filter((part) => part !== undefined);
    lines.push(`desk ${desk}, as ${label}: ${parts.join("; ")}`);
    if (twin !== null) lines.push(`  another host with the identity of this one is at ${twin}`);
  }
  if (hub) lines.push(`hosts linked to this desk: ${hub.links}; that have lost their link: ${hub.gone}`);
  if (lines.length > 0) return lines.join("\n");
  if (!served) return "no links: no server runs here, and this host has joined no desk";
  return "no links: this host has joined no desk, and its server runs without --hub";
}

export default {
  own: view(showLink, {
    text: textOf,
    examples: [["$0 link", "Whether this host has its link to the desk"]],
  }),
  verbs: {
    list: view(listLinks, {
      columns: ["LABEL", "STATE", "SINCE", "ADDRESS", "RTT", "LAST SEEN", "VERSION", "NOTE"],
      rows: ({ links, unseen }) => [
        ...links.map(({ label, linked, since, address, rtt_ms, last_seen, version, twin }) => [
          label,
          linked ? "linked" : "gone",
          since,
          address,
          rtt_ms === null ? "" : `${rtt_ms} ms`,
          last_seen,
          version,
          twin ? `another host with this identity at ${twin.address}, ${twin.at}` : "",
        ]),
        ...unseen.map(({ label }) => [
          ...[label, "not seen", "", "", "", "", ""],
          "has not dialled since this desk started",
        ]),
      ],
      none: "no host has dialled this desk, and none of the address book would",
      examples: [["$0 link list", "Which hosts are linked to this desk"]],
    }),
  },
} satisfies Group;
