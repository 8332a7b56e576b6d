import { expect, test } from "bun:test";
import { type Check, fine, warning } from "../../src/diagnostics/check";
import { createRunner } from "../../src/diagnostics/run";
import { unavailable } from "../../src/lib/errors";
import { silentLog } from "../../src/lib/log";

const good: Check = { name: "platform", advice: [], run: () => fine("well") };
const hanging: Check = { name: "mouse", advice: [], deadlineMs: 30, run: () => new Promise(() => {}) };
const throwing: Check = {
  name: "executor",
  advice: ["try again"],
  run() {
    throw new TypeError("undefined is not a function");
  },
};
const run = (...checks: Check[]) => createRunner(silentLog).run(checks);

test("a check that throws and one that hangs leave the others standing", async () => {
  const report = await run(throwing, hanging, good);
  expect(report).toMatchObject({ ok: false, count: 3, failed: 2 });
  expect(report.checks.map(({ name, ok, severity, detail }) => [name, ok, severity, detail])).toEqual([
    ["executor", false, "error", "the check itself failed: undefined is not a function"],
    ["mouse", false, "error", "no answer within 0.03 s"],
    ["platform", true, "info", "well"],
  ]);
});

test("what a check throws by mistake is logged with its stack, an expected failure is not", async () => {
  const logged: unknown[] = [];
  const { run: logging } = createRunner({ ...silentLog, error: (_text, thrown) => logged.push(thrown) });
  const expected: Check = {
    name: "mouse",
    advice: ["try again"],
    run() {
      throw unavailable("no display");
    },
  };
  const report = await logging([throwing, expected]);
  expect(logged).toEqual([expect.any(TypeError)]);
  expect(report.checks[1]).toMatchObject({ ok: false, severity: "error", detail: "no display" });
});

test("checks run side by side", async () => {
  const first = Promise.withResolvers<void>();
  const waits: Check = { name: "mouse", advice: [], run: () => first.promise.then(() => fine("")) };
  const releases: Check = {
    name: "platform",
    advice: ["try again"],
    run() {
      first.resolve();
      return fine("");
    },
  };
  expect(await run(waits, releases)).toMatchObject({ ok: true });
});

test("the deadline aborts the check's signal", async () => {
  const aborted = Promise.withResolvers<boolean>();
  const run_ = (signal: AbortSignal) => {
    signal.addEventListener("abort", () => aborted.resolve(true));
    return new Promise<never>(() => {});
  };
  await run({ name: "mouse", advice: [], deadlineMs: 10, run: run_ });
  expect(await aborted.promise).toBe(true);
});

test("a warning is not a failure", async () => {
  expect(
    await run({ name: "disk_space", advice: [], run: () => warning("little room", ["delete"]) }),
  ).toMatchObject({
    ok: true,
    failed: 0,
    checks: [{ ok: true, severity: "warn", advice: ["delete"] }],
  });
});

test("reports at the same time share one run of a check, later ones do not", async () => {
  let runs = 0;
  const counted: Check = {
    name: "platform",
    advice: ["try again"],
    async run() {
      runs++;
      await Bun.sleep(1);
      return fine("");
    },
  };
  const runner = createRunner(silentLog);
  await Promise.all([runner.run([counted]), runner.run([counted]), runner.run([counted])]);
  expect(runs).toBe(1);
  await runner.run([counted]);
  expect(runs).toBe(2);
});

test("how long each took is told", async () => {
  const [check] = (await run(hanging)).checks;
  expect(check?.duration_ms).toBeGreaterThanOrEqual(29);
});

test("what a check found of hostile text is shown, not sent", async () => {
  const [check] = (await run({ name: "platform", advice: [], run: () => fine("\u001b[2J") })).checks;
  expect(check?.detail).toBe("\\x1b[2J");
});
