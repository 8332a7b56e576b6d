/**
 * The documentation of the library as `libdoc` of Robot Framework writes and reads it: its JSON, version 1 of
 * https://github.com/robotframework/robotframework/blob/master/doc/schema/libdoc.json and later.
 */
import { commit, version } from "../../version";
import { type Keyword, type Parameter, typeOf } from "./keyword";
import { docOf, INTRODUCTION } from "./library";

/** What the file holds. @param generated when it was made. */
export function libdocOf(keywords: readonly Keyword[], generated: Date): Record<string, unknown> {
  return {
    specversion: 1,
    name: "Svc",
    doc: INTRODUCTION,
    version: `${version} (${commit})`,
    generated: generated.toISOString(),
    type: "LIBRARY",
    scope: "SUITE",
    docFormat: "ROBOT",
    source: null,
    lineno: -1,
    tags: [...new Set(keywords.flatMap(({ tags }) => tags))].toSorted(),
    inits: [],
    keywords: keywords.map(entryOf),
    typedocs: [],
  };
}

const entryOf = (keyword: Keyword) => ({
  name: keyword.name,
  args: keyword.parameters.map(argumentOf),
  returnType: null,
  doc: docOf(keyword),
  shortdoc: `${keyword.summary}.`,
  tags: keyword.tags,
  source: null,
  lineno: -1,
});

const KINDS = {
  positional: "POSITIONAL_OR_NAMED",
  rest: "VAR_POSITIONAL",
  named: "NAMED_ONLY",
  others: "VAR_NAMED",
} as const satisfies Record<Parameter["kind"], string>;

const SIGNS: Partial<Record<Parameter["kind"], string>> = { rest: "*", others: "**" };

function argumentOf({ name, kind, schema, default: usual }: Parameter) {
  const type = schema && typeOf(schema);
  const isFree = kind === "rest" || kind === "others";
  const shown = [`${SIGNS[kind] ?? ""}${name}`, ...(type === undefined ? [] : [`: ${type}`])].join("");
  return {
    name,
    type: type === undefined ? null : typeEntry(type),
    defaultValue: usual ?? null,
    kind: KINDS[kind],
    required: !isFree && usual === undefined,
    repr: usual === undefined ? shown : `${shown} = ${usual}`,
  };
}

/** `float | str` and `Literal["a", "b"]` have parts. */
function typeEntry(type: string): Record<string, unknown> {
  const plain = (name: string) => ({ name, typedoc: null, nested: [], union: false });
  const words = /^Literal\[(.*)\]$/.exec(type)?.[1];
  if (words !== undefined)
    return { ...plain("Literal"), nested: words.split(", ").map((word) => plain(word)) };
  const parts = type.split(" | ");
  return parts.length === 1 ? plain(type) : { ...plain("Union"), nested: parts.map(plain), union: true };
}
