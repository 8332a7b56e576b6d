/**
 * What an element says of itself: the properties that are asked for together, as plain values.
 *
 * The text of a field is none of them: which field is secret is known only afterwards.
 */
import type { Rect } from "../../geometry";
import { MAX_NAME } from "../locator";
import type { Face } from "./com";
import { ELEMENT, PROPERTY } from "./ids";
import type { Value } from "./values";

/** What is known of an element at a moment. */
export interface Facts {
  /** Its name as long as it lives; empty where it has none. */
  readonly id: readonly number[];
  readonly type: number;
  /** As the program has it, with blanks; empty for a secret field whose name may be its text. */
  readonly name: string;
  /** Undefined where it is on no screen. */
  readonly bounds: Rect | undefined;
  /** The window that it is itself, where it is one. */
  readonly window: number;
  readonly className: string;
  readonly framework: string;
  /** What a browser says that its role is, in words of ARIA; empty elsewhere. */
  readonly aria: string;
  readonly isSecret: boolean;
  readonly isEnabled: boolean;
  readonly isOffscreen: boolean;
  readonly isFocused: boolean;
  readonly isFocusable: boolean;
  readonly isSelected: boolean;
  readonly isModal: boolean;
  readonly isDialog: boolean;
  /** ToggleState: off, on, neither; undefined where it has none. */
  readonly toggle: number | undefined;
  /** ExpandCollapseState: closed, open, partly, leaf; undefined where it has none. */
  readonly expand: number | undefined;
  readonly isReadOnly: boolean | undefined;
  readonly hasSelection: boolean;
  readonly hasSelectionItem: boolean;
  readonly isGridItem: boolean;
}

/** The properties that {@link factsOf} reads: those that a system does not know are left out of a request. */
export const ASKED: readonly number[] = [
  ...[PROPERTY.runtimeId, PROPERTY.bounds, PROPERTY.controlType, PROPERTY.name],
  ...[PROPERTY.hasFocus, PROPERTY.isFocusable, PROPERTY.isEnabled, PROPERTY.className, PROPERTY.isPassword],
  ...[PROPERTY.window, PROPERTY.isOffscreen, PROPERTY.framework, PROPERTY.hasExpandCollapse],
  ...[PROPERTY.isGridItem, PROPERTY.hasSelectionItem, PROPERTY.hasSelection, PROPERTY.hasToggle],
  ...[PROPERTY.hasValue, PROPERTY.isReadOnly, PROPERTY.expandState, PROPERTY.isModal, PROPERTY.isSelected],
  ...[PROPERTY.toggleState, PROPERTY.ariaRole, PROPERTY.isDialog],
];

/** The longest text of a property, in characters. */
const MAX_TEXT = 2 * MAX_NAME;
const CUSTOM = 50_025;
/** Frameworks whose fields may be named by the text of their window (`WM_GETTEXT`): that of an edit box is what is in it. */
const NAMED_BY_WINDOW: ReadonlySet<string> = new Set(["", "Win32", "WinForm"]);

/** The facts of an element that was read with a request for {@link ASKED}. */
export function factsOf(element: Face): Facts {
  const read = (property: number): Value => {
    try {
      // The second one says that a default value is none. Wine has this method, and not the one without "Ex".
      return element.value(MAX_TEXT, ELEMENT.getCachedPropertyValueEx, ["i32", "i32"], property, 1);
    } catch {
      // Not in the request, as this system does not know it.
      return undefined;
    }
  };
  const whole = (property: number) => numberIn(read(property));
  const flag = (property: number, otherwise = false) => {
    const value = read(property);
    return typeof value === "boolean" ? value : otherwise;
  };
  const text = (property: number) => {
    const value = read(property);
    return typeof value === "string" ? value : "";
  };
  const [isSecret, framework] = [flag(PROPERTY.isPassword), text(PROPERTY.framework)];
  return {
    id: numbersIn(read(PROPERTY.runtimeId)),
    type: whole(PROPERTY.controlType) ?? CUSTOM,
    name: isSecret && NAMED_BY_WINDOW.has(framework) ? "" : text(PROPERTY.name),
    bounds: rectIn(read(PROPERTY.bounds)),
    window: whole(PROPERTY.window) ?? 0,
    className: text(PROPERTY.className),
    framework,
    aria: text(PROPERTY.ariaRole),
    isSecret,
    isEnabled: flag(PROPERTY.isEnabled, true),
    isOffscreen: flag(PROPERTY.isOffscreen),
    isFocused: flag(PROPERTY.hasFocus),
    isFocusable: flag(PROPERTY.isFocusable),
    isSelected: flag(PROPERTY.isSelected),
    isModal: flag(PROPERTY.isModal),
    isDialog: flag(PROPERTY.isDialog),
    toggle: flag(PROPERTY.hasToggle) ? whole(PROPERTY.toggleState) : undefined,
    expand: flag(PROPERTY.hasExpandCollapse) ? whole(PROPERTY.expandState) : undefined,
    isReadOnly: flag(PROPERTY.hasValue) ? flag(PROPERTY.isReadOnly) : undefined,
    hasSelection: flag(PROPERTY.hasSelection),
    hasSelectionItem: flag(PROPERTY.hasSelectionItem),
    isGridItem: flag(PROPERTY.isGridItem),
  };
}

const numberIn = (value: Value) => (typeof value === "number" ? value : undefined);
const numbersIn = (value: Value) => (typeof value === "object" ? value : []);

/** Left, top, width and height, in pixels of the screen for a process that knows of each monitor's scale. */
export function rectIn(value: Value): Rect | undefined {
  const [x, y, width, height] = numbersIn(value).map(Math.round);
  if (x === undefined || y === undefined || !width || !height) return undefined;
  return width > 0 && height > 0 ? { x, y, width, height } : undefined;
}
