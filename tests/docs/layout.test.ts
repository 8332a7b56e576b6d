/** The map of the repository in CONTRIBUTING.md. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./pages";

/** The folders that are in the repository, but not part of the layout: what git, npm and the build make, and files of a hosting service. */
const NOT_LISTED = ["node_modules", "dist"];

const page = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8");

/** The folders that the layout names, with those above them. */
function listed(): string[] {
  const [, block = ""] = /## Layout\s+```\n([\s\S]*?)```/.exec(page) ?? [];
  const above: string[] = [];
  return block.split("\n").flatMap((line) => {
    const [, indent = "", folder] = /^( *)([\w-]+)\//.exec(line) ?? [];
    if (folder === undefined) return [];
    above.splice(indent.length / 2, above.length, folder);
    return [above.join("/")];
  });
}

const foldersIn = (path: string): string[] =>
  readdirSync(join(ROOT, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith(".") && !NOT_LISTED.includes(entry.name))
    .map(({ name }) => join(path, name));

test("the layout names every folder at the top, of src, and of each side", () => {
  const sides = ["src/host", "src/desk", "src/wire"];
  const folders = ["", "src", ...sides].flatMap(foldersIn);
  expect(listed().sort()).toEqual(folders.sort());
});

test("every file that CONTRIBUTING.md and architecture.md name exists", () => {
  const pages = [page, readFileSync(join(ROOT, "docs/architecture.md"), "utf8")];
  const named = pages.flatMap((text) =>
    [...text.matchAll(/`(src\/[\w./-]+)`/g)].map(([, path = ""]) => path),
  );
  const missing = named.filter((path) => !existsSync(join(ROOT, path)));
  expect(named.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});
