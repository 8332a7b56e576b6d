/**
 * Keywords under the names that people know from other libraries of Robot Framework (SeleniumLibrary above all), each done by actions of
 * the table.
 */
import * as v from "valibot";
import type { Operation } from "../../core/operation";
import { NAME_TEXT } from "../../core/rights";
import { sleep } from "../../lib/deadline";
import { badInput, cancelled, Failure, rejected } from "../../lib/errors";
import { jsonLine } from "../../lib/sanitize";
import { tagsOf } from "./from-table";
import { type Hands, type Keyword, type KeywordInput, type Parameter, parameterOf } from "./keyword";

/** What changes how an element is looked for or used: given by name, where the action has it. */
const NAMED = ["timeout", "window", "app", "within", "nth", "input"];

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
      summary: "Put a text in place of what a field holds, by its program; no log of svc has the text",
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
    summary: "Fail if there is such an element",
    command: "AC_wait_element_gone",
    takes: ELEMENT,
    fixed: { timeout: 0 },
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
    summary: "Wait until there is no such element",
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

const SHORT = [...clicks, ...fields, ...choices, ...states, ...presence];

/** The keywords with names of their own. @param operations the table. */
export function ownKeywords(operations: readonly Operation[]): Keyword[] {
  const commandOf = (command: string) => {
    const found = operations.find((one) => one.command === command);
    if (!found) throw new Error(`there is no ${command}`);
    return found;
  };
  const byName = (name: string) => {
    const found = operations.find((one) => one.name === name);
    if (!found) throw new Error(`there is no ${name}`);
    return found;
  };
  return [
    ...SHORT.map((short) => shortKeyword(short, commandOf(short.command))),
    ...texts(commandOf("AC_read_element"), commandOf("AC_assert_element")),
    ...looking(commandOf("AC_locate_element"), commandOf("AC_wait_element")),
    pressKeys(commandOf("AC_hotkey")),
    takeScreenshot(byName("desktop.screenshot")),
    runScript(byName("scripts.run")),
  ];
}

function shortKeyword(short: Short, operation: Operation): Keyword {
  const { name, summary, command, takes, fixed = {}, answer = () => null } = short;
  const isFree = (field: string) =>
    Object.hasOwn(operation.input.entries, field) && !takes.includes(field) && !Object.hasOwn(fixed, field);
  return {
    ...{ name, summary, tags: tagsOf(operation) },
    parameters: [
      ...takes.map((field) => parameterOf(operation, field, false, true)),
      ...NAMED.filter(isFree).map((field) => parameterOf(operation, field, true)),
    ],
    run: async (hands, given) => (await answer(await hands.action(command, { ...given, ...fixed }))) ?? null,
  };
}

/** How often it is looked whether something is as expected, in milliseconds. */
const LOOK_MS = 300;

/** What `look` returns, until `wrong` says nothing of it, or for so many seconds. @throws what `wrong` says then. */
async function until(
  { caller }: Hands,
  seconds: number,
  look: () => Promise<unknown>,
  wrong: (found: unknown) => string | undefined,
): Promise<null> {
  const end = performance.now() + seconds * 1_000;
  for (;;) {
    const said = wrong(await look());
    if (said === undefined) return null;
    if (performance.now() >= end) throw rejected(said);
    await sleep(LOOK_MS, caller.signal, gone);
  }
}

const gone = (): never => {
  throw cancelled("the test has gone");
};

/** Keywords of what an element holds: programs take a while until they show what was typed. */
function texts(read: Operation, assert: Operation): Keyword[] {
  const expected: Parameter = {
    name: "expected",
    kind: "positional",
    description: "The text that is expected",
  };
  return [
    {
      name: "Element Text Should Be",
      summary: "Fail unless the element holds just this text within the time",
      tags: tagsOf(assert),
      parameters: elementParameters(assert, [], [expected]),
      async run(hands, { expected: holds, ...given }) {
        await hands.action("AC_assert_element", { ...given, holds: `${holds}` });
        return null;
      },
    },
    {
      name: "Element Should Contain",
      summary: "Fail unless the element holds this text among others within the time",
      tags: tagsOf(read),
      parameters: elementParameters(read, [], [expected]),
      run: (hands, { expected: part, ...given }) =>
        until(
          hands,
          secondsOf(given, 5),
          () => hands.action("AC_read_element", given),
          (found) => {
            const text = textOf(found);
            if (text.includes(`${part}`)) return undefined;
            return `it holds ${quoted(text)}, which does not contain ${quoted(part)}`;
          },
        ),
    },
  ];
}

/** The parameters of a keyword about one element. */
const elementParameters = (
  operation: Operation,
  without: readonly string[],
  more: readonly Parameter[] = [],
): Parameter[] => [
  parameterOf(operation, "element", false, true),
  ...more,
  ...NAMED.filter((field) => Object.hasOwn(operation.input.entries, field) && !without.includes(field)).map(
    (field) => parameterOf(operation, field, true),
  ),
];

const secondsOf = ({ timeout }: KeywordInput, usual: number): number =>
  typeof timeout === "number" ? timeout : usual;

/** Keywords of what can be seen, or cannot. */
function looking(locate: Operation, wait: Operation): Keyword[] {
  return [
    {
      name: "Element Should Not Be Visible",
      summary: "Fail if the element is on the screen; it need not exist",
      tags: tagsOf(locate),
      parameters: elementParameters(locate, ["timeout"]),
      async run(hands, given) {
        if (!(await isThere(hands, given))) return null;
        if (isShowing(await hands.action("AC_locate_element", given))) throw rejected("it is on the screen");
        return null;
      },
    },
    {
      name: "Wait Until Element Is Visible",
      summary: "Wait until the element is on the screen",
      tags: tagsOf(wait),
      parameters: elementParameters(wait, []),
      async run(hands, { timeout, ...given }) {
        const seconds = secondsOf({ timeout }, 10);
        const found = await hands.action("AC_wait_element", { ...given, timeout: seconds });
        if (isShowing(found)) return null;
        return until(
          hands,
          seconds,
          () => hands.action("AC_locate_element", given),
          (now) => (isShowing(now) ? undefined : `it is not on the screen after ${seconds} s`),
        );
      },
    },
  ];
}

async function isThere(hands: Hands, given: KeywordInput): Promise<boolean> {
  try {
    await hands.action("AC_wait_element_gone", { ...given, timeout: 0 });
    return false;
  } catch (error) {
    // What is wrong with the call itself is no element.
    if (error instanceof Failure && error.code !== "rejected") throw error;
    return true;
  }
}

const pressKeys = (hotkey: Operation): Keyword => ({
  name: "Press Keys",
  summary:
    "Press keys in the window that has the focus, each a key or several at once, such as ctrl+s or enter",
  tags: tagsOf(hotkey),
  parameters: [
    { name: "keys", kind: "rest", description: "Keys, or keys to press together: ctrl+s, enter, f5" },
  ],
  async run(hands, { keys }) {
    const all = Array.isArray(keys) ? keys : [];
    if (all.length === 0) throw badInput("keys: expected at least one");
    for (const key of all) await hands.action("AC_hotkey", { key_code_list: [`${key}`] });
    return null;
  },
});

const takeScreenshot = (screenshot: Operation): Keyword => ({
  name: "Take Screenshot",
  summary: "Show a picture of the screen in Robot's log",
  tags: tagsOf(screenshot),
  parameters: [],
  async run(hands) {
    await hands.showScreen();
    return null;
  },
});

const runScript = (operation: Operation): Keyword => ({
  name: "Run Svc Script",
  summary: "Run a script that is stored on the host; returns what its actions returned",
  tags: tagsOf(operation),
  parameters: [
    { name: "name", kind: "positional", description: "The name of the script", schema: NAME_TEXT },
    { name: "variables", kind: "others", description: "Values of its parameters, by name" },
  ],
  async run(hands, { name, variables }) {
    const report = v.parse(REPORT, await hands.call("scripts.run", { name, variables }));
    if (!report.ok) throw rejected(`run ${report.run_id}: ${report.error_text}`);
    return report.outcomes.map(({ result = null }) => result);
  },
});

const REPORT = v.object({
  run_id: v.string(),
  ok: v.boolean(),
  error_text: v.nullable(v.string()),
  outcomes: v.array(v.object({ result: v.optional(v.unknown()) })),
});

const HELD = v.object({ text: v.nullable(v.string()), number: v.nullable(v.number()) });

function textOf(found: unknown): string {
  const { text, number } = v.parse(HELD, found);
  return text ?? `${number ?? ""}`;
}

const isShowing = (found: unknown): boolean => Object(found).showing === true;

const quoted = (text: unknown): string => jsonLine(`${text}`.slice(0, 200));
