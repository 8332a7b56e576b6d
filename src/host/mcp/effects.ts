/**
 * What a call would do, in words: for the agent, for the person who decides, and for events.
 *
 * The promise: the person sees all of it, also text that is to be typed, but for fields that are secrets of their own (a token, a
 * passphrase). What is too long to be read is refused, so nobody says yes to the part of a list that was cut off.
 */
import { type InputSchema, type Operation, redact } from "../../core/operation";
import { entryOf, metadataOf } from "../../core/schema";
import { isWholeList } from "../../core/written";
import { badInput } from "../../lib/errors";
import { printable } from "../../lib/sanitize";

/** The longest text without secrets, in characters: as long as the detail of an approval may be. */
const MAX_EFFECTS = 1_800;

/** The longest text with what is to be typed, in characters: as long as that of an approval may be. */
export const MAX_FULL = 10_000;

/** Lines of words. */
export interface Effects {
  /** With the length alone of what may be secret, for events and logs. */
  readonly masked: readonly string[];
  /** With all that decides what it does, for who wrote it and who decides; null where that is longer than {@link MAX_FULL}. */
  readonly full: readonly string[] | null;
}

/** @throws a `bad_input` failure for what is too long without its secrets. */
export function effectsOf(operations: readonly Operation[], operation: Operation, input: Fields): Effects {
  const commands = new Map(operations.map((one) => [one.command ?? "", one]));
  const linesOf = (isFull: boolean) => [
    `${operation.name}: ${operation.summary}`,
    ...fieldsOf({ commands, isFull }, operation, input),
  ];
  const [masked, full] = [linesOf(false), linesOf(true)];
  if (joined(masked).length > MAX_EFFECTS)
    throw badInput(
      `this is too long for a person to judge: expected at most ${MAX_EFFECTS} characters of effects`,
    );
  return { masked, full: joined(full).length > MAX_FULL ? null : full };
}

/** The lines as one text. */
export const joined = (lines: readonly string[]): string => lines.join("; ");

/**
 * The commands in the lists of `input`, those of lists inside and of lists for other hosts too. A script that an action calls by its
 * name is not among them.
 */
export const commandsIn = (operations: readonly Operation[], operation: Operation, input: Fields): string[] =>
  callsIn(operations, operation, input).map(({ command }) => command);

interface ActionCall {
  readonly command: string;
  readonly operation: Operation | undefined;
  readonly fields: Fields;
}

/** As {@link commandsIn}, each with its operation, where there is one, and its fields by name. */
export function callsIn(operations: readonly Operation[], operation: Operation, input: Fields): ActionCall[] {
  const commands = new Map(operations.map((one) => [one.command ?? "", one]));
  const of = ({ input: schema }: Operation, given: Fields): ActionCall[] =>
    Object.entries(given).flatMap(([name, value]) =>
      (listIn(schema, name, value) ?? []).flatMap((action) => {
        const call = partsOf(commands, action);
        return [call, ...(call.operation ? of(call.operation, call.fields) : [])];
      }),
    );
  return of(operation, input);
}

type Fields = Readonly<Record<string, unknown>>;

interface Words {
  readonly commands: ReadonlyMap<string, Operation>;
  readonly isFull: boolean;
}

function fieldsOf(words: Words, { input: schema }: Operation, input: Fields): string[] {
  return Object.entries(shownOf(words, schema, input)).flatMap(([name, value]) => {
    const list = listIn(schema, name, input[name]);
    if (!list) return [`${nameText(name)}=${textOf(value)}`];
    return [
      `${nameText(name)}: ${list.length} actions`,
      ...list.map((action, at) => `${at + 1}. ${actionText(words, action)}`),
    ];
  });
}

/** The list of actions that a field has, for this host or others. */
function listIn(schema: InputSchema, name: string, value: unknown): unknown[] | undefined {
  const { actions, remote, branches } = metadataOf(entryOf(schema, name) ?? NO_FIELD);
  const list = (actions || remote) && Array.isArray(value) ? value : undefined;
  return branches ? list?.flat() : list;
}

const NO_FIELD = {} as Parameters<typeof metadataOf>[0];

/** The name of a field; one that other hosts are to know is in quotes unless it is a word, so it cannot pass for more actions. */
const nameText = (name: string): string => (/^\w+$/.test(name) ? name : textOf(name));

/**
 * What a reader cannot see, or takes for the common blank (Unicode: format, separators, private use, unassigned, ignorable by default, and
 * the empty pattern of Braille). `printable` has the rest.
 */
const UNSEEN = /[\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** A value in quotes; what a reader cannot see is escaped. */
const textOf = (value: unknown): string =>
  printable(JSON.stringify(value) ?? "null", MAX_FULL).replace(
    UNSEEN,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );

/** An action as its command and its fields by name. */
function partsOf(commands: Words["commands"], action: unknown): ActionCall {
  const [name, given] = Array.isArray(action) ? action : [];
  const command = typeof name === "string" ? name : "";
  const operation = commands.get(command);
  const names = Object.keys(operation?.input.entries ?? {});
  const values = Array.isArray(given) && operation && isWholeList(operation.input, given) ? [given] : given;
  const fields: Fields = Array.isArray(values)
    ? Object.fromEntries(values.map((value, at) => [names[at] ?? `${at}`, value]))
    : Object(values);
  return { command, operation, fields };
}

/** One action; those of lists inside it follow in brackets. */
function actionText(words: Words, action: unknown): string {
  const { command, operation, fields } = partsOf(words.commands, action);
  if (!operation) return words.isFull ? textOf(action) : lengthOf(action);
  const lines = fieldsOf(words, operation, fields);
  return [command, ...(lines.length > 0 ? [`(${joined(lines)})`] : [])].join(" ");
}

/** The input with secrets as their length. */
function shownOf({ isFull }: Words, schema: InputSchema, input: Fields): Fields {
  const masked = redact(schema, input);
  const shown = (name: string, value: unknown) => {
    const entry = entryOf(schema, name);
    const { secret, judged } = entry ? metadataOf(entry) : { secret: true, judged: true };
    if (!secret) return masked[name];
    return isFull && judged ? value : lengthOf(value);
  };
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, shown(name, value)]));
}

const lengthOf = (value: unknown): string => {
  const { length } = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return `*** (${length} characters)`;
};
