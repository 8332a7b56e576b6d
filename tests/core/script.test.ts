/** Script files. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readScript } from "../../src/core/script";
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

/** The failure of the check of a file with this content. */
async function refusalOf(text: string) {
  await using made = testService();
  const path = join(made.configDir, "script.json");
  writeFileSync(path, text);
  const refused = (await made.service.executor()).prepareFile(path);
  const { message, more } = await refused.then(Object, (error) => error);
  return { message: message.replaceAll(path, "script.json"), more };
}

test("a problem in a script is named with line, column and pointer, and its content not quoted", async () => {
  const { message, more } = await refusalOf(`[
  ["AC_sleep", {"seconds": "hunter2"}],
  ["AC_loop", [2, [
    ["AC_sleep", {"secnds": 1}]
  ]]],
  ["AC_scren_size"]
]`);
  expect(message.split("; ")).toEqual([
    "script.json:2:28: /0/1/seconds: expected a number",
    "script.json:4:18: /1/1/1/0/1/seconds: missing: expected a number",
    "script.json:4:29: /1/1/1/0/1/secnds: unknown field (did you mean seconds?)",
    "script.json:6:4: /2/0: unknown command AC_scren_size (did you mean AC_screen_size?)",
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
  const { message } = await refusalOf('{"auto_control": [["AC_sleep", [true]]]}');
  expect(message).toBe("script.json:1:33: /auto_control/0/1/0: expected a number");
});
