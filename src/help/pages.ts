/**
 * The pages of `docs/`. In the binary they are one archive, which stands in the place of the index: together they compress to three
 * quarters of what each alone does. Nothing of them is in memory before somebody reads one.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
// The path is literal, so that the bundler embeds the file.
import index from "../../docs/README.md" with { type: "file" };
import { lazily } from "../lib/once";
import { unpack } from "../lib/unpack";
import { compiled } from "../version";

/** The names of pages (files in `docs/` without `.md`) and their Markdown, the index first. */
type Pages = Readonly<Record<string, string>>;

const INDEX = "README";

/** Reads the pages in `folder`. @throws what reading a file throws. */
export function pagesIn(folder: string): Pages {
  const names = readdirSync(folder).flatMap((file) => /^(.+)\.md$/.exec(file)?.[1] ?? []);
  const sorted = [INDEX, ...names.filter((name) => name !== INDEX).toSorted()];
  return Object.fromEntries(sorted.map((name) => [name, readFileSync(join(folder, `${name}.md`), "utf8")]));
}

/** The archive of pages, as `build/pack.ts` embeds it. */
export const archiveOf = (pages: Pages): string => JSON.stringify(pages);

const allPages = lazily(() =>
  compiled ? (JSON.parse(new TextDecoder().decode(unpack(index))) as Pages) : pagesIn(dirname(index)),
);

/** The names of all pages, the index first. */
export const pageNames = (): readonly string[] => Object.keys(allPages());

/** The page that `typed` names, in any case and with or without `.md`; undefined where there is none. */
export function pageNamed(typed: string): string | undefined {
  const wanted = typed.toLowerCase().replace(/\.md$/, "");
  return pageNames().find((name) => name.toLowerCase() === wanted);
}

/** The Markdown of the page `name`, which is one of `pageNames`. */
export const readPage = (name: string): string => allPages()[name] ?? "";
