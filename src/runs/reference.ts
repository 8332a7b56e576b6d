/**
 * The command reference: what each command takes and gives, for those who write scripts.
 */
import { jsonSchema } from "../core/json-schema";
import type { Command } from "./actions";
import type { CommandReference } from "./command-reference";

/** @param allowed whether this server was started so as to allow it. */
export function describeCommand(command: Command, allowed: boolean): CommandReference {
  const { uses, needs, http, within = null, example = null } = command;
  return {
    command: command.command,
    summary: command.summary,
    changes: command.changes !== undefined,
    needs: [...(uses ? [uses] : []), ...(needs ? [needs] : [])],
    within,
    allowed,
    route: http ? `${http.method} ${http.path}` : null,
    example,
    input: jsonSchema(command.input, "input"),
    output: jsonSchema(command.plain?.output ?? command.output, "output"),
  };
}
