/**
 * What a command of WebDriver is: an operation that only a session reaches. `callOperation` checks its input and scope and leaves its row,
 * as it does for those of the table.
 */
import * as v from "valibot";
import { type InputSchema, type Operation, operation } from "../../../core/operation";
import type { Look } from "./find";

/** What a command has. */
export interface Call {
  readonly look: Look;
  /** Runs a list of actions, or a stored script. */
  readonly execute: (what: unknown) => Promise<unknown>;
}

/** A command: its method and path, below `/webdriver`. */
export interface Command {
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly operation: Operation;
}

/** What shows something of the screen. */
export const LOOKING = { scope: "screen", reveals: true } as const;
/** What changes something. */
export const ACTING = { scope: "operate", changes: true } as const;

const ANYWHERE = {
  http: "POST /webdriver/… reaches it",
  cli: "it is for clients",
  script: "it is for clients",
};

/** Fields that several commands have. */
export const PARAMETERS = { name: v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)) };

export function command<const I extends InputSchema>(
  method: Command["method"],
  path: string,
  definition: Pick<Operation<I, v.GenericSchema, Call>, "name" | "summary" | "scope" | "input"> &
    Partial<Pick<Operation, "changes" | "reveals">> & {
      run(call: Call, input: v.InferOutput<I>): unknown;
    },
): Command {
  const made = operation<I, v.GenericSchema, Call>({ ...definition, leftOut: ANYWHERE, output: v.unknown() });
  return { method, path, operation: made as unknown as Operation };
}
