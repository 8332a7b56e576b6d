/** The pages hang together. */
import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { anchorsOf, linksOf, PAGES, ROOT, readPage } from "./pages";

test("every relative link, and every anchor in one, leads somewhere", () => {
  const broken = PAGES.flatMap((page) =>
    linksOf(readPage(page))
      .filter((link) => !leadsSomewhere(page, link))
      .map((link) => `${page}: ${link}`),
  );
  expect(broken).toEqual([]);
});

function leadsSomewhere(page: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(ROOT, target))) return false;
  return anchor === undefined || anchorsOf(readPage(target)).has(anchor);
}

test("docs/dashboard.md has every page of the dashboard, in the order of the navigation", () => {
  const titles = [...readPage("dashboard/pages.js").matchAll(/\btitle: "([^"]+)"/g)].map(
    ([, title]) => title,
  );
  const [, listed = ""] = /\n## Pages\n([\s\S]*?)\n## /.exec(readPage("docs/dashboard.md")) ?? [];
  const rows = [...listed.matchAll(/^\| ([^|-][^|]*) \|/gm)].map(([, name]) => name);
  expect(rows).toEqual(["page", ...titles]);
});

test("the index of docs/ has every other page of it", () => {
  const listed = linksOf(readPage("docs/README.md"));
  const there = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"));
  expect(there.filter((name) => !listed.includes(name))).toEqual(["README.md"]);
});
