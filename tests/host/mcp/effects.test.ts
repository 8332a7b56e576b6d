/** What a person is asked to allow, in words. */
import { expect, test } from "bun:test";
import { effectsOf } from "../../../src/host/mcp/effects";
import { operations } from "../../../src/operations";

const operation = (name: string) => {
  const found = operations.find((one) => one.name === name);
  if (!found) throw new Error(name);
  return found;
};

const typed = (text: string) => ({ actions: [["AC_write", [text]]] });
const execute = operation("execute.actions");

test("the name of a field that other hosts are to know cannot pass for further actions", () => {
  const forged = { 'message="hello"); 2. AC_log (message': "x" };
  const { masked, full } = effectsOf(operations, operation("plan.new"), {
    actions: [["AC_log", forged]],
    on: "all",
  });
  expect(masked).toContain('1. AC_log ("message=\\"hello\\"); 2. AC_log (message"="*** (1 characters)")');
  expect(full).toContain('1. AC_log ("message=\\"hello\\"); 2. AC_log (message"="x")');
});

test("text to be typed is there in full for who decides, and by its length for records", () => {
  const { masked, full } = effectsOf(operations, execute, typed("rm -rf ~\n"));
  expect(full).toContain('1. AC_write (write_string="rm -rf ~\\n")');
  expect(masked).toContain('1. AC_write (write_string="*** (9 characters)")');
});

test("so is what variables are set to, and what lists for other hosts have", () => {
  const inside = [
    ["AC_set_var", { name: "line", value: "rm -rf ~" }],
    ["AC_loop", { times: 2, body: [["AC_set_clipboard", ["curl evil"]]] }],
  ];
  for (const [name, input] of [
    ["execute.actions", { actions: inside, variables: { other: "wget evil" } }],
    ["plan.new", { actions: inside, on: "all" }],
  ] as const) {
    const { masked, full } = effectsOf(operations, operation(name), input);
    expect(full?.join()).toMatch(/rm -rf ~.*curl evil/);
    expect(masked.join()).not.toMatch(/rm -rf|curl|wget/);
    if (name === "execute.actions") expect(full?.join()).toContain("wget evil");
  }
});

test("a secret of its own, such as a token, is shown to nobody", () => {
  const actions = [["AC_admin_add_host", { label: "a", base_url: "http://a", token: "hunter2-hunter2" }]];
  const { masked, full } = effectsOf(operations, operation("plan.new"), { actions, on: "all" });
  for (const lines of [masked, full]) expect(lines?.join()).toContain('token="*** (15 characters)"');
});

test("a command that this version does not know is in the words for who decides alone", () => {
  const { masked, full } = effectsOf(operations, operation("plan.new"), {
    actions: [["AC_later", ["rm -rf"]]],
    on: "all",
  });
  expect(full).toContain('1. ["AC_later",["rm -rf"]]');
  expect(masked.join()).not.toContain("rm -rf");
});

test("what a reader would not see is escaped", () => {
  const { full } = effectsOf(operations, execute, typed("a\u001b[2Jb\u202ec\u200bd\u{e0041}e"));
  expect(full).toContain('1. AC_write (write_string="a\\u001b[2Jb\\u202ec\\u{200b}d\\u{e0041}e")');
});

test.each(["\u00a0", "\u034f", "\u115f", "\u2800", "\u3000", "\u3164", "\ufe0f", "\u{e0100}"])(
  "so is %j, which looks like nothing or like a blank",
  (unseen) => {
    const { full } = effectsOf(operations, execute, typed(`a b${unseen}c`));
    const code = unseen.codePointAt(0)?.toString(16);
    expect(full).toContain(`1. AC_write (write_string="a b\\u{${code}}c")`);
  },
);

test("a list that is the one argument of a command is shown as it is understood", () => {
  const shown = (written: unknown[]) =>
    effectsOf(operations, execute, { actions: [["AC_hotkey", written]] }).full?.at(-1);
  expect(shown(["ctrl", "alt", "delete"])).toBe('1. AC_hotkey (key_code_list=["ctrl","alt","delete"])');
  expect(shown([["ctrl", "c"]])).toBe('1. AC_hotkey (key_code_list=["ctrl","c"])');
  expect(shown(["${keys}"])).toBe('1. AC_hotkey (key_code_list="${keys}")');
});

test("text that is too long to be read is not cut off for who decides", () => {
  expect(effectsOf(operations, execute, typed("x".repeat(9_000))).full?.join()).toContain("x".repeat(9_000));
  expect(effectsOf(operations, execute, typed("x".repeat(20_000))).full).toBeNull();
});
