/**
 * What is done with elements by their programs, and what they hold: AT-SPI2 and UI Automation each have their own way.
 *
 * What was to change is looked at afterwards: an answer of true proves nothing. Promise: {@link untouched} is only what a program has nothing
 * for, and a field of text that holds what it held before.
 */
import { sleep } from "../../../lib/deadline";
import { type Failure, unavailable, untouched } from "../../../lib/errors";
import type { Questions } from "./accessible";
import type { Content, TableText } from "./calls";
import { COMBO_BOX } from "./labels";
import type { Ref } from "./ref";
import { PASSWORD } from "./roles";
import { STATE } from "./said";

/** Each as the call of the same name (`calls.ts`), and with its failures. Nothing is read of what is secret. */
export interface Deeds {
  press(ref: Ref): Promise<void>;
  focus(ref: Ref): Promise<void>;
  setText(ref: Ref, text: string): Promise<void>;
  read(ref: Ref): Promise<Content>;
  select(ref: Ref, item: string | undefined): Promise<void>;
  expand(ref: Ref, open: boolean): Promise<void>;
  scrollTo(ref: Ref): Promise<void>;
  table(ref: Ref, first: number, most: number): Promise<TableText>;
  /** @param column from 1, or its name. */
  cell(ref: Ref, row: number, column: number | string): Promise<Ref>;
}

/** How long a program may take to show what it did, and the text that it says it took. */
const SETTLE_MS = 2_500;
export const SHOWS_MS = 1_000;
const POLL_MS = 25;

/** Whether it comes true within `ms`. */
export async function comes(look: () => Promise<boolean>, ms = SETTLE_MS): Promise<boolean> {
  const end = performance.now() + ms;
  for (;;) {
    if (await look()) return true;
    if (performance.now() > end) return false;
    await sleep(POLL_MS, undefined);
  }
}

/** Fields of text: password text, spin button, text, autocomplete, edit bar, entry, and combo boxes that have one. */
const FIELDS: ReadonlySet<number> = new Set([COMBO_BOX, PASSWORD, 52, 61, 76, 77, 79]);

/** Whether it is a field of text that takes some: what else is clicked is pressed, and keys there go to all that is around it. */
export const isField = async (ask: Pick<Questions, "role" | "states">, ref: Ref): Promise<boolean> =>
  FIELDS.has(await ask.role(ref)) && (await ask.states(ref))(STATE.editable);

/** That a text is not put in place, and the element is as it was: what a text may be typed into is {@link untouched}. */
export const notTaken = (why: string, mayBeTyped: boolean): Failure =>
  mayBeTyped ? untouched(`${why}: type it (AC_type_in_element)`) : unavailable(why);

/** What a program has said of a text that its field does not hold. */
export const SAYS_TAKEN = "the program says that it took the text, and does not hold it";

/**
 * That a field holds another text than was put into it. Of what it holds nothing is said: what goes into fields is kept out of logs.
 *
 * @param now what it holds that everybody may see; else nothing.
 */
export function otherText(now: string | null | undefined, text: string): Failure {
  const taken = "the program was given the text, and does not hold it";
  if (typeof now !== "string") return unavailable(taken);
  const [is, was] = [[...now].length, [...text].length];
  return unavailable(
    `${taken}: it holds another one, of ${is} characters in place of ${was} (AC_read_element reads it)`,
  );
}
