/** What a person is asked to allow, in words. */
import { expect, test } from "bun:test";
import { effectsOf } from "../../src/mcp/effects";
import { operations } from "../../src/operations";

const operation = (name: string) => {
  const found = operations.find((one) => one.name === name);
  if (!found) throw new Error(name);
  return found;
};

test("the name of a field that other hosts are to know cannot pass for further actions", () => {
  const forged = { 'message="hello"); 2. AC_log (message': "x" };
  const lines = effectsOf(operations, operation("plan.new"), { actions: [["AC_log", forged]], on: "all" });
  expect(lines).toContain('1. AC_log ("message=\\"hello\\"); 2. AC_log (message"="*** (1 characters)")');
});
