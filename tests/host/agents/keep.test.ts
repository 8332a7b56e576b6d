/** Scripts made of what agents did. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ActedOn } from "../../../src/core/acted";
import { actsOf, isRemembered } from "../../../src/host/agents/acts";
import { scriptOf, wordsOf } from "../../../src/host/agents/keep";
import { mended } from "../../../src/host/agents/mended";
import { diffOf } from "../../../src/host/agents/script-diff";
import { locatorLine } from "../../../src/host/desktop/elements/fields";
import { operations } from "../../../src/operations";

const operation = (name: string) => {
  const found = operations.find((one) => one.name === name);
  if (!found) throw new Error(name);
  return found;
};

const acts = (name: string, input: Record<string, unknown>, told: ActedOn[] = [], answer: unknown = {}) =>
  actsOf({ operations, operation: operation(name), input, answer, told });
const list = (
  actions: unknown[],
  told: ActedOn[] = [],
  outcomes = actions.map(() => ({ ok: true, result: null })),
) => acts("execute.actions", { actions }, told, { outcomes });

const FIELD = { element: 'textbox "Customer" app "form"', label: "Customer", secret: false, holds: true };

describe("a call of desktop_act", () => {
  const steps = [
    { do: "set_text", element: "e1", text: "ACME" },
    { do: "set_text", element: "e2", text: "hunter4711" },
    { do: "check", element: "e3" },
    { do: "press", element: "e4" },
  ];
  const targets = [
    FIELD,
    { element: 'textbox "PIN"', label: "PIN", secret: true },
    { element: 'checkbox "Paid"', label: "Paid" },
    { element: 'button "Save"', label: "Save", isText: true },
  ];
  const checks = [["AC_wait_element", { element: 'text "Saved for ACME"', timeout: 10 }]] as const;

  test("is its steps by locator, with values as parameters, secrets as parameters without one, and checks", () => {
    const made = scriptOf(acts("desktop.act", { steps }, [{ targets, checks }]));
    // As it was done: without pointer and keyboard, also in a program that comes to have none of its own.
    const byProgram = { timeout: 10, input: "program" };
    expect(made).toEqual({
      parameters: ["customer", "pin"],
      variables: { customer: "ACME" },
      actions: [
        ["AC_set_element_text", { element: FIELD.element, text: "${customer}", ...byProgram }],
        ["AC_assert_element", { element: FIELD.element, holds: "${customer}", timeout: 10 }],
        ["AC_set_element_text", { element: 'textbox "PIN"', text: "${pin}", ...byProgram }],
        ["AC_check_element", { element: 'checkbox "Paid"', on: true, ...byProgram }],
        ["AC_press_element", { element: 'button "Save"', ...byProgram }],
        ["AC_wait_element", { element: 'text "Saved for ${customer}"', timeout: 10 }],
      ],
    });
  });

  test("that failed is the steps that were done", () => {
    const done = actsOf({
      ...{ operations, operation: operation("desktop.act"), input: { steps }, answer: undefined },
      told: [{ targets: targets.slice(0, 1) }],
    });
    expect(done.map(wordsOf)).toEqual(['set element text textbox "Customer" app "form"']);
  });

  test("keeps no text of a field that is secret, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 6 }), (text) => {
        const kept = acts("desktop.act", { steps: [{ ...steps[1], text }] }, [
          { targets: targets.slice(1, 2) },
        ]);
        expect(kept).toHaveLength(1);
        expect(kept[0]?.action[1].text).toBe("");
      }),
    );
  });

  test("has a secret of the host in place of a parameter", () => {
    const { actions, parameters } = scriptOf(
      acts("desktop.act", { steps }, [{ targets }]),
      new Map([["pin", "crm_pin"]]),
    );
    expect(parameters).toEqual(["customer"]);
    expect(actions[2]?.[1].text).toBe("${secret:crm_pin}");
  });
});

describe("a list of actions", () => {
  test("is kept without what only looks, and without what failed", () => {
    const kept = list(
      [
        ["AC_windows"],
        ["AC_focus_window", ["Order"]],
        ["AC_press_element", { element: 'button "Gone"' }],
        ["AC_wait_window", { title_substring: "Saved" }],
        ["AC_read_element", { element: 'textbox "Total"', as: "total" }],
      ],
      [],
      [true, true, false, true, true].map((ok) => ({ ok, result: null })),
    );
    expect(kept.map(wordsOf)).toEqual([
      "focus window Order",
      "wait window Saved",
      'read element textbox "Total"',
    ]);
    expect(kept[0]?.action).toEqual(["AC_focus_window", { title_substring: "Order" }]);
  });

  test("has no text of a secret field, neither typed at once, key by key, in a loop, nor by a variable", () => {
    const secret = { label: "PIN", secret: true };
    const told = (place: string): ActedOn => ({ place, targets: [secret] });
    const kept = list(
      [
        ["AC_set_var", { name: "pin", value: "hunter4711" }],
        ["AC_write", ["hunter4711"]],
        ["AC_loop", { times: 2, body: [["AC_write", { write_string: "hunter4711" }]] }],
        ["AC_type_keyboard", { keycode: "h" }],
        ["AC_type_keyboard", { keycode: "u" }],
        ["AC_type_keyboard", { keycode: "tab" }],
        ["AC_hotkey", { key_code_list: ["ctrl", "s"] }],
        ["AC_type_keyboard", { keycode: "ctrl+q" }],
      ],
      [...["[1]", "[2].body[0]", "[3]", "[4]", "[5]", "[6]", "[7]"].map(told)],
    );
    expect(JSON.stringify(kept)).not.toContain("hunter");
    const { actions, parameters, variables } = scriptOf(kept);
    expect(variables).toEqual({});
    expect(parameters).toEqual(["pin", "pin_2", "password"]);
    expect(actions.map(([command]) => command)).toEqual([
      ...[
        "AC_set_var",
        "AC_write",
        "AC_loop",
        "AC_write",
        "AC_type_keyboard",
        "AC_hotkey",
        "AC_type_keyboard",
      ],
    ]);
  });

  test("counts a field as secret of which nothing is known", () => {
    const [kept] = list([["AC_write", { write_string: "who knows" }]]);
    expect(kept).toMatchObject({ action: ["AC_write", { write_string: "" }], typed: [{ secret: true }] });
  });
});

describe("a click at a place", () => {
  const input = { x: 10, y: 20 };

  test("is one on what was there by name, with its text as another way", () => {
    const [kept] = acts("desktop.click_mouse", input, [
      { targets: [{ element: 'button "OK now"', label: "OK now", isText: true }] },
    ]);
    expect(kept?.action).toEqual([
      "AC_click_element",
      { element: 'button "OK now"', text: "OK now", timeout: 10 },
    ]);
  });

  test("is one on a picture where nothing there has a name, and stays as it was where neither is", () => {
    const image = { data: "iVBO", offset_x: 3, offset_y: 0 };
    expect(acts("desktop.click_mouse", input, [{ targets: [{ image }] }])[0]?.action).toEqual([
      "AC_locate_and_click",
      { image: "iVBO", timeout: 10, offset_x: 3 },
    ]);
    expect(acts("desktop.click_mouse", input)[0]?.action).toEqual(["AC_click_mouse", input]);
  });
});

test("what only reads is not remembered", () => {
  const names = ["desktop.snapshot", "desktop.screenshot", "usb.list", "scripts.run"];
  expect(names.filter((name) => isRemembered(operation(name)))).toEqual([]);
  expect(isRemembered(operation("desktop.act"))).toBe(true);
});

describe("a mended script", () => {
  const lineOf = async (fields: unknown) => locatorLine(fields);
  const BY = 'button "Store"';

  test("has the other locator wherever the old one was, however that was written, and no way beside it", async () => {
    const { actions, count } = await mended(
      [
        ["AC_press_element", { element: 'button "Save" app "form"', text: "Save", timeout: 10 }],
        [
          "AC_loop",
          { times: 2, body: [["AC_press_element", { role: "button", name: "Save", app: "form" }]] },
        ],
        ["AC_press_element", { element: 'button "Save as" app "form"' }],
      ],
      'button "Save" app "form"',
      BY,
      lineOf,
    );
    expect(count).toBe(2);
    expect(actions).toEqual([
      ["AC_press_element", { element: BY, timeout: 10 }],
      ["AC_loop", { times: 2, body: [["AC_press_element", { element: BY }]] }],
      ["AC_press_element", { element: 'button "Save as" app "form"' }],
    ]);
  });

  test("is read as what differs", () => {
    const head = {
      parameters: ["customer"],
      stop_on_error: true,
      timeout_s: 600,
      variables: { customer: "ACME" },
    };
    const steps = Array.from({ length: 6 }, (_, at) => ["AC_sleep", { seconds: at }]);
    const before = { ...head, actions: [...steps, ["AC_press_element", { element: "a" }]] };
    const now = { ...head, actions: [...steps, ["AC_press_element", { element: "b" }]] };
    expect(diffOf(before, now)).toEqual([
      "  …",
      '  ["AC_sleep",{"seconds":4}]',
      '  ["AC_sleep",{"seconds":5}]',
      '- ["AC_press_element",{"element":"a"}]',
      '+ ["AC_press_element",{"element":"b"}]',
    ]);
    expect(diffOf(undefined, now)[2]).toBe('+ parameter customer = "ACME"');
  });
});
