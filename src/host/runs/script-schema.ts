/**
 * A JSON Schema of script files (draft 2020-12), for editors. It is made of the table that the check uses.
 *
 * Promise: what the schema refuses, the check (`actions.ts`) refuses. The check refuses more: fields that depend on each other,
 * commands outside those that must enclose them, scripts that cannot be called, the number of actions in all.
 */
import * as v from "valibot";
import { jsonSchema } from "../../core/json-schema";
import { entryOf, metadataOf } from "../../core/schema";
import { HEAD } from "../../core/script-head";
import { FILLED_PATTERN, VARIABLE_NAME } from "../../core/written";
import { isNullLeftOut, listFields } from "./action-fields";
import { type Command, type CommandTable, MAX_ACTIONS } from "./actions";

type JsonObject = Record<string, unknown>;

const LIST = { $ref: "#/$defs/list" };
const FILLED = { $ref: "#/$defs/filled" };

/** Made once for each table: it takes tens of milliseconds, in which a server answers nobody. */
const made = new WeakMap<CommandTable, JsonObject>();

/** The schema of the scripts that consist of these commands. */
export function scriptSchema(commands: CommandTable): JsonObject {
  const schema = made.get(commands) ?? makeSchema(commands);
  made.set(commands, schema);
  return schema;
}

function makeSchema(commands: CommandTable): JsonObject {
  const script = { ...LIST, minItems: 1 };
  const all = [...commands.values()];
  const names = all.map(({ command }) => command);
  const summaries = all.map(({ summary }) => summary);
  const wrapped = { required: ["auto_control"], properties: { auto_control: script } };
  const isHeaded = { required: ["actions"], not: { required: ["auto_control"] } };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Script of svc",
    type: ["array", "object"],
    ...when({ type: "object" }, when(isHeaded, headSchema(script), wrapped), script),
    $defs: {
      list: { type: "array", items: { $ref: "#/$defs/action" }, maxItems: MAX_ACTIONS },
      action: {
        type: "array",
        prefixItems: [{ type: "string" }],
        minItems: 1,
        maxItems: 2,
        allOf: [
          // Editors complete `items`, not `prefixItems`.
          { items: { anyOf: [{ enum: names, enumDescriptions: summaries }, { type: ["object", "array"] }] } },
          // With `anyOf`, an editor would say that it is none of the commands, not what is wrong in this one.
          ...names.map((name) => when({ prefixItems: [{ const: name }] }, { $ref: `#/$defs/${name}` })),
        ],
      },
      filled: {
        description:
          "A value with a `${name}` or a `${= expression}` in it: its type shows when the action runs",
        anyOf: [
          { type: "string", pattern: FILLED_PATTERN },
          { type: "array", contains: FILLED },
          { type: "object", not: { additionalProperties: { not: FILLED } } },
        ],
      },
      ...Object.fromEntries(all.map((one) => [one.command, actionSchema(one)])),
    },
  };
}

/** A script that says something of its run. */
function headSchema(script: JsonObject): JsonObject {
  const { properties = {} } = jsonSchema(HEAD, "input") as { properties?: Record<string, JsonObject> };
  const span = ({ description, ...number }: JsonObject) => ({
    description,
    anyOf: [number, { type: "string", pattern: "^\\d{1,9}(\\.\\d{1,9})?[smhd]$" }],
  });
  const { timeout = {}, pace = {} } = properties;
  return {
    properties: {
      ...properties,
      timeout: span(timeout),
      pace: span(pace),
      $schema: { type: "string" },
      actions: script,
    },
    additionalProperties: false,
  };
}

const AS = {
  type: "string",
  pattern: VARIABLE_NAME.source,
  description: "Variable that is set to the result",
};

function actionSchema({ command, summary, input }: Command): JsonObject {
  const { properties = {}, required = [] } = jsonSchema(input, "input") as {
    properties?: Record<string, JsonObject>;
    required?: string[];
  };
  const fields = Object.entries(properties).map(
    ([name, one]) => [name, fieldSchema(input, name, one)] as const,
  );
  const inKeywords = `#/$defs/${command}/prefixItems/1/then/properties/`;
  const values = fields.map(([name]) => {
    const entry = entryOf(input, name);
    const listedAs = entry && metadataOf(entry).listedAs;
    const own = { $ref: inKeywords + name };
    return listedAs ? { anyOf: [own, { $ref: inKeywords + listedAs }] } : own;
  });
  const keywords = {
    properties: { ...Object.fromEntries(fields), as: AS },
    required,
    additionalProperties: false,
  };
  const positional = {
    ...(values.length > 0 && { prefixItems: values }),
    minItems: Object.keys(properties).findLastIndex((name) => required.includes(name)) + 1,
    maxItems: values.length,
  };
  // A list that is the only parameter may stand there itself.
  const listed = values.length === 1 ? { anyOf: [positional, ...values] } : positional;
  return {
    description: summary,
    ...(required.length > 0 && { minItems: 2 }),
    prefixItems: [true, { type: ["object", "array"], ...when({ type: "object" }, keywords, listed) }],
  };
}

function fieldSchema(input: Command["input"], name: string, { description, ...one }: JsonObject): JsonObject {
  const entry = entryOf(input, name);
  const left = isNullLeftOut(entry) ? [{ type: "null" }] : [];
  if (listFields(input).includes(name)) {
    return left.length > 0 ? { description, anyOf: [LIST, ...left] } : { description, ...LIST };
  }
  const { unfilled, branches } = metadataOf(entry ?? v.unknown());
  if (unfilled) return { description, ...(branches ? { type: "array", items: LIST } : LIST) };
  // What the operation checks itself, the check of a script does not look into.
  const isAny = Object.keys(one).length === 0 || (entry && metadataOf(entry).form);
  return isAny ? { description } : { description, anyOf: [one, FILLED, ...left] };
}

const when = (condition: JsonObject, then: JsonObject, otherwise?: JsonObject): JsonObject => ({
  if: condition,
  then,
  ...(otherwise && { else: otherwise }),
});
