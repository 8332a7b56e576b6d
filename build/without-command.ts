/** The table in `docs/README.md` of the operations that are no command, written from the table of operations. */
import type { Operation } from "../src/core/operation";
import { operations } from "../src/operations";

/** How the API and scripts name it; empty where only processes of svc among themselves do. */
function namesOf({ http, command }: Operation): string[] {
  if (command) return [`\`${command}\``];
  return http ? [`\`${http.method} ${http.path}\``] : [];
}

/** `page` with its table as it has to be. */
export function withoutCommand(page: string): string {
  const names = new Map<string, string[]>();
  for (const operation of operations) {
    const why = operation.leftOut?.cli;
    if (why !== undefined) names.set(why, [...(names.get(why) ?? []), ...namesOf(operation)]);
  }
  const rows = [...names].flatMap(([why, named]) =>
    named.length > 0 ? [`| ${why} | ${named.join(", ")} |`] : [],
  );
  const table = ["| instead, or why | no command |", "|---|---|", ...rows].join("\n");
  return page.replace(/^\| instead, or why \|.*?\n(?=\n)/ms, () => `${table}\n`);
}
