/** The list of the files that a folder has had. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeListed } from "../../src/lib/folder-files";
import { formatText, listedFiles } from "../../src/lib/format";
import { configFiles } from "../../src/lib/paths";
import { requireNeverThere } from "../../src/lib/trust-files";
import { temporaryFolder } from "../support";

const folderWith = (files: readonly string[]) => {
  const folder = temporaryFolder();
  writeFileSync(configFiles(folder.path).format, formatText(2, 2, { files }));
  for (const name of files) writeFileSync(join(folder.path, name), "{}");
  return folder;
};

test("a file that is removed is neither there nor listed", async () => {
  using folder = folderWith(["desk.json", "tokens.json"]);
  await removeListed(folder.path, "desk.json");
  expect(existsSync(join(folder.path, "desk.json"))).toBe(false);
  expect(listedFiles(folder.path)).toEqual(["tokens.json"]);
});

test("a file of trust that is missing does not count as never there while the list cannot be read", () => {
  using folder = folderWith([]);
  const { format, tokens } = configFiles(folder.path);
  requireNeverThere(tokens);
  const whole = readFileSync(format);
  for (const broken of ["folder", "text"]) {
    rmSync(format, { recursive: true });
    if (broken === "folder") mkdirSync(format);
    else writeFileSync(format, "{");
    expect(() => requireNeverThere(tokens)).toThrow(
      "tokens.json is missing or empty, and format.json does not say",
    );
  }
  writeFileSync(format, whole);
  requireNeverThere(tokens);
});

test("a file stays where the list cannot be written", async () => {
  using folder = folderWith(["desk.json"]);
  const { format } = configFiles(folder.path);
  // In the place of the lock: what is there is no file.
  rmSync(join(folder.path, "run"), { recursive: true, force: true });
  writeFileSync(join(folder.path, "run"), "");
  await expect(removeListed(folder.path, "desk.json")).rejects.toThrow();
  expect([existsSync(join(folder.path, "desk.json")), existsSync(format)]).toEqual([true, true]);
});
