/**
 * What a person reads of the hosts that will refuse a list of actions.
 */
import { printable } from "../../../lib/sanitize";

/** A host that will refuse a list, and why, in words. */
export interface Refusal {
  readonly label: string;
  readonly why: string;
}

/** The most hosts that are named for one reason. */
const MAX_NAMED = 10;

/** Which hosts will refuse a list, one line for each reason, for a person. @param total how many hosts there are. */
export function refusalLines(refusals: readonly Refusal[], total: number): string[] {
  return [...Map.groupBy(refusals, ({ why }) => why)].map(([why, same]) => {
    const named = same.slice(0, MAX_NAMED).map(({ label }) => printable(label, 130));
    const more = same.length > MAX_NAMED ? `, and ${same.length - MAX_NAMED} more` : "";
    return `${same.length} of ${total} hosts will refuse it (${named.join(", ")}${more}): ${why}`;
  });
}
