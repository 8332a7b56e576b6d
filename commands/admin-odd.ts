/** `svc admin odd`: shows the hosts whose screens differ from those of the others. */
import { shownTable } from "../src/cli/shown-table";
import { view } from "../src/cli/view";
import { findOdd } from "../src/desk/fleet/odd/operations";
import { printable } from "../src/lib/sanitize";
import { NO_HOSTS } from "./admin-list";

/** What is said of a host without a score. */
const UNKNOWN = { cannot_tell: "?", failed: "failed", not_asked: "-" } as const;

/** The hosts whose screens differ. Those that do not are counted, and not listed: `--json` has them. */
export const oddVerb = view(findOdd, {
  text({ hosts, odd }) {
    if (hosts.length === 0) return NO_HOSTS;
    const rows = hosts
      .filter(({ state, score }) => state !== "alike" || (score ?? 0) > 0)
      .map(({ label, state, score, tag, why }) => [
        ...[label, state === "odd" ? "ODD" : state === "alike" ? "" : UNKNOWN[state]],
        ...[score === null ? "" : `${score}`, tag ?? "", printable(why ?? "", 300)],
      ]);
    const compared = hosts.filter(({ score }) => score !== null).length;
    const summary = `${odd} of ${compared} stand out`;
    return rows.length === 0
      ? summary
      : `${shownTable(["LABEL", "STATE", "SCORE", "TAG", "WHY"], rows)}\n${summary}`;
  },
  good: ({ odd }) => odd === 0,
  examples: [
    ["$0 admin odd --on tag:kiosk", "Which screens differ from the others; exit code 1 when one stands out"],
    ["$0 admin odd --on tag:kiosk,!tag:spare --json", "All of them, with the reasons"],
  ],
});
