/** The page about the configuration folder names every file that svc keeps there. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { FORMAT, NEEDS } from "../../src/lib/format";
import { configFiles } from "../../src/lib/paths";

const page = readFileSync(join(import.meta.dir, "../../docs/service.md"), "utf8");

test("each file of {config_dir} is in the table of files", () => {
  const named = new Set([...page.matchAll(/`([\w./-]+)`/g)].map(([, name = ""]) => name.replace(/\/$/, "")));
  const paths = Object.values(configFiles("/c")).map((path) => relative("/c", path));
  expect(paths.filter((path) => !path.startsWith("run/") && !named.has(path))).toEqual([]);
});

test("the format is the one that svc writes", () => {
  expect(page).toContain(`{"format": ${FORMAT}, "needs": ${NEEDS}, "svc": "`);
  expect(page).toContain(`this svc writes format ${FORMAT}`);
});
