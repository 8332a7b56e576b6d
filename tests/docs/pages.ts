/** The pages that an operator reads, taken apart: code blocks, inline code, headings, links. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dir, "..", "..");

/** The pages, by their paths from the root of the project. */
export const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...readdirSync(join(ROOT, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

export const readPage = (page: string) => readFileSync(join(ROOT, page), "utf8");

/** A fenced code block; `language` is empty when it names none. */
export interface Block {
  readonly language: string;
  readonly code: string;
}

const FENCE = /^( *)```(\w*)\n(.*?)^\1```$/gms;

export const blocksOf = (text: string): Block[] =>
  [...text.matchAll(FENCE)].map(([, indent = "", language = "", code = ""]) => ({
    language,
    code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));

const withoutBlocks = (text: string) => text.replaceAll(FENCE, "");

/** What stands between single backquotes, on one line. */
export const inlineCodeOf = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code.replaceAll(/\s+/g, " "));

/** Where the relative links of a page lead. */
export const linksOf = (text: string): string[] =>
  [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** The anchors of a page, as GitHub makes them of its headings. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of withoutBlocks(text).matchAll(/^#{1,6} (.+)$/gm)) {
    const words = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "");
    const anchor = words.trim().replaceAll(/\s/g, "-");
    let free = anchor;
    for (let nth = 1; anchors.has(free); nth++) free = `${anchor}-${nth}`;
    anchors.add(free);
  }
  return anchors;
}
