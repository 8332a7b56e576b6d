/** Expressions in CEL: what they compute, that they end, and where scripts have them. */
import { describe, expect, test } from "bun:test";
import { hostname } from "node:os";
import { readExpression } from "../../../src/host/runs/expressions";
import { runActions, testService, usedMs } from "../../support";

const DATA: Readonly<Record<string, unknown>> = {
  order: { total: 12.5, count: 3, customer: "ACME" },
  rows: [
    { n: 1, name: "Ann" },
    { n: 2, name: "Bob" },
  ],
  now: new Date("2026-06-01T12:00:00Z"),
  text: "a".repeat(1_000_000),
  many: Array.from({ length: 50_000 }, (_, n) => ({ n })),
};
const valueIn = (source: string) => readExpression(source).compute((name) => DATA[name]);

describe("an expression", () => {
  test.each([
    ["order.total > 0 && order.customer.matches('^A')", true],
    ["order.count + 1", 4],
    ["order.count / 2", 1.5],
    ["order.total * 2 - order.count % 2", 24],
    ["7 / 2", 3],
    ["order.count == 3 && order.total >= 12", true],
    ["rows.map(row, row.name)", ["Ann", "Bob"]],
    ["rows.filter(row, row.n > 1)[0].name + '!'", "Bob!"],
    ["rows.exists(row, row.name.matches('b$'))", true],
    ["has(order.discount) ? 1 : 0", 0],
    ["now - duration('90m')", "2026-06-01T10:30:00.000Z"],
    ["duration('90m')", 5_400],
    ["'at ' + string(now)", "at 2026-06-01T12:00:00.000Z"],
    ["int(now) - int(now - duration('90s'))", 90],
    ["string(duration('1.5s'))", "1.5s"],
    ["{'a': [1, 2.5, null]}", { a: [1, 2.5, null] }],
  ])("%s", (source, value) => {
    expect(valueIn(source)).toEqual(value);
  });

  test("names the variables that it reads, and not the items of lists", () => {
    const { names } = readExpression(
      "rows.exists(row, row.n > least) && has(order.x) || rows.map(now, now.n) == []",
    );
    expect(names.toSorted()).toEqual(["least", "order", "rows"]);
  });

  test.each([
    ["1 +", "Unexpected token: EOF"],
    ["order.total > 0 ? 1 : 'a'", "Ternary branches must have the same type"],
    ["cel.bind(x, order, x)", "cel.bind is not there"],
    ["x".repeat(2_001), "at most 2000 characters"],
    [`${"(".repeat(40)}1${")".repeat(40)}`, "the expression: "],
  ])("is refused before it is computed: %s", (source, message) => {
    expect(() => readExpression(source)).toThrow(message);
  });

  test.each([
    ["order.discount", "No such key: discount"],
    ["order.constructor", "No such key: constructor"],
    ["order.__proto__", "No such key"],
    ["order.count / 0 == 1 || 1 / 0 == 1", "division by zero"],
    ["'a'.matches('(')", "matches expects a pattern"],
    ["9223372036854775807", "its value is none that JSON has"],
  ])("fails when it is computed: %s", (source, message) => {
    expect(() => valueIn(source)).toThrow(message);
  });

  test.each([
    "many.all(x, many.all(y, x.n >= 0 && y.n >= 0))",
    "[1,2,3,4,5,6,7,8].map(a, [1,2,3,4,5,6,7,8].map(b, [1,2,3,4,5,6,7,8].map(c, [1,2,3,4,5,6,7,8].map(d, [1,2,3,4,5,6,7,8].map(e, [1,2,3,4,5,6,7,8])))))",
    "rows.map(r, rows.map(s, text + text + text))",
    "text.matches('(a*)*b')",
    "text.split('').map(x, text.split(''))",
  ])("ends, whatever it asks for: %s", (source) => {
    const began = performance.now();
    expect(() => valueIn(source)).toThrow("the expression takes too long");
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test("ends soon, however few steps it takes for much work", () => {
    const zones = "many.map(x, timestamp('2026-01-01T00:00:00Z').getHours('America/New_York'))";
    const { compute } = readExpression(zones);
    // The processor's time: other work on the machine does not count.
    const before = usedMs();
    expect(() => compute(() => Array.from({ length: 9_000 }, (_, nth) => nth))).toThrow("takes too long");
    expect(usedMs() - before).toBeLessThan(250);
  });

  test.each([
    ["text.contains('zz')", false],
    ["text.indexOf('a', 3)", 3],
    ["'aXbXc'.lastIndexOf('X')", 3],
    ["'aXbXc'.lastIndexOf('X', 2)", 1],
    ["'aXbXc'.split('X')", ["a", "b", "c"]],
    ["'aXbXc'.split('X', 2)", ["a", "bXc"]],
    ["'abc'.indexOf('', 2)", 2],
  ])("looks for texts as CEL has it: %s", (source, value) => {
    expect(valueIn(source)).toEqual(value);
  });

  test.each([
    ["text.contains(sought)", false],
    ["text.indexOf(sought)", -1],
    ["text.indexOf(sought, 1)", -1],
    ["text.lastIndexOf(sought)", -1],
    ["size(text.split(sought))", 1],
  ])("looks for a long text in a time that grows with both: %s", (source, value) => {
    const half = "b".repeat(50_000);
    const values: Record<string, string> = { text: "b".repeat(200_000), sought: `${half}ac${half}` };
    const { compute } = readExpression(source);
    const before = usedMs();
    expect(compute((name) => values[name])).toBe(value);
    expect(usedMs() - before).toBeLessThan(500);
  });

  test.each(["many.all(x, text != '' || text != '')", "many.exists(x, text == '' && text == '')"])(
    "ends where nothing is left for it, in the middle of a list: %s",
    (source) => {
      const { compute } = readExpression(source);
      const values: Record<string, unknown> = {
        many: Array.from({ length: 400_000 }, (_, nth) => nth),
        text: "a".repeat(900_000),
      };
      const before = usedMs();
      expect(() => compute((name) => values[name])).toThrow("takes too long");
      expect(usedMs() - before).toBeLessThan(250);
    },
  );

  test.each([
    ["text.split('')", "takes too long"],
    ["text.split('a')", "takes too long"],
    [`text.matches('${"a{1000}".repeat(70)}')`, "a pattern that repeats less"],
  ])("makes nothing large before it is refused: %s", (source, message) => {
    const { compute } = readExpression(source);
    const before = usedMs();
    expect(() => compute(() => "a".repeat(3_000_000))).toThrow(message);
    expect(usedMs() - before).toBeLessThan(75);
  });

  test.each([
    ["texts.join(between)", "takes too long"],
    ["texts.join(between).size() > 0", "takes too long"],
    ["texts + texts", "takes too long"],
    ["'z' in texts", "takes too long"],
    ["cyrillic.matches('(?i)(ж|я)+z')", "takes too long"],
  ])("counts what a call will make or look at before it does: %s", (source, message) => {
    const values: Record<string, unknown> = {
      texts: Array.from({ length: 1_000_000 }, () => ""),
      between: "b".repeat(15_000),
      cyrillic: "ж".repeat(450_000),
    };
    const { compute } = readExpression(source);
    const before = usedMs();
    expect(() => compute((name) => values[name])).toThrow(message);
    expect(usedMs() - before).toBeLessThan(75);
  });

  test.each([
    ["['a', 'b'].join('-')", "a-b"],
    ["['a', 'b'].join()", "ab"],
    ["[].join('-')", ""],
  ])("joins as CEL has it: %s", (source, value) => {
    expect(valueIn(source)).toBe(value);
  });

  test("reads no long text as a time", () => {
    const { compute } = readExpression("duration(text)");
    expect(() => compute(() => "1h".repeat(100_000))).toThrow("expected a time of at most 100 characters");
    expect(compute(() => "1h30m")).toBe(5_400);
  });
});

describe("in a script", () => {
  const errorsOf = ({ outcomes }: { outcomes: ReadonlyArray<{ error?: string }> }) =>
    outcomes.flatMap(({ error }) => error ?? []);

  test("AC_if runs one of its lists, and ${= … } is a value of any type, or part of a text", async () => {
    await using host = testService();
    const set = (name: string, value: unknown) => ["AC_set_var", { name, value, secret: false }];
    const report = await runActions(host.service, [
      set("order", { total: 12.5, customer: "ACME" }),
      ["AC_if", { when: "order.total > 10", then: [set("size", "large")], else: [set("size", "small")] }],
      set("next", "${= order.total + 1}"),
      set("line", "${order.customer}: ${= {'a': order.total}.a * 2 } € $${= x}"),
      ["AC_loop", { times: 2, body: [set("turns", "${= turn * 10}")] }],
      ["AC_if", { when: "order.total", then: [] }],
      ["AC_assert", { name: "next", value: "${= order.total + 1.0}" }],
      ["AC_log", ["${size} ${next} ${line} ${turns}"]],
    ]);
    expect(report.log?.map(({ message }) => message)).toEqual(["large 13.5 ACME: 25 € ${= x} 20"]);
    expect(errorsOf(report)).toEqual(["when: expected true or false but found a number"]);
  });

  test("run.id, host.label and now are there, unless a variable has such a name", async () => {
    await using host = testService();
    const report = await runActions(
      host.service,
      [
        ["AC_log", ["${= run.id + ' ' + host.label}"]],
        ["AC_log", ["${run.id} ${= now > timestamp('2020-01-01T00:00:00Z')}"]],
        ["AC_log", ["${host}"]],
      ],
      { variables: { host: "mine" } },
    );
    const { run_id } = report;
    expect(report.outcomes.map(({ error }) => error)).toEqual([
      expect.stringContaining("the expression"),
      undefined,
      undefined,
    ]);
    expect(report.log?.map(({ message }) => message)).toEqual([`${run_id} true`, "***"]);
    const named = await runActions(host.service, [["AC_log", ["${host.label} ${= host.label}"]]]);
    expect(named.log?.map(({ message }) => message)).toEqual([`${hostname()} ${hostname()}`]);
  });

  test("is checked before anything runs, with its place", async () => {
    await using host = testService();
    const executor = await host.service.executor();
    const check = (...actions: unknown[]) => expect(executor.check(actions)).rejects;
    for (const [when, type] of [
      ["5", "int"],
      ["size(rows)", "int"],
      ["'yes'", "string"],
      ["[true]", "list<bool>"],
    ])
      await check(["AC_if", { when, then: [] }]).toThrow(
        `actions[0].when: expected an expression in CEL (its value is ${type}, not bool)`,
      );
    await check(["AC_if", { when: "total >", then: [] }]).toThrow(
      "actions[0].when: expected an expression in CEL (Unexpected token: EOF)",
    );
    await check(["AC_log", { message: "${= 1 + }" }]).toThrow(
      "actions[0].message: the expression: Unexpected",
    );
    await check(["AC_log", { message: "${= 'a }'" }]).toThrow("expected } at the end of the expression");
    const { variables } = await executor.check([
      ["AC_if", { when: "rows.exists(r, r.n > least) && now != null", then: [] }],
      ["AC_log", ["${= order.total}"]],
    ]);
    expect(variables).toEqual({
      used: ["least", "now", "order", "rows"],
      unset: ["least", "order", "rows"],
    });
  });

  test("keeps what is secret secret: what it reads, and what becomes of it", async () => {
    await using host = testService();
    const report = await runActions(
      host.service,
      [
        ["AC_log", ["${= secret.substring(0, 6)}"]],
        ["AC_fail", ["${= secret + '-tail'}"]],
        ["AC_if", { when: "int(secret) > 0" }],
        ["AC_set_var", { name: "copy", value: "${= [secret]}" }],
      ],
      { variables: { secret: "hunter2-password" } },
    );
    const kept = JSON.stringify((await host.service.runs()).show(report.run_id));
    expect(kept).not.toMatch(/hunter|password/);
  });
});
