/**
 * The fields that name an element, and what the operations of elements share.
 */
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { between, field, seconds, whole } from "../../../core/fields";
import { messageOf } from "../../../lib/errors";
import { orElse } from "../../../lib/or-else";
import { NO_ROUTE } from "../operations/input-operation";
import {
  type Locator,
  MAX_LINE,
  MAX_NAME,
  MAX_NTH,
  parseLocator,
  printLocator,
  STATES,
  type State,
} from "./locator";
import { knownRole } from "./roles";
import { REFERENCE } from "./snapshots";

export const SEES = {
  scope: "screen",
  reveals: true,
  named: true,
  answeredBy: "display",
  leftOut: NO_ROUTE,
} as const;
export const ACTS = { scope: "operate", changes: true, named: true, leftOut: NO_ROUTE } as const;
/** As {@link ACTS}, of what may use pointer and keyboard: who has given up wants no click later. */
export const HANDS = { ...ACTS, answeredBy: "display", attended: true } as const;

/** How long an operation waits for an element, in seconds, and what ends the wait. */
export const waitingOf = ({ signal }: Caller, timeout: number) => ({ signal, timeout });

/** What was expected, of a message that also says what was found: the check of fields adds that itself. */
const expectationIn = (message: string): string =>
  message
    .replace(/^role: .* is none/s, "a role of WAI-ARIA or AT-SPI")
    .replace(/^locator: expected such as (.*), got .*": (.*)$/s, "an element such as $1 ($2)")
    .replace(/^(?:locator|role): (?:expected )?/, "");

/** @param read throws what is wrong with a text. */
const readable = (text: v.GenericSchema<string, string>, read: (text: string) => unknown) =>
  v.pipe(
    text,
    v.rawCheck<string>(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      try {
        read(dataset.value);
      } catch (error) {
        addIssue({ message: expectationIn(messageOf(error)) });
      }
    }),
  );

/** Whether a text is a locator in one line. */
export const isLocator = (text: string): boolean => orElse(() => parseLocator(text), undefined) !== undefined;

/** A name, or a part of one. */
export const TEXT = v.pipe(v.string(), v.nonEmpty(), v.maxLength(MAX_NAME));
const LINE = readable(v.pipe(v.string(), v.nonEmpty(), v.maxLength(MAX_LINE)), parseLocator);

/** A reference of a snapshot, or a locator in one line. */
export const LINE_OR_REFERENCE = readable(
  v.pipe(v.string(), v.nonEmpty(), v.maxLength(MAX_LINE)),
  (text) => REFERENCE.test(text) || parseLocator(text),
);

export const ROLE = field(
  v.optional(readable(v.pipe(v.string(), v.nonEmpty(), v.maxLength(100)), knownRole)),
  "Its role, of WAI-ARIA (button, textbox, checkbox, menuitem, …) or as AT-SPI names it (push button)",
);

const state = (what: string) => field(v.optional(v.boolean()), what);

/** Which element: a line, or field by field. */
export const LOCATOR = {
  element: field(
    v.optional(LINE),
    'The element in one line: button "Save" window "Order", textbox contains "Cust" within group "Billing", checkbox "Paid" not checked',
  ),
  role: ROLE,
  name: field(v.optional(TEXT), "Its name, or that of the label beside it"),
  pattern: field(
    v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(500))),
    "A pattern as RE2 has them that a part of its name fits, in its case: Save.*",
  ),
  exact: field(
    v.optional(v.boolean()),
    "Whether the name is the whole name (default), or a part of it in any case",
  ),
  window: field(v.optional(TEXT), "Part of the title of its window, in any case"),
  app: field(v.optional(TEXT), "The name of its program"),
  within: field(v.optional(LINE), "What it is in, at any depth, in one line"),
  nth: field(v.optional(whole(1, MAX_NTH)), "Which of those that match"),
  enabled: state("Whether it can be used"),
  checked: state("Whether it is checked, or pressed"),
  focused: state("Whether it has the focus"),
  selected: state("Whether it is selected"),
  expanded: state("Whether it is open"),
};

/** A locator, field by field. */
export type Fields = v.InferOutput<v.StrictObjectSchema<typeof LOCATOR, undefined>>;

/** The locator that the fields are; those beside `element` add to it. */
export function locatorOf(input: Fields): Locator {
  const { element, within, role, name, pattern, exact, window, app, nth } = input;
  const line = element === undefined ? {} : parseLocator(element);
  const states: Partial<Record<State, boolean | undefined>> = Object.fromEntries(
    STATES.map((one) => [one, input[one]]),
  );
  const own = {
    role,
    name,
    pattern,
    exact,
    window,
    app,
    nth,
    within: within === undefined ? undefined : parseLocator(within),
  };
  const given = Object.entries({ ...own, ...states }).filter(([, value]) => value !== undefined);
  return { ...line, ...Object.fromEntries(given) };
}

/** The locator that the fields of an action are, in one line; undefined where they name nothing. */
export function locatorLine(fields: unknown): string | undefined {
  const own = Object.fromEntries(Object.entries(Object(fields)).filter(([name]) => name in LOCATOR));
  const read = v.safeParse(v.object(LOCATOR), own);
  if (!read.success || !namesElement(read.output)) return undefined;
  return printLocator(locatorOf(read.output));
}

/** Whether a field names an element. */
export const namesElement = ({ element, role, name, pattern }: Fields): boolean =>
  [element, role, name, pattern].some((one) => one !== undefined);

/** @returns what is wrong where nothing names an element. */
export function unnamed(fields: Fields) {
  if (namesElement(fields)) return undefined;
  return { field: "element", message: "expected element, role or name" };
}

/** @param timeout the default, in seconds. */
export const patience = (timeout: number) => ({
  timeout: field(v.optional(seconds(between(0, 3_600)), timeout), "Seconds to wait"),
});

/** What acts, of an operation with {@link HANDS}. */
export const REAL = {
  input: field(
    v.optional(v.picklist(["either", "program", "real"]), "either"),
    "What acts: the interface of its program, and pointer and keyboard where that has nothing that does it (either), that interface alone (program), or pointer and keyboard, as a person does (real)",
  ),
};

/** What needs no turn at pointer and keyboard, or takes one once it needs it. */
const NO_TURN: readonly unknown[] = [undefined, "either", "program"];

/** Whether an action with {@link REAL} is to have a turn before it begins: also where a variable is in it, which may say `real`. */
export const usesInput = ({ input }: Readonly<Record<string, unknown>>): boolean => !NO_TURN.includes(input);

/** As {@link one}, for what can be done by pointer and keyboard too. */
export const oneReal = <const E extends v.ObjectEntries>(own: E) => one({ ...own, ...REAL });

/** The fields of an operation that names one element. @param timeout the default, in seconds. */
export const one = <const E extends v.ObjectEntries>(own: E, timeout = 5) =>
  v.strictObject({ ...LOCATOR, ...own, ...patience(timeout) });
