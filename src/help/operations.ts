import * as v from "valibot";
import { field, flag } from "../core/fields";
import { operation } from "../core/operation";
import { badInput } from "../lib/errors";

/** The most sections that a search answers with. */
const MAX_FOUND = 30;

const WORDS = v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(200));

export const readHelp = operation({
  name: "help.read",
  summary: "Read the pages of this documentation, or look for words in them",
  scope: "read",
  subcommand: "help",
  http: { method: "GET", path: "/help" },
  leftOut: { script: "it is for people" },
  input: v.strictObject({
    topic: field(v.optional(WORDS), "A page, or an entry of troubleshooting: plans, T42, SvcHostDown"),
    search: field(v.optional(WORDS), "Words to look for in all pages"),
    elements: flag("Answer the page as a tree of elements, too"),
  }),
  output: v.object({
    /** All pages, the index first; with neither a topic nor words. */
    pages: v.exactOptional(v.array(v.object({ page: v.string(), title: v.string() }))),
    /** Sections that hold all the words, the best first. */
    found: v.exactOptional(
      v.array(
        v.object({
          page: v.string(),
          heading: v.string(),
          anchor: v.string(),
          /** Of an entry of troubleshooting: `T42`. */
          entry: v.nullable(v.string()),
          line: v.string(),
        }),
      ),
    ),
    /** The topic that was asked for. */
    read: v.exactOptional(
      v.object({
        page: v.string(),
        title: v.string(),
        /** Markdown. */
        text: v.string(),
        /** Each a text, or `[tag, attributes, ...elements]`. */
        elements: v.exactOptional(v.array(v.unknown())),
      }),
    ),
  }),
  async run(_, { topic, search, elements }) {
    if (topic !== undefined && search !== undefined)
      throw badInput("search: looks in all pages, so not beside topic");
    const { findTopic, searchPages, titleOf } = await import("./sections");
    const { pageNames, readPage } = await import("./pages");
    if (search !== undefined) {
      const found = await searchPages(search, MAX_FOUND);
      return {
        found: found.map(({ section: { page, heading, anchor, entry = null }, line }) => {
          return { page, heading, anchor, entry, line };
        }),
      };
    }
    if (topic === undefined) return { pages: pageNames().map((page) => ({ page, title: titleOf(page) })) };
    const { page, section } = findTopic(topic);
    const title = section?.heading ?? titleOf(page);
    const text = section ? `# ${section.heading}\n\n${section.text}\n` : readPage(page);
    if (!elements) return { read: { page, title, text } };
    return { read: { page, title, text, elements: (await import("./elements")).elementsOf(text) } };
  },
});

export const operations = [readHelp];
