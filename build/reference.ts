/**
 * The action reference of the whole table.
 */

import { operations } from "../src/operations";
import type { Command } from "../src/runs/actions";
import { manualMarkdown } from "../src/runs/manual";
import { describeCommand } from "../src/runs/reference";

/** What `docs/actions.md` says. */
export function actionReference(): string {
  const commands = operations.filter((operation): operation is Command => operation.command !== undefined);
  const sorted = commands.toSorted((a, b) => (a.command < b.command ? -1 : 1));
  return manualMarkdown(sorted.map((command) => describeCommand(command, true)));
}
