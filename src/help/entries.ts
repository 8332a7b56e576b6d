/**
 * Which entry of troubleshooting.md a message of svc has. The page quotes messages in lines that begin with `>`, with `…` for
 * what differs; a test sees to it that the source has each of them.
 */
import { RecentMap } from "../lib/buckets";
import { ENTRIES, type Section, sectionsOf } from "./sections";

interface Quote {
  readonly entry: string;
  /** What stands between what differs; each follows the one before it. */
  readonly parts: readonly string[];
  /** Characters that are quoted: the more, the surer. */
  readonly weight: number;
}

/** The messages that a section quotes, as they stand on the page. */
export const quotesIn = ({ text }: Section): string[] =>
  [...text.matchAll(/^(?:- )?> (.+)$/gm)].map(([, message = ""]) => message);

/** Without what stands there for a person's eyes alone. */
const plain = (text: string) => text.replaceAll("`", "").replaceAll(/\s+/g, " ").trim();

function quoteOf(entry: string, message: string): Quote {
  const parts = plain(message).split("…");
  return { entry, parts, weight: parts.join("").replaceAll(/[^\p{L}]/gu, "").length };
}

/**
 * Whether a message is so, or has it in the middle: a command puts the name of the host before what that says. A message may hold what
 * a client has sent, so this takes a time in proportion to its length.
 */
function isQuoted({ parts }: Quote, said: string): boolean {
  let from = 0;
  return parts.every((part) => {
    const at = said.indexOf(part, from);
    from = at + part.length;
    return at >= 0;
  });
}

/** Letters below which a quote is too little to tell a message by; so is what could stand after any name (`…: … cannot be read`). */
const LEAST = 11;
const ANYTHING = /^…: …/;

/** The longest message that is looked at, in characters. */
const LONGEST = 4_096;

/** How many messages are remembered: a server refuses many requests in the same words. */
const REMEMBERED = 64;

/** Which message has which entry. */
interface Entries {
  /** The number of the entry (`T42`) that quotes `message`; undefined where none does. */
  entryOf(message: string): string | undefined;
}

/** Reads the page. */
export function createEntries(): Entries {
  const quotes = sectionsOf(ENTRIES)
    .flatMap((section) =>
      quotesIn(section).flatMap((quoted) =>
        section.entry === undefined || ANYTHING.test(quoted) ? [] : [quoteOf(section.entry, quoted)],
      ),
    )
    .filter(({ weight }) => weight >= LEAST)
    .toSorted((a, b) => b.weight - a.weight);
  const known = new RecentMap<{ readonly entry: string | undefined }>(REMEMBERED);
  return {
    entryOf(message) {
      const text = message.slice(0, LONGEST);
      const remembered = known.get(text);
      if (remembered) return remembered.entry;
      const said = plain(text);
      const entry = quotes.find((quote) => isQuoted(quote, said))?.entry;
      known.set(text, { entry });
      return entry;
    },
  };
}
