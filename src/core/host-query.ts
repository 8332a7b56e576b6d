/**
 * Looking for hosts: `tag:lab !healthy version:<0.3`. The command line, the server and the page *Hosts* have this one module.
 *
 * Words stand side by side, and a host is found that each of them fits. A word is what `--on` takes (`lab-01,tag:shop,!lab-03`: one of
 * these, and none of those after `!`), where a state, or `name:value`, may stand in place of a label.
 *
 * The promises: whatever is typed is parsed in a time in proportion to its length; what it costs to look at a host is bounded by
 * {@link MAX_TESTS}, however many labels are named.
 */
import { type FoundHost, PROPERTY_WORDS, readTerm, strangeName, type Test } from "./host-terms";
import { isPattern, namePattern } from "./name-pattern";

export type { FoundHost } from "./host-terms";

/** A query that was understood. */
export interface HostQuery {
  /** Tags of which each host that it fits has one, or one like it, so that no other has to be looked at; undefined where that may be any host. */
  readonly tags?: readonly string[];
  /** The hosts that it fits, in their order. `now` is in milliseconds since 1970. */
  select<H extends FoundHost>(hosts: readonly H[], now: number): H[];
  /** Whether it fits one of `hosts`: for whoever looks at many in slices. */
  among(hosts: readonly FoundHost[], now: number): (host: FoundHost) => boolean;
}

/** Enough for the labels of 2,000 hosts, one by one, as `--on` takes them. */
const MAX_LENGTH = 300_000;

/** The most tests that a host is put to; all labels of a word together are one. */
const MAX_TESTS = 64;

/** A term between commas: its text without quotes and `!`. */
interface Term {
  readonly text: string;
  readonly isExcluded: boolean;
  /** Whether it began with a quote: then nothing in it is special. */
  readonly isQuoted: boolean;
}

/**
 * The words of a query, each with its terms. Quotes keep spaces, commas and colons in a label; one that is not closed yet reaches to
 * the end.
 */
function wordsIn(text: string): Term[][] {
  const words: Term[][] = [];
  let word: Term[] = [];
  let [term, isQuoted, isExcluded, inQuotes] = ["", false, false, false];
  const endTerm = () => {
    if (term !== "") word.push({ text: term.normalize("NFC"), isExcluded, isQuoted });
    [term, isQuoted, isExcluded] = ["", false, false];
  };
  const endWord = () => {
    endTerm();
    if (word.length > 0) words.push(word);
    word = [];
  };
  for (const character of text) {
    if (character === '"') {
      inQuotes = !inQuotes;
      // `why:"connection refused"` is a property all the same.
      if (term === "") isQuoted = true;
    } else if (inQuotes) term += character;
    else if (/\s/.test(character)) endWord();
    else if (character === ",") endTerm();
    else if (character === "!" && term === "" && !isQuoted) isExcluded = !isExcluded;
    else term += character;
  }
  endWord();
  return words;
}

/**
 * Understands a query. The empty one finds all hosts.
 *
 * @returns the query, or what is wrong with it, in words for who typed it.
 */
export function parseHostQuery(text: string): HostQuery | { readonly fault: string } {
  if (text.length > MAX_LENGTH) return { fault: `expected at most ${MAX_LENGTH} characters` };
  let left = MAX_TESTS;
  const tests: Array<(known: SearchedHosts) => Test> = [];
  const words = wordsIn(text);
  const tags = tagsOf(words);
  for (const word of words) {
    const [including, excluding] = [readTerms(word, false), readTerms(word, true)];
    for (const part of [including, excluding]) if ("fault" in part) return part;
    if ("fault" in including || "fault" in excluding) continue;
    left -= including.cost + excluding.cost;
    if (left < 0) return { fault: `expected at most ${MAX_TESTS} words that are not whole labels` };
    tests.push((known) => {
      const [any, none] = [including.over(known), excluding.over(known)];
      return (host, now) => (including.isEmpty || any(host, now)) && !none(host, now);
    });
  }
  const query: HostQuery = {
    ...(tags && { tags }),
    select: (hosts, now) => hosts.filter(query.among(hosts, now)),
    among(hosts, now) {
      let found: ReadonlySet<string> | undefined;
      let room = MAX_TESTS;
      const known: SearchedHosts = {
        labels() {
          found ??= new Set(hosts.map(({ label }) => label));
          return found;
        },
        take(count) {
          const given = Math.min(count, room);
          room -= given;
          return given;
        },
      };
      const all = tests.map((make) => make(known));
      return (host) => all.every((test) => test(host, now));
    },
  };
  return query;
}

/**
 * The tags that the first word of nothing but tags names. What a label finds depends on all labels that there are: then every host is
 * looked at.
 */
function tagsOf(words: ReadonlyArray<readonly Term[]>): readonly string[] | undefined {
  const isLabel = ({ isQuoted, text }: Term) => isQuoted || readTerm(text) === undefined;
  if (words.flat().some(isLabel)) return undefined;
  const including = words.map((word) => word.filter(({ isExcluded }) => !isExcluded));
  return including
    .find((word) => word.length > 0 && word.every(({ text }) => text.startsWith("tag:")))
    ?.map(({ text }) => text.slice("tag:".length));
}

/** What may be wrong with a query that finds nothing, in words for who typed it: a property that is none is a part of a label. */
export function doubtOf(text: string): string | undefined {
  const names = wordsIn(text)
    .flat()
    .flatMap((term) => (term.isQuoted || readTerm(term.text) ? [] : (strangeName(term.text) ?? [])));
  const [first] = names;
  if (first === undefined) return undefined;
  return `${first.slice(0, 40)}: is no property, so it was looked for in labels; properties are ${Object.keys(PROPERTY_WORDS).join(", ")}`;
}

/** The hosts among which some are looked for. */
interface SearchedHosts {
  labels(): ReadonlySet<string>;
  /** How many of so many parts of labels a host may still be put to, of all words together. */
  take(count: number): number;
}

/** The terms of a word on one side of its `!`: whether one of them fits. */
interface Terms {
  readonly isEmpty: boolean;
  /** How many tests it is, where none of its words is a whole label. */
  readonly cost: number;
  over(known: SearchedHosts): Test;
}

function readTerms(word: readonly Term[], isExcluded: boolean): Terms | { readonly fault: string } {
  const tests: Test[] = [];
  const plain: string[] = [];
  const patterns: string[] = [];
  for (const term of word.filter((one) => one.isExcluded === isExcluded)) {
    const parsed = term.isQuoted ? undefined : readTerm(term.text);
    if (parsed === undefined) (term.isQuoted || !isPattern(term.text) ? plain : patterns).push(term.text);
    else if ("fault" in parsed) return parsed;
    else tests.push(parsed.test);
  }
  return {
    isEmpty: tests.length + plain.length + patterns.length === 0,
    // Many labels are one look into a set; how many of them are parts of labels is known where there are hosts.
    cost: tests.length + patterns.length + Math.min(plain.length, 1),
    // Patterns first: each has been counted.
    over: (known) => anyOf(tests, [...patterns, ...plain], known),
  };
}

/** Whether one of `tests` fits, or a host has one of these labels, or one like it where no host has that very label. */
function anyOf(tests: readonly Test[], named: readonly string[], { labels, take }: SearchedHosts): Test {
  const whole = new Set(named.filter((name) => labels().has(name)));
  const unknown = [...new Set(named)].filter((name) => !whole.has(name));
  const parts = unknown.slice(0, take(unknown.length));
  const alike = parts.map((part) => namePattern(part) ?? partOf(part));
  return (host, now) =>
    whole.has(host.label) ||
    alike.some((isLike) => isLike(host.label)) ||
    tests.some((test) => test(host, now));
}

/** Whether a label has this in it, in capitals or not. */
function partOf(part: string): (label: string) => boolean {
  const small = part.toLowerCase();
  return (label) => label.toLowerCase().includes(small);
}
