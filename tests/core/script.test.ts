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
  expect(await readScript(path)).toEqual([["AC_write", ["Grüße"]]]);
});

test("a script that is not UTF-8 is refused: another text would be typed", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "script.json");
  writeFileSync(path, '[["AC_write",["Grüße"]]]', "latin1");
  expect(readScript(path)).rejects.toThrow("path: the file is not JSON in UTF-8");
});

test("a problem in a script is named, and its content not quoted", async () => {
  await using made = testService();
  const path = join(made.configDir, "script.json");
  writeFileSync(path, '[["AC_sleep",{"seconds":"hunter2"}]]');
  const executor = await made.service.executor();
  await expect(executor.prepareFile(path)).rejects.toThrow(/^actions\[0\]\.seconds: expected a number$/);
});
