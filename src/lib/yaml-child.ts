/**
 * The child process that reads YAML 1.2 (yaml.org/spec/1.2.2), so that the server answers meanwhile.
 *
 * The promise: what it answers with is JSON. Names that a mapping has twice, tags, further documents and aliases that make
 * much of little are refused.
 */
import { type Document, isNode, isScalar, LineCounter, parseDocument, visit, type YAMLError } from "yaml";
import { serveParent } from "./child";
import { messageOf } from "./errors";
import { keysOf, type TextFault, type TextPlace } from "./json-places";
import { sizeWithin } from "./json-size";

/** The most that a text may become: aliases repeat what is in it. */
const MAX_VALUE = { bytes: 4 * 1024 * 1024, depth: 500 };

/** How often a text may use its aliases, all in all. */
const MAX_ALIASES = 1_000;

/** What the child does with a text. */
export type YamlCalls = typeof calls;

const calls = {
  /** The value of `text`, or where it is no YAML. */
  read(text: string): { readonly value: unknown } | { readonly fault: TextFault } {
    const { document, placeOf } = parse(text);
    const [error] = [...document.errors, ...document.warnings];
    if (error) return { fault: { ...placeOf(error.pos[0]), expected: expectedBy(error) } };
    if (document.directives?.yaml.explicit && document.directives.yaml.version !== "1.2") {
      return { fault: { line: 1, column: 1, expected: "YAML 1.2" } };
    }
    const twice = nameTwice(document);
    if (twice !== undefined)
      return { fault: { ...placeOf(twice), expected: "a name that the mapping does not have yet" } };
    const odd = oddNumber(document);
    if (odd !== undefined) return { fault: { ...placeOf(odd), expected: "a number that JSON has too" } };
    const tooMuch = { fault: { line: 1, column: 1, expected: "fewer uses of aliases" } };
    try {
      const value = document.toJS({ maxAliasCount: MAX_ALIASES });
      return sizeWithin(value, MAX_VALUE) === undefined ? tooMuch : { value };
    } catch (error) {
      const [, source] = messageOf(error).match(/^Unresolved alias .*: (.+)$/s) ?? [];
      const unresolved = source !== undefined ? aliasOf(document, source) : undefined;
      return unresolved === undefined
        ? tooMuch
        : { fault: { ...placeOf(unresolved), expected: "an alias of an anchor before it" } };
    }
  },
  /** The places of the values at `pointers`; of what is not there, the place of what it would be in. */
  places(text: string, pointers: readonly string[]): TextPlace[] {
    const { document, placeOf } = parse(text);
    return pointers.map((pointer) => {
      const keys = keysOf(pointer);
      const offsets = [...keys, ""].map((_, count) => {
        const node = document.getIn(keys.slice(0, count), true);
        return isNode(node) ? node.range?.[0] : undefined;
      });
      return placeOf(offsets.findLast((offset) => offset !== undefined) ?? 0);
    });
  },
};

function parse(text: string) {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    stringKeys: true,
    // The library compares each name with all before it: 20,000 take it seconds.
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter,
  });
  const placeOf = (offset: number): TextPlace => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  return { document, placeOf };
}

/** Where the first name is that its mapping has already. */
function nameTwice(document: Document): number | undefined {
  let found: number | undefined;
  visit(document, {
    Map(_key, { items }) {
      const names = new Set<unknown>();
      for (const { key } of items) {
        // All keys are texts; that of `*a: 1` is an alias.
        const name = isScalar(key) ? key.value : key;
        if (names.has(name)) {
          found = isNode(key) ? (key.range?.[0] ?? 0) : 0;
          return visit.BREAK;
        }
        names.add(name);
      }
      return undefined;
    },
  });
  return found;
}

/** Where the first number is that JSON does not have: `.inf`, `.nan`. */
function oddNumber(document: Document): number | undefined {
  let found: number | undefined;
  visit(document, {
    Scalar(_key, { value, range }) {
      if (typeof value !== "number" || Number.isFinite(value)) return undefined;
      found = range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return found;
}

/** Where the first alias of this name is that stands for nothing. */
function aliasOf(document: Document, source: string): number | undefined {
  let found: number | undefined;
  visit(document, {
    Alias(_key, alias) {
      if (alias.source !== source || alias.resolve(document)) return undefined;
      found = alias.range?.[0] ?? 0;
      return visit.BREAK;
    },
  });
  return found;
}

/** The library's own words quote the text, which may be secret. */
function expectedBy({ code }: YAMLError): string {
  return WORDS.get(code) ?? `other syntax (${code.toLowerCase().replaceAll("_", " ")})`;
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ["MULTIPLE_DOCS", "one document"],
  ["NON_STRING_KEY", "a name that is a text"],
  ["TAB_AS_INDENT", "spaces in place of the tab"],
  ["TAG_RESOLVE_FAILED", "no tag"],
]);

export default function yamlChild(): Promise<void> {
  return serveParent(() => calls);
}
