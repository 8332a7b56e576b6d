/** What a file of a desk may say that hosts should have. */
import { describe, expect, test } from "bun:test";
import { checkWanted, readWanted, wantedIn, writeWanted } from "../../../src/wire/state/wanted";

const SCRIPT = { actions: [["AC_sleep", { seconds: 0 }]] };
const JOB = { script: "own", interval_seconds: 60 };

describe("a name that JavaScript has a meaning for is named, not left out", () => {
  const named = (name: string, value: unknown) => Object.fromEntries([[name, value]]);

  test.each([
    ["a script", { scripts: named("constructor", SCRIPT) }, "scripts.constructor"],
    ["a job", { jobs: named("prototype", JOB) }, "jobs.prototype"],
    ["a job", { jobs: named("__proto__", JOB) }, "jobs.__proto__"],
    [
      "a variable of a script",
      { scripts: { own: { ...SCRIPT, variables: named("constructor", 1) } } },
      "scripts.own.variables.constructor",
    ],
    [
      "a variable of a job",
      { jobs: { own: { ...JOB, variables: named("prototype", 1) } } },
      "jobs.own.variables.prototype",
    ],
    ["a field", { jobs: { own: { ...JOB, ...named("constructor", 1) } } }, "jobs.own.constructor"],
  ])("%s", (_what, parts, field) => {
    expect(checkWanted({ name: "lab", ...parts })).toMatchObject({
      offences: [{ field, path: field.split(".") }],
    });
  });

  test("and stays inside the value of a variable, where it is only text", () => {
    const variables = { site: { constructor: "a" } };
    expect(checkWanted({ name: "lab", scripts: { own: { ...SCRIPT, variables } } })).toMatchObject({
      wanted: { scripts: { own: { variables } } },
    });
  });
});

describe("a state in base64, which escapes the bounds on the body that brings it, has bounds of its own", () => {
  const sent = (json: string) => Buffer.from(json).toString("base64");
  const actions = (json: string) => sent(`{"name":"lab","scripts":{"own":{"actions":${json}}}}`);

  test.each([
    ["nested deep", actions(`${"[".repeat(1_000)}${"]".repeat(1_000)}`), "at most 500 levels of nesting"],
    ["of many values", actions(`[[${"[],".repeat(160_000)}0]]`), "at most 150000 values and names"],
  ])("one %s is refused before it is parsed", (_what, state, expected) => {
    expect(() => readWanted(state)).toThrow(`state: expected ${expected}`);
  });

  test("and a desk sends none that a host refuses", () => {
    const value = Array.from({ length: 160_000 }, () => 0);
    const wanted = wantedIn({ name: "lab", scripts: { own: { actions: [["AC_set_var", { value }]] } } });
    expect(() => writeWanted(wanted)).toThrow("state: expected at most 150000 values and names");
  });

  test("nor are names looked at of which there are far too many", () => {
    const names = Array.from({ length: 36_000 }, (_, nth) => [`a${nth}`, {}] as const);
    expect(
      checkWanted({ name: "lab", scripts: Object.fromEntries([...names, ["constructor", {}]]) }),
    ).toEqual({
      offences: [expect.objectContaining({ message: "expected at most 200 fields but found 36001" })],
    });
  });
});
