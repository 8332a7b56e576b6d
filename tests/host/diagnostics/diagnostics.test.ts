import { expect, test } from "bun:test";
import { type Check, fine, warning } from "../../../src/host/diagnostics/check";
import { createDiagnostics } from "../../../src/host/diagnostics/diagnostics";
import { unavailable } from "../../../src/lib/errors";
import { type Log, silentLog } from "../../../src/lib/log";
import { nextTurn } from "../../support";
import { CALLER } from "./support";

const good: Check = { summary: "", name: "platform", advice: [], run: () => fine("well") };
const hanging: Check = {
  summary: "",
  name: "mouse",
  advice: [],
  deadlineMs: 30,
  run: () => new Promise(() => {}),
};
const throwing: Check = {
  name: "executor",
  summary: "",
  advice: ["try again"],
  run() {
    throw new TypeError("undefined is not a function");
  },
};
/** Runs all of `checks`, each time they are asked for. */
const runnerOf = (checks: Check[], log: Log = silentLog) => {
  const diagnostics = createDiagnostics({ log }, checks);
  const names = checks.map(({ name }) => name);
  return () => diagnostics.run(names, CALLER);
};
const run = (...checks: Check[]) => runnerOf(checks)();

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
  const expected: Check = {
    summary: "",
    name: "mouse",
    advice: ["try again"],
    run() {
      throw unavailable("no display");
    },
  };
  const report = await runnerOf([throwing, expected], {
    ...silentLog,
    error: (_text, thrown) => logged.push(thrown),
  })();
  expect(logged).toEqual([expect.any(TypeError)]);
  expect(report.checks[1]).toMatchObject({ ok: false, severity: "error", detail: "no display" });
});

test("checks run side by side", async () => {
  const first = Promise.withResolvers<void>();
  const waits: Check = {
    summary: "",
    name: "mouse",
    advice: [],
    run: () => first.promise.then(() => fine("")),
  };
  const releases: Check = {
    summary: "",
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
  await run({
    name: "mouse",
    summary: "",
    advice: [],
    deadlineMs: 10,
    run(_service, { signal }) {
      signal.addEventListener("abort", () => aborted.resolve(true));
      return new Promise<never>(() => {});
    },
  });
  expect(await aborted.promise).toBe(true);
});

test("a warning is not a failure", async () => {
  expect(
    await run({ name: "disk_space", summary: "", advice: [], run: () => warning("little room", ["delete"]) }),
  ).toMatchObject({
    ok: true,
    failed: 0,
    checks: [{ ok: true, severity: "warn", advice: ["delete"] }],
  });
});

test("reports at the same time share one run of a check, later ones do not", async () => {
  let runs = 0;
  const counted: Check = {
    summary: "",
    name: "platform",
    advice: ["try again"],
    async run() {
      runs++;
      await nextTurn();
      return fine("");
    },
  };
  const report = runnerOf([counted]);
  await Promise.all([report(), report(), report()]);
  expect(runs).toBe(1);
  await report();
  expect(runs).toBe(2);
});

test("the report says how long each check took", async () => {
  const [check] = (await run(hanging)).checks;
  expect(check?.duration_ms).toBeGreaterThanOrEqual(29);
});

test("what a check found of hostile text is shown, not sent", async () => {
  const [check] = (await run({ name: "platform", summary: "", advice: [], run: () => fine("\u001b[2J") }))
    .checks;
  expect(check?.detail).toBe("\\x1b[2J");
});
