/** Places in a JSON text. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { faultIn, placesIn, pointerTo } from "../../src/lib/json-places";

/** What stands at a place, to the end of the line. */
const at = (text: string, { line, column }: { line: number; column: number }) =>
  text.split("\n")[line - 1]?.slice(column - 1);

/** Every value inside `value` by its keys. */
function* inside(value: unknown, keys: string[] = []): Generator<[string[], unknown]> {
  yield [keys, value];
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Object.entries(value)) yield* inside(item, [...keys, key]);
}

describe("places", () => {
  test("each value of any JSON is where its text begins", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.constantFrom(0, 2), async (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const all = [...inside(JSON.parse(text))];
        const places = await placesIn(
          text,
          all.map(([keys]) => pointerTo(keys)),
        );
        all.forEach(([, item], nth) => {
          const begins = at(text, places[nth] ?? { line: 0, column: 0 });
          expect(begins).toStartWith(JSON.stringify(item, null, indent).split("\n", 1)[0]?.slice(0, 1) ?? "");
        });
      }),
    );
  });

  test("of a field that is given twice, the last has its place, as it has its value", async () => {
    expect(await placesIn('{"a": 1, "a": 2}', ["/a"])).toEqual([{ line: 1, column: 15 }]);
  });

  test("a value that is not there has the place of what it would be in", async () => {
    expect(await placesIn('[\n  {"x": []}]', ["/0/x/3", "/0/y", "/7/a"])).toEqual([
      { line: 2, column: 9 },
      { line: 2, column: 3 },
      { line: 1, column: 1 },
    ]);
  });

  test("a key may hold what a pointer escapes", async () => {
    expect(await placesIn('{"a/b~c": 1}', [pointerTo(["a/b~c"])])).toEqual([{ line: 1, column: 11 }]);
  });
});

describe("faults", () => {
  test.each([
    ['[["AC_sleep", [1]],\n]', 2, 1, "a value"],
    ['{"a": 1 "b": 2}', 1, 9, ", or }"],
    ["[1 2]", 1, 4, ", or ]"],
    ["{a: 1}", 1, 2, "a name in double quotes"],
    ['{"a" 1}', 1, 6, ":"],
    ['["a\nb"]', 1, 4, '" at the end of the text'],
    ['["\\x"]', 1, 3, "an escape such as \\n"],
    ["['a']", 1, 2, "a value"],
    ["[] []", 1, 4, "the end"],
    ["", 1, 1, "a value"],
  ])("%j is no JSON from %d:%d on", async (text, line, column, wanted) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(await faultIn(text)).toEqual({ line, column, expected: wanted });
  });

  test("a text has a fault exactly where JSON.parse refuses it", async () => {
    const pieces = fc.constantFrom(
      "[",
      "]",
      "{",
      "}",
      ",",
      ":",
      '"a"',
      "1",
      "-0.5e3",
      "01",
      "true",
      "nul",
      " ",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 8 }), async (parts) => {
        const text = parts.join("");
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect((await faultIn(text)) === undefined).toBe(isJson);
      }),
      { numRuns: 2_000 },
    );
  });

  test("neither endless nesting nor an endless text is too much", async () => {
    const expected = "at most 500 levels of nesting";
    expect(await faultIn("[".repeat(1_000_000))).toEqual({ line: 1, column: 501, expected });
    expect(await faultIn(`"${"\\n".repeat(1_000_000)}`)).toMatchObject({ column: 2_000_002 });
  });
});

describe("JSON5", () => {
  test.each([
    ["[1,]", undefined],
    ["// a\n{a: 'b', /* c\n d */ $x: +.5, 'y z': 0xFf, \"q\": [\"a\\\nb\", -1.],}", undefined],
    ["{\\u0061b: 1}", undefined],
    ["{a: 1,\n a: 2}", { line: 2, column: 2, expected: "a name that the object does not have yet" }],
    ["{a: 1,\n 'a': 2}", { line: 2, column: 2, expected: "a name that the object does not have yet" }],
    ["{a: 1,\n \\u0061: 2}", { line: 2, column: 2, expected: "a name that the object does not have yet" }],
    ["[1,,]", { line: 1, column: 4, expected: "a value" }],
    ["[NaN]", { line: 1, column: 2, expected: "a value that JSON has too" }],
    ["[-Infinity]", { line: 1, column: 2, expected: "a value that JSON has too" }],
    ["['a\nb']", { line: 1, column: 4, expected: "' at the end of the text" }],
    ["[1 /* a", { line: 1, column: 4, expected: "*/ at the end of the comment" }],
    ["[1\n\n2]", { line: 3, column: 1, expected: ", or ]" }],
    ["{1: 2}", { line: 1, column: 2, expected: "a name" }],
  ] as const)("%j", async (text, fault) => {
    expect(await faultIn(text, "json5")).toEqual(fault as never);
  });

  test("has a place for every value", async () => {
    const text = "// c\n{\n  a: [ /* 1 */ 'x',\n 'y\\\nz', 3],\n}";
    expect(await placesIn(text, ["/a", "/a/0", "/a/1", "/a/2"], "json5")).toEqual([
      { line: 3, column: 6 },
      { line: 3, column: 16 },
      { line: 4, column: 2 },
      { line: 5, column: 5 },
    ]);
  });

  test("has no fault exactly where Bun reads it as something that JSON has", async () => {
    const pieces = fc.constantFrom(
      ...[
        "[",
        "]",
        "{",
        "}",
        ",",
        ",",
        ":",
        '"a"',
        "'b'",
        "c",
        "$_d",
        "1",
        "-0.5e3",
        "01",
        "+.5",
        "5.",
        "0x1F",
      ],
      ...[
        "true",
        "null",
        "nul",
        " ",
        "\n",
        "// x\n",
        "/* y */",
        "/*",
        "'\\\n'",
        "'\\x41'",
        "'\\1'",
        "1x",
        "'",
      ],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 9 }), async (parts) => {
        const text = parts.join("");
        let isJson5 = true;
        try {
          Bun.JSON5.parse(text);
        } catch {
          isJson5 = false;
        }
        const fault = await faultIn(text, "json5");
        if (fault?.expected.startsWith("a name that the object")) return;
        expect([text, fault === undefined]).toEqual([text, isJson5]);
      }),
      { numRuns: 5_000 },
    );
  });
});
