/**
 * The pages of `docs/` taken apart by their headings, and looking for words in them.
 */
import { notFound } from "../lib/errors";
import { inSlices } from "../lib/turn";
import { pageNamed, pageNames, readPage } from "./pages";

/** What stands below one heading, up to the next one. */
export interface Section {
  readonly page: string;
  readonly heading: string;
  /** The part of an address after `#` that leads to it, as GitHub makes it of the heading. */
  readonly anchor: string;
  /** 1 for the title of a page. */
  readonly level: number;
  /** The number of an entry of troubleshooting.md: `T42`. */
  readonly entry: string | undefined;
  /** Markdown, without the heading and the number. */
  readonly text: string;
}

/** The page on which each message of svc that needs advice has an entry. */
export const ENTRIES = "troubleshooting";

const ENTRY = /^`(T\d+)`$/;

/** The anchor that GitHub makes of a heading, where it is the first of its page with that text. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");

/** The sections of a page, in its order. What looks like a heading inside a block of code is none. */
export function sectionsOf(page: string): Section[] {
  const parts: { level: number; heading: string; lines: string[] }[] = [];
  let isCode = false;
  for (const line of readPage(page).split("\n")) {
    if (/^ *```/.test(line)) isCode = !isCode;
    const [, marks, heading] = (!isCode && /^(#{1,6}) (.+)$/.exec(line)) || [];
    if (marks && heading) parts.push({ level: marks.length, heading, lines: [] });
    else parts.at(-1)?.lines.push(line);
  }
  const used = new Map<string, number>();
  return parts.map(({ level, heading, lines }) => {
    const base = anchorOf(heading);
    const nth = used.get(base) ?? 0;
    used.set(base, nth + 1);
    const entry = lines.flatMap((line) => ENTRY.exec(line)?.[1] ?? [])[0];
    const text = lines
      .filter((line) => !ENTRY.test(line))
      .join("\n")
      .trim();
    return { page, heading, anchor: nth === 0 ? base : `${base}-${nth}`, level, entry, text };
  });
}

/** The title of a page. */
export const titleOf = (page: string): string => /^# (.+)$/m.exec(readPage(page))?.[1] ?? page;

/**
 * What `topic` names: a page (`plans`, `plans.md`), or an entry of troubleshooting.md by its number or its heading (`T42`,
 * `SvcHostDown`).
 *
 * @returns the page, and the section where only one is meant.
 * @throws a `not_found` failure.
 */
export function findTopic(topic: string): { readonly page: string; readonly section?: Section } {
  const page = pageNamed(topic);
  if (page) return { page };
  const wanted = topic.toLowerCase();
  const section = sectionsOf(ENTRIES).find(
    ({ entry, heading }) => entry?.toLowerCase() === wanted || heading.toLowerCase() === wanted,
  );
  if (section) return { page: ENTRIES, section };
  throw notFound(
    `topic: there is no page, entry or command ${JSON.stringify(topic)}: \`svc help\` lists them, \`svc help --search WORDS\` looks in all pages`,
  );
}

/** A section in which all words were found. */
interface SearchHit {
  readonly section: Section;
  readonly line: string;
}

/** The sections that hold all words of `words`, in any case, the best first, and no more than `most`. It looks in slices: others have their turns. */
export async function searchPages(words: string, most: number): Promise<SearchHit[]> {
  const phrase = words.toLowerCase().trim().replaceAll(/\s+/g, " ");
  const each = [...new Set(phrase.split(" ").filter(Boolean))];
  const scored: Array<{ readonly section: Section; readonly score: number }> = [];
  const pages = pageNames().values();
  await inSlices(() => {
    const { value: page, done = false } = pages.next();
    if (done || page === undefined) return true;
    for (const section of sectionsOf(page)) {
      const score = scoreOf(section, phrase, each);
      if (score > 0) scored.push({ section, score });
    }
    return false;
  });
  const best = scored.toSorted((a, b) => b.score - a.score).slice(0, most);
  const hits: SearchHit[] = [];
  await inSlices(() => {
    const next = best[hits.length];
    if (next) hits.push({ section: next.section, line: lineOf(next.section, phrase, each) });
    return next === undefined;
  });
  return hits;
}

/** 0 where a word is missing; words in a heading count more than in the text, and the phrase as a whole most. */
function scoreOf({ heading, text, entry }: Section, phrase: string, each: readonly string[]): number {
  const [title, body] = [heading.toLowerCase(), text.toLowerCase().replaceAll(/\s+/g, " ")];
  if (entry?.toLowerCase() === phrase) return 1_000;
  if (each.length === 0 || !each.every((word) => title.includes(word) || body.includes(word))) return 0;
  const inTitle = each.filter((word) => title.includes(word)).length;
  const whole = (title.includes(phrase) ? 50 : 0) + (body.includes(phrase) ? 20 : 0);
  // Of two sections with the same words, the shorter is more about them.
  return whole + 10 * inTitle + 1 + 1 / (1 + body.length);
}

/** Characters of a line that are shown. */
const MAX_LINE = 160;

function lineOf({ text, heading }: Section, phrase: string, each: readonly string[]): string {
  const lines = text.split("\n").filter((line) => !/^ *(```|\|[-|: ]+\|$)/.test(line) && line.trim() !== "");
  const count = (line: string) => {
    const lower = line.toLowerCase();
    return (lower.includes(phrase) ? 100 : 0) + each.filter((word) => lower.includes(word)).length;
  };
  let [best, most] = [heading, -1];
  for (const line of lines) {
    const found = count(line);
    if (found > most) [best, most] = [line, found];
  }
  const plain = best.replaceAll(/\]\([^)]*\)|[`*[]|^[>#\s-]+|^\||\|$/g, "").trim();
  return plain.length > MAX_LINE ? `${plain.slice(0, MAX_LINE).toWellFormed()}…` : plain;
}
