/** `${name}` in arguments. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { hasReference } from "../../../src/core/written";
import { fillIn, MAX_FILLED, Variables } from "../../../src/host/runs/variables";
import { runActions, testService } from "../../support";

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/);
const plain = fc.string().filter((text) => !text.includes("$"));
function filled(value: unknown, given: Record<string, unknown> = {}) {
  const variables = new Variables();
  for (const [key, one] of Object.entries(given)) variables.note(key, one);
  return fillIn(value, variables);
}

describe("filling in", () => {
  test("gives a lone ${name} the variable's value, whatever its type", () => {
    fc.assert(
      fc.property(name, fc.jsonValue(), (key, value) => {
        expect(filled(`\${${key}}`, { [key]: value })).toEqual(value);
      }),
    );
  });

  test("writes text into text", () => {
    fc.assert(
      fc.property(name, plain, plain, fc.string(), (key, before, after, value) => {
        fc.pre(before + after !== "");
        expect(filled(`${before}\${${key}}${after}`, { [key]: value })).toBe(before + value + after);
      }),
    );
  });

  test("writes anything but text into text as JSON", () => {
    expect(filled("n=${n} o=${o}", { n: 1.5, o: { a: [null] } })).toBe('n=1.5 o={"a":[null]}');
  });

  test("leaves what has no reference in it as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        fc.pre(!hasReference(value));
        expect(filled(value)).toEqual(value);
      }),
    );
  });

  test("never looks into what it has filled in", () => {
    expect(filled("${a}-${b}", { a: "${b}", b: "B" })).toBe("${b}-B");
  });

  test("takes $${name} for ${name} itself", () => {
    expect(filled("$${a} ${a}", { a: 1 })).toBe("${a} 1");
    expect(filled("$${a}", {})).toBe("${a}");
  });

  test("reaches into lists and objects, not into keys", () => {
    expect(filled({ "${k}": ["${a}", { deep: "x${a}" }] }, { a: 7 })).toEqual({
      "${k}": [7, { deep: "x7" }],
    });
  });

  test("fails for an unknown variable, by its name", () => {
    expect(() => filled("${nobody}")).toThrow("unknown variable: nobody");
    expect(() => filled("${constructor}")).toThrow("unknown variable: constructor");
  });

  test("never makes more than the limit of it", () => {
    const big = "x".repeat(MAX_FILLED.bytes / 2);
    expect(() => filled("${big}${big}${big}", { big })).toThrow("variables: expected at most");
    expect(() => filled(["${big}", "${big}", "${big}"], { big })).toThrow("variables: expected at most");
    // Made and counted one after the other, up to the limit: not all of a thousand first.
    const rows = Array.from({ length: 100_000 }, () => "0123456789");
    for (const reference of ["x${rows}", "${rows}"]) {
      let resolved = 0;
      const resolve = () => {
        resolved++;
        return rows;
      };
      expect(() => fillIn(Array(1_000).fill(reference), { resolve, evaluate: () => null })).toThrow(
        "variables: expected at most",
      );
      expect(resolved).toBeLessThan(5);
    }
  });
});

describe("in a run", () => {
  test("an argument is filled in when its action runs, and checked then", async () => {
    await using host = testService();
    const report = await runActions(host.service, [
      ["AC_set_var", { name: "how_long", value: 0 }],
      ["AC_sleep", { seconds: "${how_long}" }],
      ["AC_set_var", { name: "how_long", value: "long" }],
      ["AC_sleep", { seconds: "${how_long}" }],
    ]);
    expect(report.outcomes.map(({ ok }) => ok)).toEqual([true, true, true, false]);
    expect(report.error_text).toBe("AC_sleep: seconds: expected a number");
  });

  test("an unknown name is that action's error, and the list continues", async () => {
    await using host = testService();
    const report = await runActions(host.service, [
      ["AC_sleep", ["${nobody}"]],
      ["AC_sleep", [0]],
    ]);
    expect(report.outcomes.map(({ error }) => error)).toEqual(["unknown variable: nobody", undefined]);
  });

  test("what is not filled in is checked beforehand", async () => {
    await using host = testService();
    const executor = await host.service.executor();
    await expect(
      executor.prepare([["AC_retry", { backoff: "${b}", max_attempts: -1, body: [] }]]),
    ).rejects.toThrow("actions[0].max_attempts");
  });

  test("variables that are given may not be too large, too deep or oddly named", async () => {
    await using host = testService();
    const giving = (variables: Record<string, unknown>) =>
      runActions(host.service, [["AC_rest_api_status"]], { variables });
    const deep = JSON.parse("[".repeat(1_000) + "]".repeat(1_000));
    expect(giving({ deep })).rejects.toMatchObject({ code: "bad_input" });
    expect(giving({ "a b": 1 })).rejects.toThrow("variables: expected names of letters");
  });

  test("a text that doubles in a loop ends with an error, not with the memory", async () => {
    await using host = testService();
    const double = ["AC_set_var", { name: "x", value: "${x}${x}" }];
    const report = await runActions(host.service, [["AC_loop", { times: 1_000, body: [double] }]], {
      variables: { x: "x" },
    });
    expect(report.error_text).toContain("variables: expected at most");
  });

  test("all variables have a limit together; one that is set again counts once", async () => {
    await using host = testService();
    const megabytes = (name: string) => ["AC_set_var", { name, value: "x".repeat(1_500_000) }];
    const actions = [megabytes("a"), megabytes("a"), megabytes("b"), megabytes("c")];
    const { outcomes } = await runActions(host.service, actions);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, true, false]);
    expect(outcomes[3]?.error).toContain("variables: expected at most 4194304 bytes");
  });

  test("an error is reported and cleaned up after also when there is no room for variables", async () => {
    await using host = testService();
    const fails = ["AC_try", { body: [["AC_if_var", { name: "none", value: 1 }]], error_var: "why" }];
    const { outcomes } = await runActions(
      host.service,
      [fails, ["AC_if_var", { name: "why", op: "ne", value: "" }]],
      {
        variables: { full: "x".repeat(4_194_200) },
      },
    );
    expect(outcomes).toMatchObject([{ ok: true }, { ok: true, result: { matched: true } }]);
  });
});
