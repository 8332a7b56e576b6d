/**
 * The names and the states that elements have. Apart from what asks for them, whose library for D-Bus takes a command 8 ms to load.
 */
import { MAX_NAME } from "./locator";

/** The numbers of states (`AtspiStateType`). */
export const STATE = {
  checked: 4,
  editable: 7,
  enabled: 8,
  expandable: 9,
  expanded: 10,
  focusable: 11,
  focused: 12,
  pressed: 20,
  selectable: 22,
  selected: 23,
  sensitive: 24,
  showing: 25,
  visible: 30,
  checkable: 41,
} as const;

/** White space at the ends and in rows says nothing: many programs pad their names. */
export const normalized = (text: string): string =>
  text
    .slice(0, MAX_NAME * 2)
    .replaceAll(/\s+/g, " ")
    .trim();
