/**
 * Patterns that a text on the screen has to fit: those of RE2 (https://github.com/google/re2/wiki/Syntax), which take time in
 * proportion to the text.
 */
import { RE2JS, RE2JSSyntaxException } from "re2js";
import { badInput } from "../../../lib/errors";
import { repeatsTooMuch } from "../../../lib/pattern-repeats";
import type { Range } from "./find";

/** The longest pattern, in characters, and the most instructions that it becomes: one of `(x{1000}){9}` is long too. */
const MAX_PATTERN = 500;
const MAX_INSTRUCTIONS = 2_000;

/**
 * Finds a pattern in a line.
 *
 * @param of begins the message of a failure: what the pattern is.
 * @returns where it is, from left to right, without places of no character.
 * @throws a `bad_input` failure where the pattern is none.
 */
export function createPattern(
  pattern: string,
  caseSensitive: boolean,
  of = "text: with match regex, ",
): (line: string) => Range[] {
  const wrong = (expected: string) => badInput(`${of}expected ${expected}`);
  if (pattern.length > MAX_PATTERN) throw wrong(`a pattern of at most ${MAX_PATTERN} characters`);
  const tooLarge = () => wrong("a smaller pattern: this one repeats too much");
  if (repeatsTooMuch(pattern)) throw tooLarge();
  const compiled = compile(pattern, caseSensitive);
  if (typeof compiled === "string") throw wrong(`a pattern as RE2 has them: ${compiled}`);
  if (compiled.programSize() > MAX_INSTRUCTIONS) throw tooLarge();
  return (line) => {
    const found: Range[] = [];
    const matcher = compiled.matcher(line);
    while (matcher.find()) {
      if (matcher.end() > matcher.start()) found.push([matcher.start(), matcher.end()]);
    }
    return found;
  };
}

/** @returns what is wrong with it where it is no pattern. */
function compile(pattern: string, caseSensitive: boolean): RE2JS | string {
  try {
    return RE2JS.compile(pattern, caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) return error.getDescription();
    throw error;
  }
}
