/** Locators in one line: what is printed reads back as it was, and no line is read as something else. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseCall } from "../../../../src/core/call";
import { checkInput } from "../../../../src/core/input";
import {
  type Locator,
  MAX_LINE,
  parseLocator,
  printLocator,
  STATES,
} from "../../../../src/host/desktop/elements/locator";
import { menu, press } from "../../../../src/host/desktop/elements/operations";
import { nativeRoleOf, numbersOf, roleOf } from "../../../../src/host/desktop/elements/roles";
import { Failure } from "../../../../src/lib/errors";

const text = fc.string({ minLength: 1, maxLength: 30, unit: "grapheme" });
const role = fc.constantFrom("button", "textbox", "window", "menuitem", "push button", "row", "text");
const states = fc.record(Object.fromEntries(STATES.map((one) => [one, fc.boolean()])), { requiredKeys: [] });
const place = fc.record(
  {
    pattern: fc.constantFrom("Save.*", "^a/b$", "\\d+ €", '["\\]]'),
    window: text,
    app: text,
    nth: fc.integer({ min: 1, max: 1_000 }),
  },
  { requiredKeys: [] },
);
const flat = fc
  .tuple(fc.record({ role }), fc.option(text, { nil: null }), fc.boolean(), states, place)
  .map(([named, name, isPart, state, where]): Locator => {
    const called = name === null ? {} : { name, ...(isPart && { exact: false }) };
    return { ...named, ...called, ...state, ...where };
  });
const locator = fc
  .array(flat, { minLength: 1, maxLength: 5 })
  .map(([first = {}, ...others]) => others.reduce<Locator>((within, one) => ({ ...one, within }), first));

describe("locators:", () => {
  test("one is read back as it was printed", () => {
    fc.assert(
      fc.property(locator, (given) => {
        const line = printLocator(given);
        fc.pre(line.length <= MAX_LINE);
        expect(parseLocator(line)).toEqual(given);
      }),
    );
  });

  test("any other line is refused in words", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (line) => {
        try {
          expect(parseLocator(printLocator(parseLocator(line)))).toEqual(parseLocator(line));
        } catch (error) {
          expect(error).toBeInstanceOf(Failure);
        }
      }),
    );
  });

  test("the longest line that says nothing is refused at once", () => {
    const begin = performance.now();
    expect(() => parseLocator('"'.padEnd(MAX_LINE, "\\"))).toThrow("locator:");
    expect(() => parseLocator("not ".repeat(MAX_LINE / 4))).toThrow("locator:");
    expect(() => parseLocator(" ".repeat(MAX_LINE + 1))).toThrow("at most 2000 characters");
    expect(performance.now() - begin).toBeLessThan(1_000);
  });

  test("what is wrong is said", () => {
    expect(() => parseLocator('buton "Save"')).toThrow('"buton" is none (did you mean button?)');
    expect(() => parseLocator('button "Save" nth 0')).toThrow("nth is from 1 to 1000");
    expect(() => parseLocator('button "Save" not there')).toThrow("comes after not");
    expect(() => parseLocator('button "Save" "Open"')).toThrow("name is there twice");
    expect(() => parseLocator('enabled window "A"')).toThrow("a role or a name is missing");
  });

  test("roles are those of ARIA by the numbers of AT-SPI, and its own names", () => {
    expect(numbersOf("button")).toEqual(numbersOf("push button").concat(62, 129));
    expect(numbersOf("textbox")).toContainValues([40, 61, 79]);
    expect([43, 7, 11, 35, 37, 91, 90, 56, 88, 16, 23].map(roleOf)).toEqual(
      "button checkbox combobox menuitem tab treeitem row cell link dialog window".split(" "),
    );
    expect([40, 130, 4_711].map(nativeRoleOf)).toEqual(["password text", "switch", "role 4711"]);
  });
});

test("what is wrong with a locator names what was expected and what was found, each once", () => {
  const said = (input: object) => {
    const checked = checkInput(press.input, input);
    return checked.ok ? undefined : checked.offences.map(({ message }) => message);
  };
  expect(said({ element: 'buton "OK"' })).toEqual([
    'expected a role of WAI-ARIA or AT-SPI (did you mean button?) but found "buton "OK""',
  ]);
  expect(said({ element: 'button "OK" nth 0' })).toEqual([
    'expected an element such as button "Save" window "Order" (nth is from 1 to 1000) but found "button "OK" nth 0"',
  ]);
  expect(() => parseCall(press, {})).toThrow("element: expected element, role, name, text or image");
  expect(() => parseCall(menu, { path: "> Save" })).toThrow("path: expected names of menus and an item");
});
