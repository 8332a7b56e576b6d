/**
 * A command's reference entry: what authors of scripts need to know, derived from its operation.
 */
import * as v from "valibot";
import { NEEDS, PERMISSIONS, SCOPES } from "../../core/rights";
import { listed } from "./action-fields";
import type { Command } from "./actions";

const JSON_SCHEMA = v.record(v.string(), v.unknown());

export const COMMAND_REFERENCE = v.object({
  command: v.string(),
  summary: v.string(),
  changes: v.boolean(),
  /** `input` when it uses pointer or keyboard; the others are what the server has to permit. */
  needs: v.array(v.picklist(["input", ...NEEDS])),
  /** What a token must allow. Hosts of before it do not send it. */
  scope: v.exactOptional(v.picklist([...SCOPES, "any"])),
  /** The commands in one of whose action lists it has to be, with commas between them. */
  within: v.nullable(v.string()),
  /** Whether this server may run it. */
  allowed: v.boolean(),
  /** The route that answers the same, `GET /jobs`. */
  route: v.nullable(v.string()),
  /** Where and how it may be used, in sentences. */
  notes: v.array(v.string()),
  /** The keyword arguments, in the order of positional ones. */
  parameters: v.array(
    v.object({
      name: v.string(),
      /** In words: `integer from 0 to 100`, `list of text`, `"skip" or "once"`, `actions`. */
      type: v.string(),
      required: v.boolean(),
      /** Null also when leaving it out is something else than any value. */
      default: v.unknown(),
      /** Neither logged nor kept. */
      secret: v.boolean(),
      description: v.string(),
    }),
  ),
  /** The result in words: `{width: number, height: number}`. */
  returns: v.string(),
  /** An action that passes the check. */
  example: v.array(v.unknown()),
  /** JSON Schema of the keyword arguments. `writeOnly` marks secrets, `x-svc-actions` a list of actions. */
  input: JSON_SCHEMA,
  /** JSON Schema of the result. */
  output: JSON_SCHEMA,
});

export type CommandReference = v.InferOutput<typeof COMMAND_REFERENCE>;

/** @param allowed whether this server may run it. */
export async function describeCommand(definition: Command, allowed: boolean): Promise<CommandReference> {
  const { jsonSchema } = await import("../../core/json-schema");
  const { command, summary, scope, uses, needs, http, within } = definition;
  const input = jsonSchema(definition.input, "input");
  const output = jsonSchema(definition.plain?.output ?? definition.output, "output");
  const route = http ? `${http.method} ${http.path}` : null;
  const required = (input.required ?? []) as string[];
  const fields = propertiesOf(input);
  const example =
    definition.example ?? Object.fromEntries(required.map((name) => [name, sampleValue(fields[name] ?? {})]));
  return {
    command,
    summary,
    changes: definition.changes !== undefined,
    needs: [...(uses ? [uses] : []), ...(needs ? [needs] : [])],
    scope,
    within: within?.join(", ") ?? null,
    allowed,
    route,
    notes: [
      ...(within ? [`Only inside ${listed(within)}.`] : []),
      scope === "any" ? "Any token may use it." : `A token needs the scope \`${scope}\`.`,
      ...(needs ? [`It ${PERMISSIONS[needs]}.`] : []),
      ...(uses ? ["Uses pointer or keyboard: such runs take turns."] : []),
      ...(definition.usesInput ? ["May use pointer and keyboard, in turn with other runs."] : []),
      ...(route ? [`Also ${route}.`] : []),
    ],
    parameters: Object.entries(fields).map(([name, { description = "", default: fallback, ...schema }]) => ({
      name,
      type: schema["x-svc-actions"] === true ? "actions" : typeText(schema),
      required: required.includes(name),
      default: fallback ?? null,
      secret: schema.writeOnly === true,
      description: `${description}`,
    })),
    returns: shapeText(output),
    example: Object.keys(example).length > 0 ? [command, example] : [command],
    input,
    output,
  };
}

type JsonObject = Record<string, unknown>;

const propertiesOf = (schema: JsonObject) => (schema.properties ?? {}) as Record<string, JsonObject>;
const itemsOf = (schema: JsonObject) => (schema.items ?? {}) as JsonObject;

/** The texts of alternatives, each once. */
const anyOf = (options: readonly JsonObject[], text: (option: JsonObject) => string) =>
  [...new Set(options.map(text))].join(" or ");

function sampleValue(schema: JsonObject): unknown {
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(schema.anyOf)) return sampleValue(schema.anyOf[0]);
  if (schema.type === "integer" || schema.type === "number") return Math.max(1, Number(schema.minimum ?? 1));
  if (schema.type === "boolean") return true;
  if (schema.type === "array") return [sampleValue(itemsOf(schema))];
  return schema.type === "object" ? {} : "…";
}

function typeText(schema: JsonObject): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options)) return anyOf(options, typeText);
  switch (schema.type) {
    case "integer":
    case "number":
      return `${schema.type}${rangeText(schema)}`;
    case "string":
      return "text";
    case "array":
      if (Array.isArray(schema.prefixItems)) return `list of ${schema.prefixItems.length}`;
      return `list of ${typeText(itemsOf(schema))}`;
    case "object":
    case "boolean":
    case "null":
      return schema.type;
    default:
      return "any value";
  }
}

function rangeText(schema: JsonObject): string {
  // The limits of exact integers say nothing.
  const limit = (value: unknown) => (Number.isSafeInteger(Number(value) * 2) ? value : undefined);
  const [minimum, maximum] = [limit(schema.minimum), limit(schema.maximum)];
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `, at least ${minimum}`;
  return maximum === undefined ? "" : `, at most ${maximum}`;
}

/** A result in words: `{width: number, height: number}`, `[number, number]`. */
function shapeText(schema: JsonObject, depth = 0): string {
  const shape = (inner: JsonObject) => shapeText(inner, depth);
  if (Array.isArray(schema.prefixItems)) return `[${schema.prefixItems.map(shape).join(", ")}]`;
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options)) return anyOf(options, shape);
  if (schema.type === "array") return `[${shape(itemsOf(schema))}, …]`;
  if (schema.type !== "object") return typeText({ ...schema, minimum: undefined, maximum: undefined });
  const fields = Object.entries(propertiesOf(schema));
  if (fields.length === 0 || depth > 2) return "{…}";
  return `{${fields.map(([name, field]) => `${name}: ${shapeText(field, depth + 1)}`).join(", ")}}`;
}
