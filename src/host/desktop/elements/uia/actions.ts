/**
 * What is done with elements by the patterns of UI Automation.
 *
 * A pattern is asked for where it is used. A call that opens a dialog may be answered only once that is closed: it fails after the time that
 * `automation.ts` sets, and the window that has come says that it was done.
 */
import { invoke, remote } from "../../../../lib/child";
import {
  type Failure,
  failureOf,
  final,
  rejected,
  timedOut,
  unavailable,
  untouched,
} from "../../../../lib/errors";
import { orElse } from "../../../../lib/or-else";
import type { Content } from "../calls";
import { comes, type Deeds, isField, notTaken, otherText, SAYS_TAKEN, SHOWS_MS } from "../deeds";
import { ITEMS, type ItemSearch, itemOf, wordsOf } from "../items";
import { gone, type Ref } from "../ref";
import { normalized, STATE } from "../said";
import { cellOf, readTable, type Table } from "../tables";
import type { Parts } from "./accessible";
import type { PatternName, ReadElement } from "./automation";
import { ComFailure, type Face, RESULT, unlessResult } from "./com";
import { ARRAY, ELEMENT, PATTERN, PROPERTY, TEXT_RANGE } from "./ids";
import { windowOf } from "./store";

/** The longest text that is read, and that of a cell, in characters. */
const MAX_TEXT = 100_000;
const MAX_CELL = 10_000;
/** ExpandCollapseState. */
const [COLLAPSED, LEAF] = [0, 3];
/** How many elements in one are asked whether they have the focus. */
const MAX_INSIDE = 100;
/** What a program answers that has no such method, so that nothing was done. After anything else it may have done something. */
const LACKING: readonly number[] = [RESULT.notImplemented, RESULT.notSupported];
/** Patterns of which one method is what a press does, the first that an element has. */
const PRESSES = [
  ["invoke", PATTERN.invoke.invoke],
  ["toggle", PATTERN.toggle.toggle],
  ["selectionItem", PATTERN.selectionItem.select],
] as const;

interface Hands extends Parts, ItemSearch {
  /** @throws `not_found` where it has gone. */
  now(ref: Ref): ReadElement;
  /** A pattern of an element; undefined where it has none. @throws as `now`. */
  pattern(ref: Ref, name: PatternName): Face | undefined;
}

export function deedsOf(given: Parts & ItemSearch): Deeds {
  const { ask, automation, store } = given;
  const now = (ref: Ref): ReadElement => {
    const read = store.now(ref);
    if (!read) throw gone();
    return read;
  };
  const hands: Hands = { ...given, now, pattern: (ref, name) => automation.pattern(now(ref).face, name) };
  const own: Deeds = {
    press: (ref) => press(hands, ref),
    focus: (ref) => focus(hands, ref),
    setText: (ref, text) => setText(hands, ref, text),
    read: async (ref) => contentOf(hands, ref),
    select: (ref, item) => select(hands, ref, item),
    expand: (ref, open) => expand(hands, ref, open),
    async scrollTo(ref) {
      const isThere = async () => (await ask.states(ref))(STATE.showing);
      if (await isThere()) return;
      using scroll = hands.pattern(ref, "scrollItem");
      scroll?.call(PATTERN.scrollItem.scrollIntoView);
      if (!scroll || !(await comes(isThere))) throw unavailable("the program did not scroll to it");
    },
    table: async (ref, first, most) => readTable(ask, tableOf(hands, ref), first, most),
    cell: async (ref, row, column) => cellOf(ask, tableOf(hands, ref), row, column),
  };
  return remote<Deeds>(async (method, args) => {
    try {
      return await invoke(own, method, args);
    } catch (error) {
      throw error instanceof ComFailure ? worded(error) : error;
    }
  });
}

/** What a method answered, as a failure. */
function worded({ result, message }: ComFailure) {
  switch (result) {
    case RESULT.elementGone:
      return gone();
    case RESULT.elementNotEnabled:
      return unavailable("it is not enabled");
    case RESULT.accessDenied:
      return unavailable("Windows refused it: its program may run with more rights than svc");
    case RESULT.timeout:
      return timedOut("the program does not answer");
    default:
      return unavailable(`its program refused it (${message})`);
  }
}

/** What a method answers; undefined where the program has no such method. @throws {@link ComFailure} with what else it answers. */
const ifOffered = <T>(ask: () => T): T | undefined => unlessResult(LACKING, ask);

/** Has a program do something. @returns whether it has a method for it. @throws as {@link ifOffered}. */
const isOffered = (deed: () => void): boolean =>
  ifOffered(() => {
    deed();
    return true;
  }) ?? false;

async function press(hands: Hands, ref: Ref): Promise<void> {
  const { hwnd, pid } = windowOf(ref);
  const windows = () => hands.desk.windows().flatMap((one) => (one.pid === pid ? [one.hwnd] : []));
  const before = new Set(windows());
  const act = (face: Face, index: number): boolean => {
    try {
      return isOffered(() => face.call(index));
    } catch (error) {
      // A dialog that it opened keeps it from answering, and so does a window that it closed.
      const now = windows();
      if (!now.includes(hwnd) || now.some((one) => !before.has(one))) return true;
      if (error instanceof ComFailure && error.result === RESULT.timeout)
        throw timedOut(
          "it was pressed, and its program neither answers nor opens a window: look at what it shows",
        );
      throw error;
    }
  };
  for (const [name, index] of PRESSES) {
    using face = hands.pattern(ref, name);
    if (face && act(face, index)) return;
  }
  using opens = hands.pattern(ref, "expandCollapse");
  const { getCurrentState, expand: open, collapse } = PATTERN.expandCollapse;
  const state = opens?.whole(getCurrentState);
  if (opens && state !== LEAF && act(opens, state === COLLAPSED ? open : collapse)) return;
  using legacy = hands.pattern(ref, "legacy");
  const { getCurrentDefaultAction, doDefaultAction } = PATTERN.legacy;
  const byDefault = ifOffered(() => legacy?.text(100, getCurrentDefaultAction));
  if (legacy && byDefault && act(legacy, doDefaultAction)) return;
  hands.now(ref);
  throw untouched("by its program it cannot be pressed");
}

async function focus({ ask, look, now }: Hands, ref: Ref): Promise<void> {
  if (!isOffered(() => now(ref).face.call(ELEMENT.setFocus)))
    throw untouched("by its program it cannot be focused");
  const isFocused = async (one: Ref) => (await ask.states(one))(STATE.focused);
  const hasFocus = async () => {
    if (await isFocused(ref)) return true;
    // A list gives it to a row.
    return (await Promise.all((await look.below(ref, undefined, MAX_INSIDE)).map(isFocused))).includes(true);
  };
  if (!(await comes(hasFocus))) throw unavailable("the program did not focus it");
}

async function setText(hands: Hands, ref: Ref, text: string): Promise<void> {
  using value = hands.pattern(ref, "value");
  if (!value) return setNumber(hands, ref, text);
  const { getCurrentValue, getCurrentIsReadOnly } = PATTERN.value;
  if (value.whole(getCurrentIsReadOnly) !== 0) throw unavailable("its program lets it only be read");
  const { isSecret } = hands.now(ref).facts;
  // What a secret field holds is not asked for, also not to compare it.
  const held = () => (isSecret ? undefined : value.text(MAX_TEXT, getCurrentValue));
  const before = held();
  if (!isOffered(() => hands.automation.setValue(value, text)))
    throw await refusal(hands, ref, "by its program it takes no text");
  let now = before;
  const isThere = async () => {
    now = held();
    return now === undefined || isSame(now, text);
  };
  if (await comes(isThere, SHOWS_MS)) return;
  throw now === before ? await refusal(hands, ref, SAYS_TAKEN) : otherText(now, text);
}

/** Why a text is not put in place. @throws `not_found` where it has gone. */
async function refusal({ ask, now }: Hands, ref: Ref, why: string): Promise<Failure> {
  now(ref);
  return notTaken(why, await isField(ask, ref));
}

/** Fields of several lines end them as Windows does. */
const isSame = (one: string, other: string) =>
  one.replaceAll(/\r\n?/g, "\n") === other.replaceAll(/\r\n?/g, "\n");

async function setNumber(hands: Hands, ref: Ref, text: string): Promise<void> {
  using range = hands.pattern(ref, "rangeValue");
  if (!range) throw await refusal(hands, ref, "by its program it takes no text");
  const wanted = Number(text);
  if (text.trim() === "" || !Number.isFinite(wanted))
    throw rejected("it holds a number, and the text is none");
  const { setValue, getCurrentValue } = PATTERN.rangeValue;
  if (!isOffered(() => range.call(setValue, ["f64"], wanted)))
    throw await refusal(hands, ref, "by its program it takes no number");
  if (!(await comes(async () => Math.abs(range.real(getCurrentValue) - wanted) <= 1e-6)))
    throw rejected("the program holds another number then");
}

/** What it holds; nothing of what is secret. */
function contentOf(hands: Hands, ref: Ref): Content {
  const { facts } = hands.now(ref);
  if (facts.isSecret) return { text: null, number: null };
  using range = hands.pattern(ref, "rangeValue");
  const said = range && orElse(() => range.real(PATTERN.rangeValue.getCurrentValue), undefined);
  const number = said !== undefined && Number.isFinite(said) ? said : null;
  using value = hands.pattern(ref, "value");
  if (value) return { text: value.text(MAX_TEXT, PATTERN.value.getCurrentValue), number };
  using text = hands.pattern(ref, "text");
  using whole = text?.object(PATTERN.text.getDocumentRange);
  if (whole) return { text: whole.text(MAX_TEXT, TEXT_RANGE.getText, ["i32"], MAX_TEXT), number };
  return { text: number === null ? facts.name : null, number };
}

/**
 * Selects an element, or the item of that name in it: many combo boxes have none before their list is open, and it is closed again.
 *
 * @throws `not_found` with the nearest name, or where it has gone; {@link untouched} where its program has nothing that selects it, and no list
 * was opened; `rejected` where that was asked, and it is not selected.
 */
async function select(hands: Hands, ref: Ref, item: string | undefined): Promise<void> {
  if (item === undefined) return choose(hands, ref, async () => false);
  using opens = hands.pattern(ref, "expandCollapse");
  const { getCurrentState, expand: open, collapse } = PATTERN.expandCollapse;
  const isOpened = opens?.whole(getCurrentState) === COLLAPSED && isOffered(() => opens?.call(open));
  try {
    if (isOpened) await comes(async () => (await hands.look.below(ref, ITEMS, 1)).length > 0);
    const holdsIt = async () => normalized(contentOf(hands, ref).text ?? "") === normalized(item);
    await choose(hands, await itemOf(hands, ref, item), holdsIt);
  } catch (error) {
    throw isOpened ? final(error) : error;
  } finally {
    if (isOpened) orElse(() => opens?.call(collapse), undefined);
  }
}

/** Selects an element. @param holdsIt whether what it is in says that it is. */
async function choose(hands: Hands, wanted: Ref, holdsIt: () => Promise<boolean>): Promise<void> {
  const isDone = async () => (await hands.ask.states(wanted))(STATE.selected) || holdsIt();
  if (await isDone()) return;
  using selects = hands.pattern(wanted, "selectionItem");
  const { select: choice } = PATTERN.selectionItem;
  if (!selects || !isOffered(() => selects.call(choice)))
    await press(hands, wanted).catch((error) => {
      throw failureOf(error)?.isUntouched ? untouched("by its program it cannot be selected") : error;
    });
  if (!(await comes(isDone))) throw rejected("the program was asked to, and did not select it");
}

async function expand({ ask, pattern }: Hands, ref: Ref, open: boolean): Promise<void> {
  const isDone = async () => (await ask.states(ref))(STATE.expanded) === open;
  if (await isDone()) return;
  using opens = pattern(ref, "expandCollapse");
  opens?.call(open ? PATTERN.expandCollapse.expand : PATTERN.expandCollapse.collapse);
  if (!opens || !(await comes(isDone)))
    throw unavailable(`the program did not ${open ? "open" : "close"} it`);
}

/** @throws `unavailable` where it is no table. */
function tableOf(hands: Hands, ref: Ref): Table {
  using grid = hands.pattern(ref, "grid");
  if (!grid) throw unavailable("by its program it is no table");
  return {
    ref,
    rows: grid.whole(PATTERN.grid.getCurrentRowCount),
    columns: grid.whole(PATTERN.grid.getCurrentColumnCount),
    async headers(count) {
      using table = hands.pattern(ref, "table");
      using all = table && orElse(() => table.object(PATTERN.table.getCurrentColumnHeaders), undefined);
      const length = all?.whole(ARRAY.getLength) ?? 0;
      return Array.from({ length: count }, (_, at) => {
        using one = at < length ? all?.object(ARRAY.getElement, ["i32"], at) : undefined;
        const asked = [PROPERTY.name, 1] as const;
        const name = one?.value(MAX_CELL, ELEMENT.getCurrentPropertyValueEx, ["i32", "i32"], ...asked);
        return typeof name === "string" ? normalized(name) : "";
      });
    },
    async text(cell) {
      if (hands.now(cell).facts.isSecret) return "";
      // WinForms names a cell by its place, and its text is its value.
      using value = hands.pattern(cell, "value");
      return normalized(value?.text(MAX_CELL, PATTERN.value.getCurrentValue) ?? "") || wordsOf(hands, cell);
    },
  };
}
