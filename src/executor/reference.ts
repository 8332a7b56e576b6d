/**
 * The command reference: what each command takes and gives, for those who write scripts.
 */
import { jsonSchema } from "../schema";
import type { Command } from "./actions";

/** @param allowed whether this server was started so as to allow it. */
export function describeCommand(command: Command, allowed: boolean) {
  const { uses, needs, within = null, example = null } = command;
  return {
    command: command.command,
    summary: command.summary,
    changes: command.changes !== undefined,
    needs: [...(uses ? [uses] : []), ...(needs ? [needs] : [])],
    within,
    allowed,
    example,
    input: jsonSchema(command.input, "input"),
    output: jsonSchema(command.plain?.output ?? command.output, "output"),
  };
}
