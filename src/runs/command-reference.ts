/**
 * What there is to know of a command, as it is told.
 */
import * as v from "valibot";

const JSON_SCHEMA = v.record(v.string(), v.unknown());

export const COMMAND_REFERENCE = v.object({
  command: v.string(),
  summary: v.string(),
  changes: v.boolean(),
  /** `input` when it needs its turn at pointer and keyboard, `shell` when the server has to allow it. */
  needs: v.array(v.picklist(["input", "shell"])),
  /** The command in one of whose action lists it has to be. */
  within: v.nullable(v.string()),
  /** Whether this server was started so as to allow it. */
  allowed: v.boolean(),
  /** The route that answers the same, `GET /jobs`. */
  route: v.nullable(v.string()),
  /** Arguments of an example call. */
  example: v.nullable(v.record(v.string(), v.unknown())),
  /**
   * JSON Schema of the keyword arguments, in the order of positional ones. `secret` marks what is neither logged nor kept,
   * `actions` what holds a list of actions.
   */
  input: JSON_SCHEMA,
  /** JSON Schema of the result. */
  output: JSON_SCHEMA,
});

export type CommandReference = v.InferOutput<typeof COMMAND_REFERENCE>;
