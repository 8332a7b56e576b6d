/** Keywords that are one action each, with some of its fields set. */
import * as v from "valibot";
import type { Operation } from "../../core/operation";
import { rejected } from "../../lib/errors";
import { tagsOf } from "./from-table";
import { type Keyword, type KeywordInput, parameterOf } from "./keyword";

/** What changes how an element is looked for or used: given by name, where the action has it. */
export const NAMED = ["timeout", "window", "app", "within", "nth", "input"];

/** A keyword that is one action with some of its fields set. */
interface Short {
  readonly name: string;
  readonly summary: string;
  readonly command: `AC_${string}`;
  /** The fields of the action that are arguments, in order; all of them must be given. */
  readonly takes: readonly string[];
  readonly fixed?: KeywordInput;
  /** What the test gets of what the action returned (default: nothing). @throws where it is not as expected. */
  answer?(result: unknown): unknown;
}

const ELEMENT = ["element"];

const clicks = (
  [
    ["Click", "Click on an element with the pointer", {}],
    ["Double Click", "Click twice on an element with the pointer", { clicks: 2 }],
    [
      "Right Click",
      "Click on an element with the right button of the mouse",
      { mouse_keycode: "mouse_right" },
    ],
  ] as const
).map(
  ([name, summary, fixed]): Short => ({ name, summary, command: "AC_click_element", takes: ELEMENT, fixed }),
);

const fields: readonly Short[] = [
  ...["Input Text", "Input Password"].map(
    (name): Short => ({
      name,
      summary: "Put a text in place of what a field holds; no log of svc has the text",
      command: "AC_set_element_text",
      takes: ["element", "text"],
    }),
  ),
  {
    name: "Clear Text",
    summary: "Empty a field",
    command: "AC_set_element_text",
    takes: ELEMENT,
    fixed: { text: "" },
  },
  {
    name: "Get Text",
    summary: "Get what an element holds, as a text; nothing of a field that is secret",
    command: "AC_read_element",
    takes: ELEMENT,
    answer: textOf,
  },
  {
    name: "Type Text",
    summary: "Type a text into the window that has the focus; no log of svc has the text",
    command: "AC_write",
    takes: ["write_string"],
  },
];

const choices: readonly Short[] = [
  {
    name: "Select Checkbox",
    summary: "Check a box, switch or radio button",
    command: "AC_check_element",
    takes: ELEMENT,
    fixed: { on: true },
  },
  {
    name: "Unselect Checkbox",
    summary: "Uncheck a box or switch",
    command: "AC_check_element",
    takes: ELEMENT,
    fixed: { on: false },
  },
  {
    name: "Select From List",
    summary: "Select the item of that name in a list, table or combo box",
    command: "AC_select_element",
    takes: ["element", "item"],
  },
];

const states = (
  [
    ["Element Should Be Enabled", "can be used", "enabled"],
    ["Element Should Be Disabled", "cannot be used", "not enabled"],
    ["Element Should Be Focused", "has the focus", "focused"],
    ["Checkbox Should Be Selected", "is checked", "checked"],
    ["Checkbox Should Not Be Selected", "is not checked", "not checked"],
  ] as const
).map(
  ([name, what, state]): Short => ({
    name,
    summary: `Fail unless the element ${what}`,
    command: "AC_assert_element",
    takes: ELEMENT,
    fixed: { is: [state], timeout: 0 },
  }),
);

const presence: readonly Short[] = [
  {
    name: "Element Should Exist",
    summary: "Fail unless there is one such element, also where it cannot be seen",
    command: "AC_locate_element",
    takes: ELEMENT,
  },
  {
    name: "Element Should Not Exist",
    summary: "Fail if there is such an element, also where it cannot be seen",
    command: "AC_wait_element_gone",
    takes: ELEMENT,
    fixed: { timeout: 0, hidden: true },
  },
  {
    name: "Element Should Be Visible",
    summary: "Fail unless the element is on the screen",
    command: "AC_locate_element",
    takes: ELEMENT,
    answer(found) {
      if (!isShowing(found)) throw rejected("it is not on the screen");
    },
  },
  {
    name: "Wait Until Element Is Enabled",
    summary: "Wait until the element can be used",
    command: "AC_assert_element",
    takes: ELEMENT,
    fixed: { is: ["enabled"] },
  },
  {
    name: "Wait Until Element Is Gone",
    summary: "Wait until no such element can be seen",
    command: "AC_wait_element_gone",
    takes: ELEMENT,
  },
  {
    name: "Start Program",
    summary: "Start a program that goes on after the keyword; needs svc to run with --allow-shell",
    command: "AC_launch",
    takes: ["command"],
    fixed: { detach: true },
    answer: (started) => started,
  },
];

/** All of them. */
export const SHORT = [...clicks, ...fields, ...choices, ...states, ...presence];

/** The keyword that does the action `operation` so. */
export function shortKeyword(short: Short, operation: Operation): Keyword {
  const { name, summary, command, takes, fixed = {}, answer = () => null } = short;
  const isFree = (field: string) =>
    Object.hasOwn(operation.input.entries, field) && !takes.includes(field) && !Object.hasOwn(fixed, field);
  return {
    name,
    summary,
    tags: tagsOf(operation),
    parameters: [
      ...takes.map((field) => parameterOf(operation, field, false, true)),
      ...NAMED.filter(isFree).map((field) => parameterOf(operation, field, true)),
    ],
    run: async (hands, given) => (await answer(await hands.action(command, { ...given, ...fixed }))) ?? null,
  };
}

const HELD = v.object({ text: v.nullable(v.string()), number: v.nullable(v.number()) });

/** What an element holds, as a text. */
export function textOf(found: unknown): string {
  const { text, number } = v.parse(HELD, found);
  return text ?? `${number ?? ""}`;
}

/** Whether an element that was found is on the screen. */
export const isShowing = (found: unknown): boolean => Object(found).showing === true;
