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
import { isShowing, NAMED, SHORT, shortKeyword, textOf } from "./short-keywords";

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

const gone = () => cancelled("the test has gone");

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

const quoted = (text: unknown): string => jsonLine(`${text}`.slice(0, 200));
