/** The content of a plan: what its hosts do, with the files that travel. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { readContent, writeContent } from "../../../src/wire/job/content";

const PARTS = {
  actions: [["AC_sleep", [1]]],
  commands: ["AC_sleep"],
  stop_on_error: false,
  timeout_s: 60,
  scope: null,
};
const withFiles = (files: Record<string, string>, name = "main.json") =>
  writeContent({
    ...PARTS,
    travelling: { name, files: new Map(Object.entries(files).map(([at, text]) => [at, Buffer.from(text)])) },
  });

test("files arrive as they were, by their names", () => {
  const { content } = withFiles({ "sub/one.json": "[1]", "two.png": "\u0000\u00ff", "again.json": "[1]" });
  const { bytes, name, blobs } = readContent(content);
  expect(name).toBe("main.json");
  expect([...bytes].map(([at, one]) => [at, Buffer.from(one).toString()])).toEqual([
    ["sub/one.json", "[1]"],
    ["two.png", "\u0000\u00ff"],
    ["again.json", "[1]"],
  ]);
  // What two names have travels once.
  expect(Object.keys(blobs)).toHaveLength(2);
});

test("too many files, and too large ones, are refused before anything is sent", () => {
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, nth) => [`${nth}.json`, "[]"]));
  expect(() => withFiles(many)).toThrow("at most 64 files but found 65");
  expect(() => withFiles({ "large.png": "x".repeat(700_000) })).toThrow("at most 900000 bytes");
});

test.each([
  "../out.json",
  "/etc/passwd",
  "a/../../out.json",
  "a//b.json",
  "a\\..\\b.json",
  "C:x.json",
  ".hidden",
  "a/.ssh/key",
  "a\u0000b",
  "a/",
  "",
])("a host takes no file with the name %j", (name) => {
  const { content } = withFiles({ "a.json": "[]" });
  const renamed = content.replace('{"a.json":', `{${JSON.stringify(name)}:`);
  expect(renamed).not.toBe(content);
  expect(() => readContent(renamed)).toThrow("content: expected that of a job");
});

test.each([
  ["main.json", "MAIN.json"],
  ["a.json", "A.json"],
  ["caf\u00e9.png", "cafe\u0301.png"],
  ["a", "a/b.json"],
])("no two files that are one on some disks travel, nor does a host take them: %j and %j", (one, other) => {
  expect(() => withFiles({ [one]: "[]", [other]: "[1]" })).toThrow("on some hosts they are one file");
  const { content } = withFiles({ "x.json": "[]", "y.json": "[1]" });
  const renamed = content.replace('"x.json"', JSON.stringify(one)).replace('"y.json"', JSON.stringify(other));
  expect(() => readContent(renamed)).toThrow("each file once");
});

test("a file that is not what its digest says is refused", () => {
  const { content } = withFiles({ "a.json": "[1]" });
  const changed = content.replace(
    Buffer.from("[1]").toString("base64"),
    Buffer.from("[2]").toString("base64"),
  );
  expect(changed).not.toBe(content);
  expect(() => readContent(changed)).toThrow("not what its digest says");
  expect(() => readContent(content.replace(/"blobs":\{.*?\}/, '"blobs":{}'))).toThrow(
    "not what its digest says",
  );
});

test("what is no content is refused, whatever it is", () => {
  const isRefused = (text: string) => {
    expect(() => readContent(text)).toThrow(/^content: expected/);
  };
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), isRefused));
});
