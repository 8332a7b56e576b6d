/** `--report`: what has run, as JUnit, TAP and annotations of GitHub. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { annotationsOf } from "../../../src/cli/report/github";
import { junitOf } from "../../../src/cli/report/junit";
import { reportOfAll, reportOfBroadcast, reportOfPlan } from "../../../src/cli/report/of-hosts";
import { reportOfRun } from "../../../src/cli/report/of-run";
import { createReporter } from "../../../src/cli/report/report";
import { tapOf } from "../../../src/cli/report/tap";
import type { TestReport } from "../../../src/cli/report/types";
import type { Outcome } from "../../../src/core/run";
import { hasFailed } from "../../../src/desk/plans/operations/text";
import { temporaryFolder, testWith } from "../../support";

const NASTY = `<b> & "quotes" 'too' ]]> \u0000\u001b[31m \ud800 # % : , \\ end`;

const report: TestReport = {
  name: NASTY,
  cases: [
    { name: "one", group: "order.json", state: "passed", duration_ms: 1_500, output: NASTY },
    { name: NASTY, group: "order.json", state: "failed", message: `first\nsecond ${NASTY}`, duration_ms: 2 },
    { name: "three", group: "order.json", state: "skipped", message: "planned", duration_ms: 0 },
  ],
  output: "all of it",
  attachments: ["/srv/run.zip"],
  script: "a,b:c.json",
};

describe("JUnit", () => {
  testWith("/usr/bin/python3", "/usr/lib/python3/dist-packages/junitparser")(
    "is what junitparser reads: names, states, messages, times and attachments, whatever a text has",
    () => {
      using folder = temporaryFolder();
      const file = join(folder.path, "junit.xml");
      createReporter([file])(report);
      const program = `import json, sys
from junitparser import JUnitXml
xml = JUnitXml.fromfile(sys.argv[1])
suite = next(iter(xml))
print(json.dumps({
  "counts": [suite.tests, suite.failures, suite.errors, suite.skipped, suite.time],
  "printed": suite._elem.findtext("system-out"),
  "cases": [[c.name, c.classname, c.time, [[type(r).__name__, r.message, r.text] for r in c.result], c.system_out] for c in suite],
}))`;
      const read = Bun.spawnSync(["/usr/bin/python3", "-c", program, file], { stderr: "inherit" });
      const shown = NASTY.replaceAll(/[\u0000\u001b\ud800]/g, "\ufffd");
      expect(JSON.parse(read.stdout.toString())).toEqual({
        counts: [3, 1, 0, 1, 1.502],
        printed: "all of it\n[[ATTACHMENT|/srv/run.zip]]",
        cases: [
          ["one", "order.json", 1.5, [], shown],
          [shown, "order.json", 0.002, [["Failure", "first", `first\nsecond ${shown}`]], null],
          ["three", "order.json", 0, [["Skipped", "planned", null]], null],
        ],
      });
    },
  );

  test("has no control character of XML 1.0", () => {
    expect(junitOf(report)).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/);
  });
});

test("TAP has a line for each case, in which no text is a directive, and the message of a failure in YAML", () => {
  const lines = tapOf(report).split("\n");
  expect(lines.slice(0, 2)).toEqual(["TAP version 14", "1..3"]);
  expect(lines.filter((line) => /^(?:not )?ok /.test(line))).toEqual([
    "ok 1 - one (order.json)",
    expect.stringMatching(/^not ok 2 - .* \\# % : , \\\\ end \(order\.json\)$/u),
    "ok 3 - three (order.json) # SKIP planned",
  ]);
  const from = lines.findIndex((line) => line.startsWith("not ok"));
  const yaml = lines.slice(from + 2, lines.indexOf("  ...", from)).join("\n");
  expect(Bun.YAML.parse(yaml)).toMatchObject({
    message: `first\nsecond ${NASTY.toWellFormed()}`,
    severity: "fail",
  });
});

test("annotations of GitHub are a line for each failure, escaped as its toolkit does it", () => {
  expect(annotationsOf({ ...report, name: "run" }).split("\n")).toEqual([
    expect.stringMatching(
      /^::error file=a%2Cb%3Ac\.json,title=order\.json%3A .*%25 %3A %2C .*::first%0Asecond .*%25 : , /u,
    ),
    "::notice title=run::1 passed, 1 failed, 1 skipped",
    "",
  ]);
});

describe("the report of a run", () => {
  const outcome = (command: string, more: Partial<Outcome> = {}): Outcome => ({
    ...{ command, ok: true, duration_ms: 5 },
    ...more,
  });
  const bad = outcome("AC_assert", { ok: false, error: "n is 5, not 6" });
  const loop = outcome("AC_for_each", {
    ok: false,
    error: "AC_assert: n is 5, not 6",
    detail: { outcomes: [bad] },
  });

  test("has a case for each assertion, also inside lists, and none for a script that failed in them alone", () => {
    const outcomes = [outcome("AC_sleep"), outcome("AC_assert_image"), loop];
    const { cases } = reportOfRun({ ok: false, status: "error", error_text: "…", outcomes }, "order.json");
    expect(cases.map(({ name, state, message }) => [name, state, message])).toEqual([
      ["2 AC_assert_image", "passed", undefined],
      ["3.1 AC_assert", "failed", "n is 5, not 6"],
    ]);
  });

  test("has no result, which may be a secret", () => {
    const outcomes = [outcome("AC_set_var", { result: "hunter2" })];
    const run = { ok: true, status: "ok", error_text: null, outcomes } as const;
    expect(JSON.stringify(reportOfRun(run, "order.json"))).not.toContain("hunter2");
  });

  test("has one for the script where that failed in another way", () => {
    const run = { ok: false, status: "timeout", error_text: "after 5 s", outcomes: [bad] } as const;
    expect(reportOfRun(run, "order.json").cases.map(({ name, state }) => [name, state])).toEqual([
      ["the script", "failed"],
      ["1 AC_assert", "failed"],
    ]);
  });

  test("of several hosts names each, and has a failure for one that did not answer", () => {
    const ok = { ok: true, status: "ok", error_text: null, outcomes: [] } as const;
    const answers = [
      { label: "lab-1", ok: true, result: ok } as const,
      { label: "lab-2", ok: false, error: "unreachable" } as const,
    ];
    const { cases } = reportOfAll(answers, (body) => reportOfRun(body, "order"));
    expect(cases).toMatchObject([
      { group: "lab-1: order", name: "the script", state: "passed" },
      { group: "lab-2", state: "failed", message: "unreachable" },
    ]);
  });
});

test("a broadcast has a case for each host; one that was not reached because of a cancel is skipped", () => {
  const base = { duration_ms: 7, delivered: true };
  const { cases } = reportOfBroadcast([
    { ...base, label: "a", ok: true, status: "ok" },
    { ...base, label: "b", ok: false, status: "unreachable", error: "no route" },
    { ...base, label: "c", ok: false, status: "cancelled" },
  ]);
  expect(cases).toMatchObject([
    { name: "a", state: "passed" },
    { name: "b", state: "failed", message: "unreachable: no route" },
    { name: "c", state: "skipped" },
  ]);
});

test("a plan has a case for each host by its wave: one that has not begun is skipped, one that nobody knows of failed", () => {
  const at = { sent: "2026-01-01T00:00:00Z", ended: "2026-01-01T00:00:02Z", error: null, waits_for: null };
  const targets = [
    { ...at, label: "a", wave: 1, state: "ok" },
    { ...at, label: "b", wave: 2, state: "unknown", error: "cut off" },
    { ...at, label: "c", wave: 2, state: "waiting", sent: null, ended: null, waits_for: "not linked" },
  ];
  expect(reportOfPlan({ id: "7d3f0c52", targets }, hasFailed).cases).toMatchObject([
    { name: "a", group: "wave 1", state: "passed", duration_ms: 2_000 },
    { name: "b", group: "wave 2", state: "failed", message: "unknown: cut off" },
    { name: "c", group: "wave 2", state: "skipped", message: "waiting: not linked" },
  ]);
});

test("a folder that is not there is refused before anything runs", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "none", "junit.xml");
  expect(() => createReporter([file])).toThrow("--report: ");
});

test("each file has the format of its name", () => {
  using folder = temporaryFolder();
  const [xml, tap] = [join(folder.path, "a.xml"), join(folder.path, "b.tap")];
  createReporter([xml, tap])(report);
  expect(readFileSync(xml, "utf8")).toStartWith("<?xml");
  expect(readFileSync(tap, "utf8")).toStartWith("TAP version 14\n");
});
