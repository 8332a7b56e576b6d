/** XML-RPC as Python reads and writes it, and what is refused. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { MOST, parseInSlices, parseMethodCall } from "../../src/lib/xml-rpc/parse";
import { answerXml, faultXml } from "../../src/lib/xml-rpc/write";
import { testWith } from "../support";

const withValue = (value: string) =>
  `<?xml version='1.0'?>\n<methodCall>\n<methodName>m</methodName>\n<params>\n<param>\n${value}</param>\n</params>\n</methodCall>\n`;
const parsed = (value: string) => parseMethodCall(withValue(`<value>${value}</value>\n`)).params[0];

/** What Python makes of lines of JSON, one after the other. */
async function python(program: string, lines: readonly string[]): Promise<string[]> {
  const child = Bun.spawn(["python3", "-c", program], {
    stdin: Buffer.from(lines.join("\n")),
    stdout: "pipe",
    stderr: "inherit",
  });
  return (await child.stdout.text()).trimEnd().split("\n");
}

const DUMPS = `
import json, sys, xmlrpc.client
for line in sys.stdin:
    print(json.dumps(xmlrpc.client.dumps((json.loads(line),), "m", encoding="UTF-8", allow_none=True)))`;

const LOADS = `
import json, sys, xmlrpc.client
for line in sys.stdin:
    print(json.dumps(xmlrpc.client.loads(json.loads(line), use_builtin_types=True)[0][0]))`;

/** A text that XML can carry. */
const text = fc
  .string({ unit: "grapheme" })
  .filter((one) => !/[^\t\n -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(one));
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(text, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

describe("calls", () => {
  testWith("python3")("are read as Python writes them", async () => {
    const values = fc.sample(value, 200);
    const written = await python(
      DUMPS,
      values.map((one) => JSON.stringify(one)),
    );
    const read = written.map((line) => parseMethodCall(JSON.parse(line)).params[0]);
    expect(read).toEqual(values);
  });

  test("have the values of every type", () => {
    expect(parsed("<i4>-7</i4>")).toBe(-7);
    expect(parsed("<i8>1099511627776</i8>")).toBe(2 ** 40);
    expect(parsed("<double>-1.5e3</double>")).toBe(-1500);
    expect(parsed("<boolean>1</boolean>")).toBe(true);
    expect(parsed("<nil/>")).toBe(null);
    expect(parsed("a &amp; b &#228;<![CDATA[<c>]]>")).toBe("a & b ä<c>");
    expect(parsed("<base64>AP8=</base64>")).toBe("\u0000\u00ff");
    expect(parsed("<struct><member><name>__proto__</name><value>x</value></member></struct>")).toEqual(
      Object.fromEntries([["__proto__", "x"]]),
    );
  });

  test("with a document type are refused, so that none declares entities", () => {
    const bomb = '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>';
    expect(() => parseMethodCall(`${bomb}${withValue("<value>&b;</value>")}`)).toThrow(
      "expected <methodCall>",
    );
    expect(() => parsed("&b;")).toThrow("a reference of XML");
  });

  test("that are too deep, too many or no numbers are refused", () => {
    const deep = `${"<value><array><data>".repeat(MOST.depth + 1)}`;
    expect(() => parseMethodCall(withValue(deep))).toThrow(`at most ${MOST.depth} levels`);
    const many = `<array><data>${"<value/>".repeat(MOST.values)}</data></array>`;
    expect(() => parsed(many)).toThrow(`at most ${MOST.values} values`);
    for (const wrong of ["<i4>1.5</i4>", "<i4>0x1</i4>", "<double>Infinity</double>", "<boolean>2</boolean>"])
      expect(() => parsed(wrong)).toThrow("a value of XML-RPC");
    expect(() => parseMethodCall(`${withValue("<value/>")}x`)).toThrow("expected an element");
  });

  test("are read or refused whatever they are made of", () => {
    const pieces = [
      "<",
      ">",
      "/",
      "<value>",
      "</value>",
      "<array>",
      "<nil/>",
      "&",
      "&#x0;",
      "<!--",
      "<?",
      "a",
      " ",
    ];
    const made = fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(made, (inner) => {
        try {
          parseMethodCall(withValue(inner));
        } catch (error) {
          expect(String(error)).toStartWith("Failure: body: expected ");
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("answers", () => {
  testWith("python3")("are read by Python as they are", async () => {
    const values = fc.sample(value, 200);
    const read = await python(
      LOADS,
      values.map((one) => JSON.stringify(answerXml(one))),
    );
    expect(read.map((line) => JSON.parse(line))).toEqual(values);
  });

  test("have bytes for what XML cannot carry, and no control character in a fault", () => {
    expect(answerXml("a\u0000")).toContain("<base64>YQA=</base64>");
    expect(answerXml("a\r\n")).toContain("<string>a&#13;\n</string>");
    expect(faultXml(400, "a\u0000<b>")).toContain("<string>a\ufffd&lt;b&gt;</string>");
  });
});

test("a call of thousands of values lets others have their turn", async () => {
  const values = "<value><string>x</string></value>".repeat(MOST.values - 10);
  const xml = withValue(`<value><array><data>${values}</data></array></value>`);
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const read = await parseInSlices(xml);
  isOver = true;
  expect(read).toEqual(parseMethodCall(xml));
  expect(turns).toBeGreaterThan(1);
});
