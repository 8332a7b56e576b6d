/**
 * The action reference for people: an entry of a command as text for a terminal, and all of them as a page.
 */
import type { CommandReference } from "./command-reference";

type JsonObject = Record<string, unknown>;

interface Parameter {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly fallback: unknown;
  readonly secret: boolean;
  readonly description: string;
}

/** The parameters, in the order of positional arguments. */
function parametersOf({ input }: CommandReference): Parameter[] {
  return Object.entries(propertiesOf(input)).map(([name, { description, default: fallback, ...schema }]) => ({
    name,
    type: schema.actions === true ? "actions" : typeText(schema),
    required: requiredOf(input).includes(name),
    fallback,
    secret: schema.secret === true,
    description: `${description ?? ""}`,
  }));
}

const propertiesOf = (schema: JsonObject) => (schema.properties ?? {}) as Record<string, JsonObject>;
const requiredOf = (schema: JsonObject) => (schema.required ?? []) as string[];

/** An action that passes the check. */
export function exampleOf({ command, example, input }: CommandReference): unknown[] {
  const properties = propertiesOf(input);
  const plainest = requiredOf(input).map((name) => [name, sampleValue(properties[name] ?? {})]);
  const given = example ?? Object.fromEntries(plainest);
  return Object.keys(given).length > 0 ? [command, given] : [command];
}

function notesOn({ within, needs, route }: CommandReference): string[] {
  return [
    ...(within ? [`Only inside ${within}.`] : []),
    ...(needs.includes("shell") ? ["Only where svc was started with --allow-shell."] : []),
    ...(needs.includes("input") ? ["Uses pointer or keyboard: runs that do take turns."] : []),
    ...(route ? [`Also ${route}.`] : []),
  ];
}

function sampleValue(schema: JsonObject): unknown {
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(schema.anyOf)) return sampleValue(schema.anyOf[0]);
  if (schema.type === "integer" || schema.type === "number") return Math.max(1, Number(schema.minimum ?? 1));
  if (schema.type === "boolean") return true;
  if (schema.type === "array") return [sampleValue((schema.items ?? {}) as JsonObject)];
  return schema.type === "object" ? {} : "…";
}

/** A type in words: `integer from 0 to 100`, `list of text`, `"skip" or "once"`. */
function typeText(schema: JsonObject): string {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options)) return [...new Set(options.map(typeText))].join(" or ");
  switch (schema.type) {
    case "integer":
    case "number":
      return `${schema.type}${rangeText(schema)}`;
    case "string":
      return "text";
    case "array":
      if (Array.isArray(schema.prefixItems)) return `list of ${schema.prefixItems.length}`;
      return `list of ${typeText((schema.items ?? {}) as JsonObject)}`;
    case "object":
    case "boolean":
    case "null":
      return schema.type;
    default:
      return "any value";
  }
}

function rangeText(schema: JsonObject): string {
  // What every exact integer is says nothing.
  const limit = (value: unknown) => (Number.isSafeInteger(Number(value) * 2) ? value : undefined);
  const [minimum, maximum] = [limit(schema.minimum), limit(schema.maximum)];
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return `, at least ${minimum}`;
  return maximum === undefined ? "" : `, at most ${maximum}`;
}

/** What a result looks like: `{width: number, height: number}`, `[number, number]`. */
function shapeOf(schema: JsonObject, depth = 0): string {
  if (Array.isArray(schema.prefixItems))
    return `[${schema.prefixItems.map((item) => shapeOf(item, depth)).join(", ")}]`;
  const options = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(options))
    return [...new Set(options.map((option) => shapeOf(option, depth)))].join(" or ");
  if (schema.type === "array") return `[${shapeOf((schema.items ?? {}) as JsonObject, depth)}, …]`;
  if (schema.type !== "object") return typeText({ ...schema, minimum: undefined, maximum: undefined });
  const fields = Object.entries((schema.properties ?? {}) as Record<string, JsonObject>);
  if (fields.length === 0 || depth > 2) return "{…}";
  return `{${fields.map(([name, field]) => `${name}: ${shapeOf(field, depth + 1)}`).join(", ")}}`;
}

/** How a default is told. */
const defaultText = ({ required, fallback }: Parameter) =>
  required ? "required" : fallback === undefined ? "" : JSON.stringify(fallback);

/** The reference of one command for a terminal, in lines of at most `width` where words allow. */
export function commandText(reference: CommandReference, width = 80): string {
  const notes = notesOn(reference);
  const fields = parametersOf(reference).flatMap((parameter) => {
    const fallback = defaultText(parameter);
    const told = [parameter.type, fallback && (parameter.required ? fallback : `default ${fallback}`)];
    const secret = parameter.secret ? " (secret: neither logged nor kept)" : "";
    return [
      `  ${parameter.name}  ${told.filter(Boolean).join(", ")}`,
      ...wrap(`${parameter.description}${secret}`, width - 6).map((line) => `      ${line}`),
    ];
  });
  return [
    reference.command,
    ...wrap(`${reference.summary}.`, width - 2).map((line) => `  ${line}`),
    ...(fields.length > 0 ? ["", "Parameters", ...fields] : []),
    "",
    "Result",
    ...wrap(shapeOf(reference.output), width - 2).map((line) => `  ${line}`),
    "",
    "Example",
    `  ${JSON.stringify(exampleOf(reference))}`,
    ...(notes.length > 0 ? ["", ...notes] : []),
  ].join("\n");
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + word.length < width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** `docs/actions.md`. */
export function manualMarkdown(references: readonly CommandReference[]): string {
  return `${[INTRODUCTION, ...references.map(commandMarkdown)].join("\n\n")}\n`;
}

const INTRODUCTION = `# Actions

<!-- Generated by \`npm run docs\` from the definitions in src; do not edit. -->

Every command that an action may name. An action is \`["NAME"]\`, \`["NAME", {parameters}]\` or \`["NAME", [parameters in the
order below]]\`; [scripts.md](scripts.md) says how lists of them run. \`svc commands NAME\` prints one of these entries, and
\`GET /commands/NAME\` answers with it.`;

function commandMarkdown(reference: CommandReference): string {
  const rows = parametersOf(reference).map((parameter) => {
    const description = parameter.secret ? `${parameter.description} (secret)` : parameter.description;
    const fallback = defaultText(parameter);
    const cells = [`\`${parameter.name}\``, parameter.type, parameter.required ? fallback : code(fallback)];
    return `| ${[...cells, description].map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  return [
    `## ${reference.command}`,
    [`${reference.summary}.`, ...notesOn(reference)].join(" "),
    ...(rows.length > 0
      ? [["| parameter | type | default | |", "|---|---|---|---|", ...rows].join("\n")]
      : []),
    `Returns ${code(shapeOf(reference.output))}. Example: ${code(JSON.stringify(exampleOf(reference)))}`,
  ].join("\n\n");
}

const code = (text: string) => (text ? `\`${text}\`` : "");
