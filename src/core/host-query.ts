/**
 * Looking for hosts: `tag:lab !healthy version:<0.3`. The command line, the server and the page *Hosts* have this one module.
 *
 * Words stand side by side, and a host is found that each of them fits. A word is what `--on` takes (`lab-01,tag:shop,!lab-03`: one of
 * these, and none of those after `!`), where a state, or `name:value`, may stand in place of a label.
 *
 * The promises: whatever is typed is parsed in a time in proportion to its length; what it costs to look at a host is bounded by
 * {@link MAX_TESTS}, however many labels are named.
 */

/** What is known of a host that is looked for. */
export interface FoundHost {
  readonly label: string;
  readonly tags: readonly string[];
  /** `busy`: it answers that it is asked too much. `unknown`: nobody has asked it yet, and it has not dialled. */
  readonly state: "up" | "down" | "busy" | "unknown";
  /** Why it is down or busy; null where it is not. */
  readonly why: string | null;
  /** When it was there last, ISO 8601; null where that is not known. */
  readonly seen: string | null;
  /** The version of svc there; null where that is not known. */
  readonly version: string | null;
  /** The plan that it works on; null where it works on none. */
  readonly plan: string | null;
  /** How it is reached: `link`, `nats`, `https` or `http`. */
  readonly way: string;
  /** What makes sure that it is the host which answers. */
  readonly trust: string;
  /** Whether its audit log is not what its witnesses have seen before. */
  readonly broken: boolean;
  /** Whether two machines have its identity. */
  readonly twin: boolean;
}

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

type Test = (host: FoundHost, now: number) => boolean;

/** What a term tests, or what is wrong with it. */
type TermReading = { readonly test: Test } | { readonly fault: string };

const isUp: Test = ({ state }) => state === "up";

/** The states: words of their own. A host with such a label is found by `label:`. */
const STATES: Readonly<Record<string, Test>> = {
  all: () => true,
  up: isUp,
  down: ({ state }) => state === "down",
  busy: ({ state }) => state === "busy",
  unknown: ({ state }) => state === "unknown",
  healthy: ({ state, broken, twin }) => state === "up" && !broken && !twin,
  running: ({ plan }) => plan !== null,
  idle: ({ state, plan }) => state === "up" && plan === null,
  broken: ({ broken }) => broken,
  twin: ({ twin }) => twin,
};

/** The words for states, to be offered while a query is typed. */
export const STATE_WORDS: readonly string[] = Object.keys(STATES);

/** What may stand before a colon, and what follows it, to be offered while a query is typed. */
export const PROPERTY_WORDS: Readonly<Record<string, string>> = {
  tag: "a tag",
  label: "a label",
  version: "a version, also <0.3 or >=0.2.1",
  seen: "<5m or >1d: how long ago it was there last",
  way: "link, nats, https or http",
  trust: "what vouches for it, as key or nothing",
  why: "a part of why it is down",
};

const PROPERTIES: Readonly<Record<string, (value: string) => TermReading>> = {
  tag: (value) => {
    const like = namePattern(value);
    return { test: ({ tags }) => tags.includes(value) || (like !== undefined && tags.some(like)) };
  },
  label: (value) => {
    const like = namePattern(value);
    return { test: ({ label }) => label === value || (like?.(label) ?? false) };
  },
  version: versionTest,
  seen: seenTest,
  way: (value) => ({ test: ({ way }) => way === value }),
  trust: (value) => ({ test: ({ trust }) => trust === value }),
  why: (value) => {
    const part = value.toLowerCase();
    return { test: ({ why }) => why?.toLowerCase().includes(part) ?? false };
  },
};

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

/** A state or a property; undefined for what can be a label alone. */
function readTerm(text: string): TermReading | undefined {
  const state = Object.hasOwn(STATES, text) ? STATES[text] : undefined;
  if (state) return { test: state };
  const [, name = "", value = ""] = /^([a-z]+):(.*)$/s.exec(text) ?? [];
  if (name === "") return undefined;
  const property = Object.hasOwn(PROPERTIES, name) ? PROPERTIES[name] : undefined;
  if (property)
    return value === "" ? { fault: `${name}: expected ${PROPERTY_WORDS[name]} after it` } : property(value);
  // A label may have a colon; a comparison is a property that was mistyped.
  if (!/^[<>=]/.test(value)) return undefined;
  return { fault: `${name}: expected ${Object.keys(PROPERTIES).join(", ")} before the colon` };
}

const unfit = (name: string, value: string): TermReading => ({
  fault: `${name}: expected ${PROPERTY_WORDS[name]} but found ${JSON.stringify(value.slice(0, 64))}`,
});

const COMPARES: Readonly<Record<string, (difference: number) => boolean>> = {
  "<": (difference) => difference < 0,
  "<=": (difference) => difference <= 0,
  ">": (difference) => difference > 0,
  ">=": (difference) => difference >= 0,
  "=": (difference) => difference === 0,
};

/** How a comparison begins. */
const comparisonIn = (value: string) => /^(<=|>=|<|>|=)?(.*)$/s.exec(value) ?? [];

const VERSION = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(-[\w.-]{1,40})?(?:\+[\w.-]{1,40})?$/;

interface VersionParts {
  /** As far as they are written. */
  readonly numbers: readonly number[];
  /** What stands before its release. */
  readonly before: string | undefined;
}

/** Undefined for a text that is no version. */
function versionIn(text: string): VersionParts | undefined {
  const [whole, major, minor, patch, before] = VERSION.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return {
    numbers: [major, minor, patch].flatMap((one) => (one === undefined ? [] : [Number(one)])),
    before,
  };
}

/** As many numbers are compared as were typed: 0.3.2 is a 0.3, and no later one. */
function versionTest(value: string): TermReading {
  const [, sign = "=", text = ""] = comparisonIn(value);
  const wanted = versionIn(text);
  if (!wanted) return unfit("version", value);
  const fits = COMPARES[sign] ?? (() => false);
  return {
    test({ version }) {
      const found = version === null ? undefined : versionIn(version);
      return found !== undefined && fits(versionOrder(found, wanted));
    },
  };
}

function versionOrder(one: VersionParts, wanted: VersionParts): number {
  for (const [at, number] of wanted.numbers.entries()) {
    const difference = (one.numbers[at] ?? 0) - number;
    if (difference !== 0) return difference;
  }
  // 0.3 is any 0.3.x; the whole 0.3.0 comes after its candidates (semver.org, 11.3).
  if (wanted.numbers.length < 3 || one.before === wanted.before) return 0;
  if (one.before === undefined || wanted.before === undefined) return one.before === undefined ? 1 : -1;
  return one.before < wanted.before ? -1 : 1;
}

/** Milliseconds of a unit of time. */
const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

function seenTest(value: string): TermReading {
  const [, sign, text = ""] = comparisonIn(value);
  const [, amount, unit = ""] = /^(\d{1,6}(?:\.\d{1,6})?)([smhdw])$/.exec(text) ?? [];
  const ms = Number(amount) * (UNITS[unit] ?? Number.NaN);
  if (sign === undefined || sign === "=" || Number.isNaN(ms)) return unfit("seen", value);
  const fits = COMPARES[sign] ?? (() => false);
  return {
    // A host that was never there was there longer ago than any time.
    test: ({ seen }, now) => fits((seen === null ? Number.POSITIVE_INFINITY : now - Date.parse(seen)) - ms),
  };
}

/** What stands between two `*` of a pattern: its characters, and the longest run of them without `?`, with how many are before that. */
interface PatternPart {
  readonly characters: readonly string[];
  readonly literal: string;
  readonly before: number;
}

function patternPart(text: string): PatternPart {
  const characters = [...text];
  let [literal, before, at] = ["", 0, 0];
  for (const run of text.split("?")) {
    if (run.length > literal.length) [literal, before] = [run, at];
    at += [...run].length + 1;
  }
  return { characters, literal, before };
}

/** Whether a text is what {@link namePattern} takes. */
export const isPattern = (text: string): boolean => /[*?]/.test(text);

/**
 * What a text with `*` (any characters) or `?` (one) matches; undefined for a text without either. Nothing else in it is special.
 *
 * A match takes a time in proportion to the name for each part between two `*`.
 */
export function namePattern(text: string): ((name: string) => boolean) | undefined {
  if (!isPattern(text)) return undefined;
  const parts = text.split(/\*+/).map(patternPart);
  const [first = patternPart(""), ...rest] = parts;
  const last = rest.pop();
  return (name) => {
    // Where each character is one unit, the name needs no list of them.
    const characters = /[\ud800-\udfff]/.test(name) ? [...name] : name;
    if (!fitsAt(characters, 0, first)) return false;
    if (last === undefined) return characters.length === first.characters.length;
    const end = characters.length - last.characters.length;
    let at = first.characters.length;
    for (const part of rest) {
      const found = placeIn(characters, at, end, part);
      if (found === undefined) return false;
      at = found + part.characters.length;
    }
    return at <= end && fitsAt(characters, end, last);
  };
}

/** Where `part` stands first between two places; undefined where it does not. */
function placeIn(
  characters: string | readonly string[],
  from: number,
  end: number,
  part: PatternPart,
): number | undefined {
  const { literal, before } = part;
  const latest = end - part.characters.length;
  for (let at = from; at <= latest; at++) {
    // What is sure to be there is looked for first: a name may be compared with thousands of patterns, and seldom has it.
    if (typeof characters === "string") at = characters.indexOf(literal, at + before) - before;
    if (at < from || at > latest) return undefined;
    if (fitsAt(characters, at, part)) return at;
  }
  return undefined;
}

/** Whether `part`, in which `?` is any character, stands at this place. */
function fitsAt(
  characters: string | readonly string[],
  at: number,
  { characters: wanted }: PatternPart,
): boolean {
  if (at + wanted.length > characters.length) return false;
  for (let nth = 0; nth < wanted.length; nth++)
    if (wanted[nth] !== "?" && wanted[nth] !== characters[at + nth]) return false;
  return true;
}
