/**
 * The one walk over a schema: the type behind its wrappers, its default, and the marks of `fields.ts`.
 */
import * as v from "valibot";

/** The marks of a field. */
export interface Metadata {
  readonly secret?: true;
  /** What the action does depends on this secret: who is to allow the action sees it. */
  readonly judged?: true;
  readonly actions?: true;
  /** It is a list of actions that runs on other hosts. */
  readonly remote?: true;
  /** What is in it is filled in where it runs: a variable in it is one of that run. */
  readonly unfilled?: true;
  /** It is a list of such lists. */
  readonly branches?: true;
  readonly text?: TextForm;
  /** It may be a file's content in place of its path: on record by its digest. */
  readonly content?: true;
  /** It is the name of a variable, which the action sets or reads. */
  readonly variable?: "sets" | "reads";
  /** Why no secret of the host may be in it, in words that end a message. */
  readonly open?: string;
  /** It is an expression, which reads variables. */
  readonly expression?: true;
  /** It becomes the value of a variable and is quoted nowhere: what uses that variable is looked at by itself. */
  readonly passed?: true;
  /** A list that stands in its place among positional arguments of a script is the field of this name. */
  readonly listedAs?: string;
  /** Words to offer, where others are allowed too. */
  readonly choices?: readonly string[];
  /** Where it is on the desktop, in pixels: somebody who points at a picture of it has other numbers. */
  readonly place?: Place;
  /** What the value is, where the operation checks it itself. */
  readonly form?: v.GenericSchema;
}

/** What the numbers of a place are: one of its coordinates, a length, `[x, y]`, or `[x1, y1, x2, y2]`. */
export type Place = "x" | "y" | "width" | "height" | "point" | "region";

/** How text becomes a value of the field, where its type alone does not say. */
type TextForm = "duration" | "size" | "time" | "file" | "path" | "assignment";

type Entries = { readonly entries: v.ObjectEntries };

/** The schema of the field `name`; undefined when there is no such field (an inherited property is none). */
export function entryOf(schema: Entries, name: string): v.GenericSchema | undefined {
  return Object.hasOwn(schema.entries, name) ? (schema.entries[name] as v.GenericSchema) : undefined;
}

/** `schema` and what it wraps (`optional`, `nullable`, …), the outermost first. */
function* layers(schema: v.GenericSchema): Generator<v.GenericSchema> {
  yield schema;
  if ("wrapped" in schema) yield* layers(schema.wrapped as v.GenericSchema);
}

/** A schema never changes; a list of 1,000 actions asks for the marks of ten thousand fields. */
const marks = new WeakMap<v.GenericSchema, Metadata>();

/** The marks of a field, also those behind `optional` and `nullable`. */
export function metadataOf(schema: v.GenericSchema): Metadata {
  const known = marks.get(schema);
  if (known) return known;
  const found: Metadata = Object.assign({}, ...[...layers(schema)].map((layer) => v.getMetadata(layer)));
  marks.set(schema, found);
  return found;
}

/** The schemas that `schema` is made of: what it wraps, items, values, fields, alternatives. */
export function partsOf(schema: object): v.GenericSchema[] {
  const { wrapped, item, value, entries = {}, options = [], items = [] } = schema as Record<string, object>;
  const parts = [wrapped, item, value, ...[entries, options, items].flatMap((many) => Object.values(many))];
  return parts.filter((part): part is v.GenericSchema => typeof part === "object" && "kind" in part);
}

/**
 * `value` with each part that the schema names changed: what is wrapped, the items of a list, the fields of an object.
 * Fields that the schema does not name are dropped.
 *
 * @returns undefined where the schema names no parts of `value`.
 */
export function mapParts(
  schema: v.GenericSchema,
  value: unknown,
  change: (part: v.GenericSchema, value: unknown) => unknown,
): unknown {
  if ("wrapped" in schema) return change(schema.wrapped as v.GenericSchema, value);
  if ("item" in schema && Array.isArray(value)) {
    return value.map((item) => change(schema.item as v.GenericSchema, item));
  }
  if (!("entries" in schema) || typeof value !== "object" || value === null) return undefined;
  const changed = Object.entries(value).flatMap(([name, item]) => {
    const entry = entryOf(schema as Entries, name);
    return entry ? [[name, change(entry, item)]] : [];
  });
  return Object.fromEntries(changed);
}

/** Where in `value` a list is in the place of an object, which valibot takes for one: the keys that lead to it. */
export function listForObject(schema: v.GenericSchema, value: unknown): Array<string | number> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const base = baseOf(schema) as v.GenericSchema & { item?: v.GenericSchema };
  if (!Array.isArray(value)) {
    if (!("entries" in base)) return undefined;
    return firstOf(Object.entries(value), (key, inner) => {
      const part = entryOf(base as unknown as Entries, key);
      return part && listForObject(part, inner);
    });
  }
  if (takesObjectAlone(base)) return [];
  const { item } = base;
  // Looking at each of a hundred thousand texts takes long.
  if (!item || !mayHoldObject(item)) return undefined;
  return firstOf(value.entries(), (_, inner) => listForObject(item, inner));
}

/** Whether it takes an object, and what else it may take is neither an object nor a list. */
function takesObjectAlone(schema: v.GenericSchema): boolean {
  const base = baseOf(schema);
  if (base.type !== "union") return "entries" in base || base.type === "record";
  const options = (base as v.UnionSchema<v.GenericSchema[], undefined>).options;
  const others = options.filter((option) => !takesObjectAlone(option));
  return others.length < options.length && others.every((option) => SINGLE.includes(baseOf(option).type));
}

/** The types of schemas for what has no parts. */
const SINGLE = ["boolean", "literal", "null", "number", "picklist", "string"];

/** The key of the first of `entries` of which something is found, before what is found. */
function firstOf<K extends string | number>(
  entries: Iterable<readonly [K, unknown]>,
  find: (key: K, value: unknown) => Array<string | number> | undefined,
): Array<string | number> | undefined {
  for (const [key, value] of entries) {
    const found = find(key, value);
    if (found) return [key, ...found];
  }
  return undefined;
}

function mayHoldObject(schema: v.GenericSchema): boolean {
  const base = baseOf(schema) as v.GenericSchema & { item?: v.GenericSchema };
  if (base.item) return mayHoldObject(base.item);
  return "entries" in base || base.type === "record";
}

/** A list with too many items, or a record with too many fields. */
interface CountExcess {
  /** The keys that lead to it. */
  readonly path: readonly string[];
  readonly count: number;
  readonly most: number;
  readonly unit: "items" | "fields";
}

/**
 * The first list or record in `value` that has more than `schema` allows. valibot checks all items before it counts them. What is in
 * the items of a list is not looked at.
 */
export function countExcess(schema: v.GenericSchema, value: unknown): CountExcess | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const base = baseOf(schema);
  const isList = Array.isArray(value);
  if (isList || base.type === "record") {
    const most = requirementOf(schema, isList ? "max_length" : "max_entries");
    const count = most === undefined ? 0 : isList ? value.length : Object.keys(value).length;
    if (most === undefined || count <= most) return undefined;
    return { path: [], count, most, unit: isList ? "items" : "fields" };
  }
  if (!("entries" in base)) return undefined;
  for (const [name, part] of Object.entries(base.entries as v.ObjectEntries)) {
    const inner = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    const found = countExcess(part as v.GenericSchema, inner);
    if (found) return { ...found, path: [name, ...found.path] };
  }
  return undefined;
}

/** The number that a check of this type (`max_length`) requires, also behind wrappers and in pipes of pipes; undefined without one. */
export function requirementOf(schema: v.GenericSchema, type: string): number | undefined {
  for (const layer of layers(schema)) {
    const [inner, ...actions] = pipeOf(layer);
    const action = actions.find((one) => one.type === type);
    if (typeof action?.requirement === "number") return action.requirement;
    const nested =
      inner && pipeOf(inner).length > 0 ? requirementOf(inner as v.GenericSchema, type) : undefined;
    if (nested !== undefined) return nested;
  }
  return undefined;
}

const pipeOf = (schema: object) =>
  "pipe" in schema ? (schema.pipe as Array<{ readonly type: string; readonly requirement?: unknown }>) : [];

/** The schema without `optional`, `nullable` and the like: its `type` is `string`, `number`, `array`, `picklist`, … */
export function baseOf(schema: v.GenericSchema): v.GenericSchema {
  return "wrapped" in schema ? baseOf(schema.wrapped as v.GenericSchema) : schema;
}

/** Whether a value may be left out. */
export function isOptional(schema: v.GenericSchema): boolean {
  return [...layers(schema)].some(({ type }) => /^(exact_)?optional$|^nullish$|^undefinedable$/.test(type));
}

/** What a value that is left out becomes; undefined where there is no default. */
export function defaultOf(schema: v.GenericSchema): unknown {
  for (const layer of layers(schema)) {
    if ("default" in layer && layer.default !== undefined) {
      return typeof layer.default === "function" ? layer.default() : layer.default;
    }
  }
  return undefined;
}

/** Whether a value is true or false, or one of some words instead. */
export function isSwitch(schema: v.GenericSchema): boolean {
  const base = baseOf(schema);
  return base.type === "boolean" || alternativesOf(base).some(({ type }) => type === "boolean");
}

/** The schemas of a union; none for anything else. @param base as of {@link baseOf}. */
export const alternativesOf = (base: v.GenericSchema) =>
  base.type === "union" && "options" in base ? (base.options as v.GenericSchema[]) : [];

/**
 * The values that a `picklist` or the items of a list of them allow, or a switch besides true and false, as text, or words to
 * offer; undefined where there are none.
 */
export function choicesOf(schema: v.GenericSchema): readonly string[] | undefined {
  const base = baseOf(schema);
  if (isSwitch(schema))
    return alternativesOf(base).flatMap((one) => ("literal" in one ? `${one.literal}` : []));
  if ("options" in base && (base.type === "picklist" || base.type === "enum")) {
    return (base.options as readonly unknown[]).map(String);
  }
  if (base.type === "array" && "item" in base) return choicesOf(base.item as v.GenericSchema);
  return metadataOf(schema).choices;
}
