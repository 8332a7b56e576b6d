/**
 * Which entry of troubleshooting.md a message of svc has. The page quotes messages in lines that begin with `>`, with `…` for
 * what differs; a test sees to it that the source has each of them.
 */
import { ENTRIES, type Section, sectionsOf } from "./sections";

interface Quote {
  readonly entry: string;
  readonly pattern: RegExp;
  /** Characters that are quoted: the more, the surer. */
  readonly weight: number;
}

/** The messages that a section quotes, as they stand on the page. */
export const quotesIn = ({ text }: Section): string[] =>
  [...text.matchAll(/^(?:- )?> (.+)$/gm)].map(([, message = ""]) => message);

/** Without what stands there for a person's eyes alone. */
const plain = (text: string) => text.replaceAll("`", "").replaceAll(/\s+/g, " ").trim();

/** Found anywhere in a message: a command puts the name of the host before what that says. */
function quoteOf(entry: string, message: string): Quote {
  const parts = plain(message).split("…");
  const pattern = new RegExp(parts.map((part) => RegExp.escape(part)).join(".*"), "s");
  return { entry, pattern, weight: parts.join("").replaceAll(/[^\p{L}]/gu, "").length };
}

/** Letters below which a quote is too little to tell a message by; so is what could stand after any name (`…: … cannot be read`). */
const LEAST = 11;
const ANYTHING = /^…: …/;

/** The number of the entry (`T42`) that quotes `message`; undefined where none does. */
export function entryOf(message: string): string | undefined {
  const said = plain(message);
  const quotes = sectionsOf(ENTRIES).flatMap((section) =>
    quotesIn(section).flatMap((quoted) =>
      section.entry === undefined || ANYTHING.test(quoted) ? [] : [quoteOf(section.entry, quoted)],
    ),
  );
  const [best] = quotes
    .filter(({ pattern, weight }) => weight >= LEAST && pattern.test(said))
    .toSorted((a, b) => b.weight - a.weight);
  return best?.entry;
}
