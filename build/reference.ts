/**
 * The action reference of the whole table.
 */
import type { Command } from "../src/executor/actions";
import { manualMarkdown } from "../src/executor/manual";
import { describeCommand } from "../src/executor/reference";
import { operations } from "../src/operations";

/** What `docs/actions.md` says. */
export function actionReference(): string {
  const commands = operations.filter((operation): operation is Command => operation.command !== undefined);
  return manualMarkdown(commands.map((command) => describeCommand(command, true)));
}
