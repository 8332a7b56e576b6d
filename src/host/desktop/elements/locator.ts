/**
 * How scripts name an element: by its role and name, where it is, and its states. In one line: `button "Save" window "Order 12"`,
 * `textbox contains "Cust" within group "Billing"`, `checkbox "Paid" not checked`, `row nth 3`.
 *
 * A line is read once from left to right, and what is printed reads back as the same locator.
 */
import { badInput } from "../../../lib/errors";
import { jsonLine } from "../../../lib/sanitize";
import { knownRole } from "./roles";

/** The states that a locator may ask for. */
export const STATES = ["enabled", "checked", "focused", "selected", "expanded"] as const;
export type State = (typeof STATES)[number];

/** Which element: all that is given must hold. */
export interface Locator extends Partial<Readonly<Record<State, boolean | undefined>>> {
  readonly role?: string | undefined;
  readonly name?: string | undefined;
  /** What a part of its name has to fit, as RE2 has it; upper and lower case differ. */
  readonly pattern?: string | undefined;
  /** Whether the name is the whole name (default), or a part of it in any case. */
  readonly exact?: boolean | undefined;
  /** A part of the title of its window, in any case. */
  readonly window?: string | undefined;
  /** The name of its program. */
  readonly app?: string | undefined;
  /** What it is in, at any depth. */
  readonly within?: Locator | undefined;
  /** Which of those that match, from 1. */
  readonly nth?: number | undefined;
}

/** The longest line, in characters. */
export const MAX_LINE = 2_000;
/** The longest name, title or program, in characters. */
export const MAX_NAME = 1_000;
/** How many elements may be around each other in one locator. */
export const MAX_DEPTH = 5;
export const MAX_NTH = 1_000;
/** More words, texts and numbers than a line with {@link MAX_DEPTH} elements needs. */
const MAX_TOKENS = 200;
/** More words than the name of any role has. */
const MAX_WORDS = 6;

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|([A-Za-z]+)|(\d+)|\/((?:[^/\\]|\\.)+)\/|(\S))/y;

type Token =
  | { readonly text: string }
  | { readonly pattern: string }
  | { readonly word: string }
  | { readonly count: number };

function tokensOf(line: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  const end = line.trimEnd().length;
  while (TOKEN.lastIndex < end) {
    if (tokens.length > MAX_TOKENS) throw wrong(line, `it has more than ${MAX_TOKENS} words`);
    const at = TOKEN.lastIndex;
    const [, quoted, word, digits, pattern] = TOKEN.exec(line) ?? [];
    if (quoted !== undefined) tokens.push({ text: unquoted(quoted) });
    else if (word !== undefined) tokens.push({ word });
    else if (digits !== undefined) tokens.push({ count: Number(digits) });
    else if (pattern !== undefined) tokens.push({ pattern: unescaped(pattern) });
    else throw wrong(line, `something else begins with ${jsonLine(line.slice(at, at + 20).trimStart())}`);
  }
  return tokens;
}

/** A slash in a pattern has a backslash before it in a line. */
const unescaped = (pattern: string) => pattern.replace(/\\(.)/gs, (both, one) => (one === "/" ? "/" : both));
const escaped = (pattern: string) => pattern.replace(/\\.|\//gs, (one) => (one === "/" ? "\\/" : one));

function unquoted(quoted: string): string {
  try {
    return JSON.parse(quoted);
  } catch {
    throw badInput(
      `locator: expected a text in quotes as JSON has it, got ${jsonLine(quoted.slice(0, 100))}`,
    );
  }
}

const wrong = (line: string, why: string) =>
  badInput(
    `locator: expected such as button "Save" window "Order", got ${jsonLine(line.slice(0, 200))}: ${why}`,
  );

/** Whether a word of a locator is a state, such as `checked`. */
export const isState = (word: string): word is State => STATES.some((state) => state === word);

type Draft = { -readonly [N in keyof Locator]: Locator[N] };

/** The locator that a line says. @throws a `bad_input` failure that says what is wrong. */
export function parseLocator(line: string): Locator {
  if (line.length > MAX_LINE)
    throw badInput(`locator: expected at most ${MAX_LINE} characters, got ${line.length}`);
  const tokens = tokensOf(line);
  let at = 0;
  const peek = () => tokens[at];
  const text = (after: string) => {
    const token = tokens[at++];
    if (token === undefined || !("text" in token)) throw wrong(line, `a text in quotes comes after ${after}`);
    if (token.text.length > MAX_NAME) throw wrong(line, `a text has at most ${MAX_NAME} characters`);
    return token.text;
  };
  const set = <N extends keyof Draft>(draft: Draft, name: N, value: Draft[N]) => {
    if (draft[name] !== undefined) throw wrong(line, `${name} is there twice`);
    draft[name] = value;
  };
  const attribute = (draft: Draft, word: string, depth: number) => {
    if (word === "contains") {
      set(draft, "name", text(word));
      draft.exact = false;
    } else if (word === "window" || word === "app") set(draft, word, text(word));
    else if (word === "within") set(draft, "within", one(depth + 1));
    else if (word === "nth") {
      const token = tokens[at++];
      const count = token !== undefined && "count" in token ? token.count : 0;
      if (count < 1 || count > MAX_NTH) throw wrong(line, `nth is from 1 to ${MAX_NTH}`);
      set(draft, "nth", count);
    } else if (word === "not") {
      const token = tokens[at++];
      if (token === undefined || !("word" in token) || !isState(token.word))
        throw wrong(line, `one of ${STATES.join(", ")} comes after not`);
      set(draft, token.word, false);
    } else if (isState(word)) set(draft, word, true);
    else throw wrong(line, `${jsonLine(word)} has no meaning there`);
  };
  /** As many words as are a role: `push button` are two. */
  const role = (): string | undefined => {
    const words: string[] = [];
    for (let token = peek(); token && "word" in token; token = peek()) {
      // The first `window` is a role, any other begins a title.
      if (KEYWORDS.includes(token.word) || (words.length > 0 && token.word === "window")) break;
      words.push(token.word);
      if (words.length > MAX_WORDS) throw wrong(line, `${jsonLine(words.join(" "))} begins no role`);
      at++;
    }
    return words.length > 0 ? knownRole(words.join(" ")) : undefined;
  };
  const one = (depth: number): Locator => {
    if (depth > MAX_DEPTH) throw wrong(line, `at most ${MAX_DEPTH} elements are within each other`);
    const draft: Draft = {};
    const named = role();
    if (named !== undefined) draft.role = named;
    for (let token = peek(); token; token = peek()) {
      if ("text" in token) set(draft, "name", text("a role"));
      else if ("pattern" in token) {
        at++;
        set(draft, "pattern", token.pattern);
      } else if ("word" in token) {
        at++;
        attribute(draft, token.word, depth);
      } else throw wrong(line, `${token.count} has no meaning there`);
    }
    if (draft.role === undefined && draft.name === undefined && draft.pattern === undefined)
      throw wrong(line, "a role or a name is missing");
    return draft;
  };
  return one(1);
}

const KEYWORDS = ["contains", "app", "within", "nth", "not", ...STATES];

/** The locator in one line; {@link parseLocator} reads it. */
export function printLocator(locator: Locator): string {
  const { role, name, pattern, exact = true, window, app, within, nth } = locator;
  const states = STATES.flatMap((state) => {
    const wanted = locator[state];
    return wanted === undefined ? [] : [wanted ? state : `not ${state}`];
  });
  return [
    ...(role === undefined ? [] : [role]),
    ...(name === undefined ? [] : [exact ? jsonLine(name) : `contains ${jsonLine(name)}`]),
    ...(pattern === undefined ? [] : [`/${escaped(pattern)}/`]),
    ...states,
    ...(nth === undefined ? [] : [`nth ${nth}`]),
    ...(app === undefined ? [] : [`app ${jsonLine(app)}`]),
    ...(window === undefined ? [] : [`window ${jsonLine(window)}`]),
    ...(within === undefined ? [] : [`within ${printLocator(within)}`]),
  ].join(" ");
}
