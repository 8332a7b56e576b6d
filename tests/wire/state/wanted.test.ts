/** What a file of a desk may say that hosts should have. */
import { describe, expect, test } from "bun:test";
import { checkWanted } from "../../../src/wire/state/wanted";

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
