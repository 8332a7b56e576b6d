/** The table of checks in `docs/diagnostics.md`, written from the list of checks. */
import { DEADLINE_MS } from "../src/host/diagnostics/check";
import { loadChecks } from "../src/host/diagnostics/checks";

const CHECKS = await loadChecks();

/** `page` with its table of checks as it has to be. */
export function withChecks(page: string): string {
  const rows = CHECKS.map(({ name, summary, ...check }) => {
    const ms = "deadlineMs" in check ? (check.deadlineMs ?? DEADLINE_MS) : DEADLINE_MS;
    return `| \`${name}\` | ${summary} | ${ms / 1_000} s |`;
  });
  const table = ["| check | what it verifies | deadline |", "|---|---|---|", ...rows].join("\n");
  return page.replace(/^\| check \|.*?\n(?=\n)/ms, () => `${table}\n`);
}
