/** Less than an agent has asked for. */
import { badInput } from "../../lib/errors";
import type { Narrower, Terms } from "./lease";

/** The terms with what a person leaves of them. @throws a `bad_input` failure for more than was asked for. */
export function narrowed(terms: Terms, { minutes, actions, windows, programs }: Narrower): Terms {
  return {
    ...terms,
    minutes: Math.min(terms.minutes, minutes ?? terms.minutes),
    actions: Math.min(terms.actions, actions ?? terms.actions),
    windows: within("windows", terms.windows, windows, (title, asked) => title.includes(asked)),
    programs: within("programs", terms.programs, programs, (name, asked) => name === asked),
  };
}

/** What is left of a list of which none means all. @throws `bad_input` for what was not asked for. */
function within(
  what: string,
  asked: readonly string[],
  given: readonly string[] | undefined,
  isPart: (one: string, asked: string) => boolean,
): string[] {
  if (given === undefined) return [...asked];
  const odd = given.find((one) => !asked.some((known) => isPart(one, known)));
  if (asked.length > 0 && (odd !== undefined || given.length === 0))
    throw badInput(`${what}: expected some of those that were asked for: ${asked.join(", ")}`);
  return [...given];
}
