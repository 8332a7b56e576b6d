/**
 * The corpus, and what is made of it: inputs that are nearly right break more than random ones. What once broke svc is
 * kept as a file under `corpus/`, and so tried first each time.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";

/** How many inputs each property is tried with: more with SVC_FUZZ_RUNS. */
export const RUNS = { numRuns: Number(process.env.SVC_FUZZ_RUNS ?? 200) };

/** The files of a folder of the corpus, by name. */
export function seedsIn(
  kind: "http" | "json" | "bundles" | "sdp",
): ReadonlyArray<[name: string, content: Buffer]> {
  const folder = join(import.meta.dir, "corpus", kind);
  return readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]);
}

/** One of `seeds` with some bytes gone, added, changed or repeated. */
export const mutatedBytes = (seeds: ReadonlyArray<readonly [string, Buffer]>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(
      fc.constantFrom(...seeds.map(([, content]) => content)),
      fc.array(EDIT, { minLength: 1, maxLength: 5 }),
    )
    .map(([seed, edits]) => edits.reduce(edited, seed));

/** A JSON value of `seeds`, some of whose parts were replaced, as text; those that are no JSON are left out. */
export const mutatedJson = (seeds: ReadonlyArray<readonly [string, Buffer]>): fc.Arbitrary<string> => {
  const texts = seeds.map(([, content]) => content.toString()).filter(isJson);
  const changes = fc.array(fc.tuple(fc.nat(), STRANGE), { minLength: 1, maxLength: 3 });
  return fc.tuple(fc.constantFrom(...texts), changes).map(([text, changes]) => {
    const value: unknown = JSON.parse(text);
    return JSON.stringify(
      changes.reduce((whole, [nth, strange]) => {
        const target = nth % countParts(whole);
        let part = 0;
        return replaceParts(whole, (inner) => (part++ === target ? strange : inner));
      }, value),
    );
  });
};

interface Edit {
  readonly kind: "remove" | "insert" | "overwrite" | "repeat";
  /** From the start to the end of the input. */
  readonly at: number;
  readonly length: number;
  readonly bytes: Uint8Array;
}

/** What parsers have stumbled over. */
const TOKENS = [
  "\0",
  "\r\n",
  "\n",
  "\r\n\r\n",
  ":",
  " ",
  "%",
  "%00",
  "/../",
  "\\",
  '"',
  "{",
  "[",
  "-1",
  "1e999",
  "ffffffffffffffff",
  "__proto__",
  "${a}",
  "\u{1f600}",
  "\u202e",
];

const EDIT: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom("remove", "insert", "overwrite", "repeat"),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 2_000 })),
  bytes: fc.oneof(
    fc.constantFrom(...TOKENS).map((token) => Buffer.from(token)),
    fc.uint8Array({ minLength: 1, maxLength: 4 }),
  ),
});

function edited(content: Buffer, { kind, at, length, bytes }: Edit): Buffer {
  const start = Math.floor(at * content.length);
  const end = Math.min(start + length, content.length);
  const [head, part, tail] = [
    content.subarray(0, start),
    content.subarray(start, end),
    content.subarray(end),
  ];
  switch (kind) {
    case "remove":
      return Buffer.concat([head, tail]);
    case "insert":
      return Buffer.concat([head, bytes, part, tail]);
    case "overwrite":
      return Buffer.concat([head, bytes, content.subarray(start + bytes.length)]);
    case "repeat":
      return Buffer.concat([head, part, part, part, tail]);
  }
}

const STRANGE = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    "",
    0,
    -1,
    0.5,
    2 ** 53,
    1e308,
    [],
    {},
    [[]],
    "\ud800",
    "\0",
    "../x",
    "x".repeat(70_000),
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

/** `value` with `replace` done to each of its parts, itself first. */
function replaceParts(value: unknown, replace: (part: unknown) => unknown): unknown {
  const replaced = replace(value);
  if (replaced !== value || typeof value !== "object" || value === null) return replaced;
  if (Array.isArray(value)) return value.map((part) => replaceParts(part, replace));
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, replaceParts(part, replace)]));
}

function countParts(value: unknown): number {
  let parts = 0;
  replaceParts(value, (part) => {
    parts++;
    return part;
  });
  return parts;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
