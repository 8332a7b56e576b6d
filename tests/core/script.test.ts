/** Script files. */

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readScript } from "../../src/core/script";
import { Requester } from "../../src/lib/slots";
import { temporaryFolder, testService } from "../support";

test("a script may begin with a byte order mark, as editors write it", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "script.json");
  writeFileSync(path, '\ufeff[["AC_write",["Grüße"]]]');
  expect((await readScript(path)).actions).toEqual([["AC_write", ["Grüße"]]]);
});

test("a script that is not UTF-8 is refused: another text would be typed", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "script.json");
  writeFileSync(path, '[["AC_write",["Grüße"]]]', "latin1");
  expect(readScript(path)).rejects.toThrow("path: the file is not in UTF-8");
});

test("a file that is no JSON is refused with the place where it stops being JSON", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "script.json");
  writeFileSync(path, '[\n  ["AC_sleep", [1]],\n]');
  expect(readScript(path)).rejects.toThrow(`${path}:3:1: not JSON: expected a value`);
});

test.each([
  ["json", '[["AC_write", ["a\\nb"]], ["AC_sleep", {"seconds": 0.5}]]'],
  ["json5", "// two actions\n[['AC_write', ['a\\nb',]], ['AC_sleep', {seconds: .5}]]"],
  ["yaml", '# two actions\nauto_control:\n  - [AC_write, ["a\\nb"]]\n  - - AC_sleep\n    - seconds: .5\n'],
  ["yml", '- [AC_write, ["a\\nb"]]\n- [AC_sleep, {seconds: 0.5}]'],
])("a script may be written as %s, and is the same list", async (end, text) => {
  using folder = temporaryFolder();
  const path = join(folder.path, `script.${end}`);
  writeFileSync(path, text);
  const list = [
    ["AC_write", ["a\nb"]],
    ["AC_sleep", { seconds: 0.5 }],
  ];
  expect((await readScript(path)).actions).toEqual(list);
});

test.each([
  ["json5", "[\n  ['AC_sleep', {secnds: 1}],\n]", "2:16: actions[0].seconds: missing: expected a number"],
  [
    "yaml",
    "- - AC_loop\n  - times: 2\n    body:\n      - [AC_slep]",
    "4:10: actions[0].body[0]: unknown command AC_slep",
  ],
  ["yaml", "- [AC_sleep, [1]\n- [AC_sleep]", "2:1: not YAML: expected other syntax (bad indent)"],
  ["json5", "[['AC_sleep', [1]]", "1:19: not JSON5: expected , or ]"],
  ["yaml", "[".repeat(262_145), "expected at most 262144 characters of YAML"],
  ["yaml", "", "expected a list of actions but found nothing"],
])("what is wrong in a script in %s is named with its place: %j", async (end, text, message) => {
  expect((await refusalOf(text, end)).message).toContain(
    `script.${end}:${message.startsWith("e") ? " " : ""}${message}`,
  );
});

test("a file with another name is no script", () => {
  const message = "path: expected a .json, .json5, .yaml or .yml file";
  expect(readScript("/etc/passwd")).rejects.toThrow(message);
  expect(readScript("/etc/x.toString")).rejects.toThrow("path: no such file: /etc/x.toString");
});

/** The failure of the check of a file with this content. */
async function refusalOf(text: string, end = "json") {
  await using made = testService();
  const path = join(made.configDir, `script.${end}`);
  writeFileSync(path, text);
  const refused = (await made.service.executor()).prepareFile(path, new Requester(null));
  const { message, more } = await refused.then(Object, (error) => error);
  return { message: message.replaceAll(path, `script.${end}`), more };
}

test("a problem in a script is named with line, column and field, and its content not quoted", async () => {
  const { message, more } = await refusalOf(`[
  ["AC_sleep", {"seconds": "hunter2"}],
  ["AC_loop", [2, [
    ["AC_sleep", {"secnds": 1}]
  ]]],
  ["AC_scren_size"]
]`);
  expect(message.split("; ")).toEqual([
    "script.json:2:28: actions[0].seconds: expected a number",
    "script.json:4:18: actions[1].body[0].seconds: missing: expected a number",
    "script.json:4:29: actions[1].body[0].secnds: unknown field (did you mean seconds?)",
    "script.json:6:4: actions[2]: unknown command AC_scren_size (did you mean AC_screen_size?)",
  ]);
  expect(more.unknown_commands).toEqual(["AC_scren_size"]);
  expect(more.problems.at(-1)).toEqual({
    action: "actions[2]",
    pointer: "/2/0",
    line: 6,
    column: 4,
    message: "unknown command AC_scren_size (did you mean AC_screen_size?)",
  });
});

test("the pointer goes through auto_control where that is around the list", async () => {
  const { message, more } = await refusalOf('{"auto_control": [["AC_sleep", [true]]]}');
  expect(message).toBe("script.json:1:33: actions[0].seconds: expected a number");
  expect(more.problems[0].pointer).toBe("/auto_control/0/1/0");
});

test("a text in place of a list is named by its place in the list", async () => {
  const { message } = await refusalOf('[["AC_shell_command", {"shell_command": ["ls", "-l", 80]}]]');
  expect(message).toBe("script.json:1:54: actions[0].shell_command[2]: expected a text");
});
