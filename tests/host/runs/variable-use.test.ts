/** Which variables a list uses, found before a run. */
import { expect, test } from "bun:test";
import { variableFaults } from "../../../src/host/runs/variable-use";
import { post, testServer, testService } from "../../support";

const ORDER = [
  ["AC_set_var", { name: "total", value: 3 }],
  [
    "AC_try",
    {
      body: [["AC_loop", ["${count}", [["AC_write", ["${nme} and $${escaped}: ${total}"]]]]]],
      catch: [["AC_if_var", { name: "level", value: "${problem}" }]],
      error_var: "problem",
    },
  ],
];

async function useOf(actions: unknown) {
  await using made = testService();
  return (await (await made.service.executor()).check(actions)).variables;
}

test("names what a list uses, and what of it no action of the list sets", async () => {
  expect(await useOf(ORDER)).toEqual({
    used: ["count", "level", "nme", "problem", "total"],
    unset: ["count", "level", "nme"],
  });
});

test("names nothing as unset when the list sets a variable whose name is itself a variable", async () => {
  const actions = [
    ["AC_set_var", { name: "${which}", value: 1 }],
    ["AC_sleep", ["${pause}"]],
  ];
  expect(await useOf(actions)).toEqual({ used: ["pause", "which"], unset: [] });
});

test("a variable that nobody sets, and a given one that nothing uses, are a warning each", async () => {
  expect(variableFaults(await useOf(ORDER), ["count", "level", "name"], "--var")).toEqual([
    "${nme} is not set: neither the list nor --var sets it (did you mean name?)",
    "--var name: the list has no ${name} (did you mean nme?)",
  ]);
});

test("POST /execute/check takes the text of a script, and names the lines of its faults", async () => {
  await using host = await testServer();
  const check = async (body: object) => (await host.call("/execute/check", post(body))).json();
  const text = '[\n  ["AC_sleep", [0]],\n  ["AC_slep", ["${n}"]]\n]\n';
  expect(await check({ text })).toMatchObject({
    error: expect.stringContaining("script:3:4: actions[1]: unknown command AC_slep"),
    problems: [{ action: "actions[1]", line: 3, column: 4 }],
  });
  expect(await check({ text: text.replace("slep", "sleep") })).toMatchObject({
    ok: true,
    count: 2,
    variables: { used: ["n"], unset: ["n"] },
  });
  expect(await check({ text: "[\n}" })).toEqual({ error: "script:2:1: not JSON: expected a value" });
  expect(await check({})).toEqual({ error: "actions, text: expected one of them" });
  expect(await check({ text, actions: [] })).toEqual({ error: "actions, text: expected one of them" });
});
