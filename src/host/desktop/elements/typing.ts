/**
 * Typing into fields by the keyboard, as a person does it.
 *
 * Promise: a secret goes to the field that its program says has the focus, or nowhere; and neither that, nor what a program was to put in
 * place, nor what goes into a field on no screen is typed where the window of another program has the keyboard.
 */
import { failureOf, rejected, unavailable } from "../../../lib/errors";
import { jsonLine } from "../../../lib/sanitize";
import type { DesktopWindow } from "../backend";
import type { Element } from "./calls";
import { becomesFocused, comes, focusOn, type Hands, shown } from "./real";

/**
 * Gives an element the keys: by a click once it is on the screen, else by its program, where its window has the keyboard.
 *
 * @throws `unavailable` where it cannot be shown, and another window has the keyboard, or nobody says which.
 */
async function giveKeys(hands: Hands, element: Element): Promise<void> {
  const { desktop, requester } = hands;
  // A cell of a sheet does not scroll, and comes to the screen by the focus.
  const there = isOfSheet(element)
    ? element
    : await shown(desktop.elements, element).catch((error) => {
        if (failureOf(error)?.code !== "unavailable") throw error;
        return element;
      });
  await focusOn(hands, there);
  const isClicked = there.showing && there.center !== null;
  // Wayland says of no window whose it is.
  if (isClicked || (await desktop.session(requester)).system === "wayland") return;
  const focused = (await desktop.windows(requester))?.find((window) => window.focused);
  if (focused && focused.pid !== null && focused.pid === element.process_id) return;
  const whose = focused ? `, and the window ${jsonLine(focused.title)} has the keyboard` : "";
  throw unavailable(`it cannot be brought to the screen${whose}: nothing is typed`);
}

/** The window of another program that has the keyboard, where that of the element has windows too: else nobody knows whose is whose. */
async function otherWindow(
  { desktop, requester }: Hands,
  { process_id }: Element,
): Promise<DesktopWindow | undefined> {
  const windows = (await desktop.windows(requester)) ?? [];
  if (process_id === null || !windows.some(({ pid }) => pid === process_id)) return undefined;
  return windows.find(({ focused, pid }) => focused && pid !== null && pid !== process_id);
}

/**
 * Waits until keys go to an element, as far as anybody says.
 *
 * @throws `unavailable` where they go elsewhere; for a secret, also where its program does not say that it has the focus.
 */
async function requireKeys(hands: Hands, element: Element): Promise<void> {
  const { signal } = hands.waiting;
  await becomesFocused(hands.desktop.elements, element, signal, { mustSay: element.secret });
  let other: DesktopWindow | undefined;
  const hasKeys = async () => {
    other = await otherWindow(hands, element);
    return other === undefined;
  };
  if (!(await comes(hasKeys, signal)))
    throw unavailable(`the window ${jsonLine(other?.title ?? "")} has the keyboard: nothing is typed`);
}

const isOfSheet = ({ app_name, role }: Element) => app_name === "soffice" && role === "cell";

/** What a click only gives the focus, and in which Ctrl+A selects all that is around it. */
const WHOLE: ReadonlySet<string> = new Set(["document", "paragraph", "cell"]);

/**
 * Types a text in place of what a field holds, or after the focus (`add`).
 *
 * @param options.isFallback whether its program was to do it: it is typed only where nothing else has the focus or the keyboard.
 * @throws `unavailable` where it holds another then; for a secret, where nobody says that the field has the focus. Nothing is typed then.
 */
export async function typeInto(
  hands: Hands,
  element: Element,
  text: string,
  { add = false, isFallback = false } = {},
): Promise<void> {
  const { desktop, requester } = hands;
  // In a sheet, Ctrl+A would select all cells, and what is typed is in the cell once it is left.
  const isSheet = isOfSheet(element);
  if (!add && !isSheet && WHOLE.has(element.role))
    throw rejected(
      `what a ${element.role} holds cannot be selected by keys alone: AC_type_in_element with "add": true types into it`,
    );
  await giveKeys(hands, element);
  if (element.secret || isFallback) await requireKeys(hands, element);
  if (!add && !isSheet) await desktop.strike(["ctrl", "a"], "tap", requester);
  if (text === "") await desktop.strike(["delete"], "tap", requester);
  else await desktop.type(text, requester);
  if (isSheet) await desktop.strike(["enter"], "tap", requester);
  if (element.secret || add) return;
  const isThere = async () => {
    const { text: now, number } = await desktop.elements.read(element.native_id);
    // A cell shows what a formula comes to, and a number in its format.
    if (isSheet) return (now === "") === (text === "");
    if (now === null) return number === null || number === Number(text);
    return now.trimEnd() === text.trimEnd();
  };
  if (!(await comes(isThere, hands.waiting.signal)))
    throw unavailable("the text was typed, and the field holds another: it may have lost the focus");
}
