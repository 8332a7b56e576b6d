/**
 * What can be done with an element by its program alone, one deed after the other: no pointer moves and no key is pressed, as a lease for
 * elements lends neither.
 */
import { badInput, Failure, failureOf, final, timedOut } from "../../../lib/errors";
import { jsonLine } from "../../../lib/sanitize";
import type { Element } from "./calls";
import { type Elements, untilUsable, type WaitLimit, waitForUsable, whyUnusable } from "./elements";
import { parseLocator } from "./locator";
import { becomesChecked, becomesFocused, mustBeBox } from "./real";
import { REFERENCE, type Snapshots, stale, wordedReference } from "./snapshots";

/** What can be done. */
export const DEEDS = ["press", "set_text", "check", "uncheck", "focus"] as const;

/** One deed. */
export interface ActStep {
  readonly do: (typeof DEEDS)[number];
  /** A reference of a snapshot, or a locator in one line. */
  readonly element: string;
  /** For `set_text`. */
  readonly text?: string | undefined;
}

/** Is called before a step with its element; what it returns, once the step is done. */
export type Remember = (element: Element, step: ActStep) => Promise<() => void>;

/**
 * Does the steps in their order.
 *
 * @returns what each was done to, in words.
 * @throws with the number of the step that failed; those before it are done.
 */
export async function act(
  elements: Elements,
  snapshots: Snapshots,
  steps: readonly ActStep[],
  waiting: WaitLimit,
  remember: Remember = async () => () => {},
): Promise<string[]> {
  const words: string[] = [];
  for (const [at, step] of steps.entries()) {
    let hasBegun = false;
    try {
      const element = REFERENCE.test(step.element)
        ? await usableByReference(elements, snapshots, step.element, waiting)
        : await waitForUsable(elements, parseLocator(step.element), waiting);
      const done = await remember(element, step);
      await requireFit(elements, element, step);
      hasBegun = true;
      await perform(elements, element, step, waiting.signal);
      done();
      words.push(`${step.do} ${element.role} ${jsonLine(element.name.slice(0, 100))}`);
    } catch (error) {
      const failure = failureOf(error);
      if (!failure) throw error;
      const said = doneBefore(at, hasBegun && !failure.hasDoneNothing);
      throw new Failure(
        failure.code,
        `step ${at + 1} of ${steps.length}: ${failure.message} (${said})`,
        failure.more,
      );
    }
  }
  return words;
}

/** What is done where a step fails, in words. @param at how many steps come before it. @param isUnsure whether it may have done something itself. */
function doneBefore(at: number, isUnsure: boolean): string {
  const before = at === 0 ? [] : [`the ${at} before it ${at === 1 ? "is" : "are"} done`];
  if (isUnsure) return [...before, "it may have done something itself"].join(", and ");
  return before[0] ?? "nothing is done";
}

/** The element of a reference, once it is visible, enabled, and has not moved. */
async function usableByReference(
  elements: Elements,
  snapshots: Snapshots,
  reference: string,
  waiting: WaitLimit,
): Promise<Element> {
  const known = snapshots.resolve(reference);
  let last: Element | undefined;
  const usable = await untilUsable(
    waiting,
    async () => {
      last = await elements.look(known.native_id).catch((error) => {
        throw failureOf(error)?.code === "not_found" ? stale(reference, "it has gone") : error;
      });
      // The program gave its place to something else.
      if (last.native_role !== known.native_role) throw stale(reference, "it has gone");
      return last;
    },
    async () => {
      const why = last ? whyUnusable(last) : "is not there";
      return timedOut(`${wordedReference(reference, known)} ${why} after ${waiting.timeout} s`);
    },
  );
  return { ...known, ...stateOf(usable) };
}

const stateOf = ({ checked, focused, expanded, selected, bounds, center }: Element) => ({
  checked,
  focused,
  expanded,
  selected,
  bounds,
  center,
});

/** @throws `rejected` for a box that is none, `bad_input` without the text: nothing is done then. */
async function requireFit(elements: Elements, element: Element, { do: deed, text }: ActStep): Promise<void> {
  if (deed === "set_text" && text === undefined) throw badInput("text: expected with set_text");
  if (deed === "check" || deed === "uncheck") await mustBeBox(elements, element);
}

async function perform(
  elements: Elements,
  element: Element,
  { do: deed, text = "" }: ActStep,
  signal: AbortSignal,
): Promise<void> {
  const id = element.native_id;
  if (deed === "focus") return giveFocus(elements, element, signal);
  if (deed === "press") return elements.press(id);
  if (deed === "set_text") return elements.setText(id, text);
  return setChecked(elements, element, deed === "check", signal);
}

/** Gives an element the focus. @throws `unavailable` where its program does not, or something else has it then. */
export async function giveFocus(elements: Elements, element: Element, signal: AbortSignal): Promise<void> {
  await elements.focus(element.native_id);
  await becomesFocused(elements, element, signal);
}

/** Presses a box that is not as it is to be. @throws `rejected` where it is no box, or that did not change it. */
export async function setChecked(
  elements: Elements,
  element: Element,
  on: boolean,
  signal: AbortSignal,
): Promise<void> {
  await mustBeBox(elements, element);
  if (element.checked === on) return;
  await elements.press(element.native_id);
  await becomesChecked(elements, element, on, "pressed", signal).catch((error) => {
    // It was pressed, whatever hinders the look.
    throw final(error);
  });
}
