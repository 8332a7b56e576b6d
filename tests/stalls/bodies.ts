/**
 * Inputs that take the longest, made from the schema of an operation: each field in turn as large as a request may be, of each kind of
 * JSON that makes much work of few bytes.
 */

import type * as v from "valibot";
import type { HttpRoute, Operation } from "../../src/core/operation";
import { baseOf, isOptional, requirementOf } from "../../src/core/schema";
import { mostValues } from "../../src/lib/json-bounds";
import { isThorough } from "../support";

/** JSON of about `size` characters. */
type Bulk = (size: number) => string;

/** As many values and names as a body of the default limit may have, but for those around. */
const VALUES = mostValues(1_000_000) - 1_000;

const list =
  (item: string): Bulk =>
  (size) => {
    const values = 1 + [...item.replaceAll(/"[^"]*"/g, "")].filter((one) => "[{,:".includes(one)).length;
    const count = Math.max(1, Math.floor(Math.min(size / (item.length + 1), VALUES / values)));
    return `[${Array.from({ length: count }, () => item).join(",")}]`;
  };

const text =
  (piece: string): Bulk =>
  (size) => {
    const written = JSON.stringify(piece).slice(1, -1);
    return `"${written.repeat(Math.max(1, Math.floor(size / Buffer.byteLength(written))))}"`;
  };

/** Kinds of JSON of which few bytes make much work. */
export const BULKS: Readonly<Record<string, Bulk>> = {
  numbers: list("1"),
  objects: list("{}"),
  lists: list("[]"),
  texts: list('"a"'),
  actions: list('["AC_x"]'),
  names: (size) =>
    `{${Array.from({ length: Math.min(size / 12, VALUES / 2) }, (_, nth) => `"n${nth}":0`).join(",")}}`,
  "names of their own": (size) =>
    `[${Array.from({ length: Math.min(size / 14, VALUES / 3) }, (_, nth) => `{"n${nth}":0}`).join(",")}]`,
  "too deep": (size) => "[".repeat(size / 2) + "]".repeat(size / 2),
  deep: list(`${"[".repeat(400)}${"]".repeat(400)}`),
  "deep names": list(`${'{"a":'.repeat(400)}0${"}".repeat(400)}`),
  letters: text("a"),
  spaces: text(" "),
  lines: text("\n"),
  quotes: text('"'),
  words: text("a b,"),
  dots: text("a."),
  slashes: text("/a"),
  variables: text("${a}"),
  brackets: text("[("),
  digits: text("1"),
  "not Latin": text("\u0430\u2010"),
};

/** Those that were made of the largest: they go to every route, and to make one takes as long as to send it. */
const made = new Map<string, string>();

/** The JSON of a kind, of about `size` characters; of many, the thousands count. */
function bulkOf(kind: string, size: number): string {
  const make = (most: number) => BULKS[kind]?.(most) ?? "0";
  if (size < 100_000) return make(size);
  const most = Math.floor(size / 1_000) * 1_000;
  const key = `${kind}, ${most}`;
  const bulk = made.get(key) ?? make(most);
  made.set(key, bulk);
  return bulk;
}

/** What an input field takes that is not at fault, so that the others are looked at. */
export function plain(schema: v.GenericSchema, name: string): unknown {
  const base = baseOf(schema) as v.GenericSchema & { options?: readonly unknown[]; literal?: unknown };
  if (base.type === "picklist") return base.options?.[0];
  if (base.type === "literal") return base.literal;
  if (base.type === "boolean") return true;
  if (base.type === "number") return 1;
  if (base.type === "array") return [];
  if (base.type === "object" || base.type === "strict_object" || base.type === "record") return {};
  return name;
}

/** A request to a route. */
export interface StallRequest {
  /** What is large: the field and its kind. */
  readonly what: string;
  readonly path: string;
  readonly body?: string;
  /** `METHOD /path` of the route, where that has parameters. */
  readonly route?: string;
}

/** The longest query, in characters: a head has 16 KiB. */
const QUERY = 12_000;

/**
 * The worst requests to the route of `operation`, with bodies of `size` bytes.
 *
 * @param every whether each body, and each field, is of every kind in turn. If not, it is of some kinds, the next one of others: all of
 *   them together are of every kind.
 */
export function* worstOf(
  operation: Operation & { http: HttpRoute },
  size: number,
  every: boolean,
): Generator<StallRequest> {
  const { http, input, example = {} } = operation;
  const fields = Object.entries(input.entries) as Array<[string, v.GenericSchema]>;
  const inPath = (name: string) => http.path.includes(`{${name}}`);
  const value = (name: string, schema: v.GenericSchema) =>
    Object.hasOwn(example, name) ? example[name] : plain(schema, name);
  const needed = fields.filter(([name, schema]) => !isOptional(schema) || Object.hasOwn(example, name));
  const path = http.path.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(`${value(name, input.entries[name] as v.GenericSchema)}`),
  );
  const query = (names: readonly string[]) =>
    names.length > 0
      ? `?${names.map((one) => `${one}=${encodeURIComponent(`${value(one, input.entries[one] as v.GenericSchema)}`)}`).join("&")}`
      : "";
  if (http.method === "GET") {
    yield { what: "", path };
    for (const [name] of fields) {
      for (const piece of ["a", "a,", "1", "%20", "%00", "../", "%C3%A9"]) {
        const long = piece.repeat(QUERY / piece.length);
        if (inPath(name)) yield { what: `${name}: ${piece}…`, path: http.path.replace(`{${name}}`, long) };
        else yield { what: `${name}: ${piece}…`, path: `${path}?${name}=${long}` };
      }
    }
    return;
  }
  if (http.body !== undefined) {
    const others = query(needed.map(([name]) => name).filter((name) => name !== http.body && !inPath(name)));
    for (const [kind, bulk] of Object.entries(BULKS)) {
      yield {
        what: `${http.body}: ${kind}`,
        path: path + others,
        body: bulk(size),
      };
    }
    return;
  }
  const inBody = fields.filter(([name]) => !inPath(name));
  // What every body goes through before its fields are looked at.
  const kinds = [...PARSED, "names", "numbers"];
  const turn = 1 + (operation.name.length % (kinds.length - 1));
  for (const kind of kinds.filter((_, one) => every || one === 0 || one === turn))
    yield { what: `body: ${kind}`, path, body: bulkOf(kind, size) };
  for (const [nth, [name, schema]] of inBody.entries()) {
    const rest = needed
      .filter(([other]) => other !== name && !inPath(other))
      .map(([other, one]) => `${JSON.stringify(other)}:${JSON.stringify(value(other, one))},`)
      .join("");
    const around = rest.length + name.length + 8;
    for (const kind of kindsFor(schema).filter((_, one) => every || one % SOME === nth % SOME)) {
      const bulk = bulkOf(kind, mostOf(schema, size - around));
      yield { what: `${name}: ${kind}`, path, body: `{${rest}${JSON.stringify(name)}:${bulk}}` };
    }
    const item = itemOf(schema);
    if (!item) continue;
    const items = list(JSON.stringify(item))(size - around);
    yield { what: `${name}: items`, path, body: `{${rest}${JSON.stringify(name)}:${items}}` };
  }
}

/** One of so many kinds is taken where not all are. */
const SOME = isThorough ? 4 : 8;

/** Kinds of JSON that show what parsing alone takes. */
const PARSED = ["names of their own", "too deep"];

/** Kinds that a field may make work of. What it does not take is refused by its type, after it was parsed. */
function kindsFor(schema: v.GenericSchema): readonly string[] {
  const { type } = baseOf(schema);
  if (/^(number|boolean|picklist|literal)$/.test(type)) return PARSED.slice(0, 1);
  if (type === "string") return TEXTS;
  return Object.keys(BULKS).filter((kind) => !TEXTS.includes(kind) || kind === "variables");
}

const TEXTS = Object.keys(BULKS).filter((kind) => BULKS[kind]?.(10).startsWith('"'));

/** The largest that a field may be, in bytes; the texts of `TEXTS` have at most two for a character. */
function mostOf(schema: v.GenericSchema, size: number): number {
  const most = baseOf(schema).type === "string" ? requirementOf(schema, "max_length") : undefined;
  return Math.min(size, 2 * (most ?? size));
}

/** The item of a list whose fields are all there. */
function itemOf(schema: v.GenericSchema): unknown {
  const base = baseOf(schema) as { item?: v.GenericSchema };
  const item = base.item && (baseOf(base.item) as { entries?: Record<string, v.GenericSchema> });
  if (!item?.entries) return undefined;
  return Object.fromEntries(Object.entries(item.entries).map(([name, one]) => [name, plain(one, name)]));
}
