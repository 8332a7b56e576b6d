/**
 * What a call would do, in words, for the agent and for the person who is asked.
 *
 * The promise: nothing of it is left out but secrets, whose length is shown. What is too long to be read is refused, so nobody says
 * yes to the part of a list that was cut off.
 */
import { type InputSchema, type Operation, redact } from "../core/operation";
import { metadataOf } from "../core/schema";
import { badInput } from "../lib/errors";
import { printable } from "../lib/sanitize";

/** The longest text that a person is asked about, in characters: as long as an approval may be. */
export const MAX_EFFECTS = 1_800;

/** The lines of it. @throws a `bad_input` failure for what is too long. */
export function effectsOf(
  operations: readonly Operation[],
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
): string[] {
  const byCommand = new Map(operations.map((one) => [one.command ?? "", one]));
  const lines = [`${operation.name}: ${operation.summary}`, ...fieldsOf(byCommand, operation, input)];
  if (lines.join("; ").length > MAX_EFFECTS)
    throw badInput(
      `this is too long for a person to judge: expected at most ${MAX_EFFECTS} characters of effects`,
    );
  return lines;
}

type Commands = ReadonlyMap<string, Operation>;

function fieldsOf(
  commands: Commands,
  { input: schema }: Operation,
  input: Readonly<Record<string, unknown>>,
): string[] {
  return Object.entries(shownOf(schema, input)).flatMap(([name, value]) => {
    const entry = schema.entries[name];
    const { actions, remote } = entry ? metadataOf(entry as Parameters<typeof metadataOf>[0]) : {};
    const list = actions || remote ? input[name] : undefined;
    if (!Array.isArray(list))
      return [`${nameText(name)}=${printable(JSON.stringify(value) ?? "null", MAX_EFFECTS)}`];
    return [
      `${nameText(name)}: ${list.length} actions`,
      ...list.map((action, at) => `${at + 1}. ${actionText(commands, action)}`),
    ];
  });
}

/** The name of a field; one that other hosts are to know is in quotes unless it is a word, so it cannot pass for more actions. */
const nameText = (name: string): string =>
  /^\w+$/.test(name) ? name : printable(JSON.stringify(name), MAX_EFFECTS);

/** One action; those of lists inside it follow in brackets. */
function actionText(commands: Commands, action: unknown): string {
  const [command, given] = Array.isArray(action) ? action : [];
  const operation = typeof command === "string" ? commands.get(command) : undefined;
  if (!operation) return printable(JSON.stringify(action) ?? "null", MAX_EFFECTS);
  const named = Array.isArray(given)
    ? Object.fromEntries(
        given.map((value, at) => [Object.keys(operation.input.entries)[at] ?? `${at}`, value]),
      )
    : (given ?? {});
  const fields = fieldsOf(commands, operation, named);
  return [command, ...(fields.length > 0 ? [`(${fields.join("; ")})`] : [])].join(" ");
}

/** The input with secrets as their length. */
function shownOf(schema: InputSchema, input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const masked = redact(schema, input);
  return Object.fromEntries(
    Object.entries(masked).map(([name, value]) => {
      const given = input[name];
      const length = typeof given === "string" ? given.length : (JSON.stringify(given) ?? "").length;
      return [name, value === "***" ? `*** (${length} characters)` : value];
    }),
  );
}
