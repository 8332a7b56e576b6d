/**
 * The report of a run: a case for each assertion, wherever it is, and one for the script around them.
 */
import { resolve } from "node:path";
import { mendLines, type RunMend } from "../../core/mend";
import type { Outcome, RunStatus } from "../../core/run";
import { printable } from "../../lib/sanitize";
import type { TestCase, TestReport } from "./types";

interface Run {
  readonly ok: boolean;
  readonly status: RunStatus;
  readonly error_text: string | null;
  readonly outcomes: readonly Outcome[];
  readonly mend?: RunMend | undefined;
}

/** @param attachments the trace, where there is one. */
export function reportOfRun(
  { ok, status, error_text, outcomes, mend }: Run,
  name: string,
  file: { readonly script?: string; readonly attachments?: readonly string[] } = {},
): TestReport {
  const asserts = assertsIn(outcomes, name, "");
  const whole: TestCase = {
    name: "the script",
    group: name,
    state: ok ? "passed" : "failed",
    ...(ok ? {} : { message: printable(`${status}: ${error_text}`, 2_000) }),
    duration_ms: outcomes.reduce((sum, { duration_ms }) => sum + duration_ms, 0),
  };
  // One failure is one case: that of the assertion, where nothing else has failed.
  const isTold =
    status === "error" && outcomes.every((one) => one.ok || assertsIn([one], name, "").some(hasFailed));
  const { script, attachments = [] } = file;
  return {
    name,
    cases: isTold ? asserts : [whole, ...asserts],
    output: [...outcomes.map(lineOf), ...(mend ? requestOf(mend) : [])].join("\n"),
    ...(script === undefined ? {} : { script }),
    attachments: attachments.map((path) => resolve(path)),
  };
}

/** An outcome on one line, without its result: a CI server shows a report to many, and a result may be secret. */
const lineOf = ({ command, ok, error = "", duration_ms }: Outcome) =>
  `${ok ? "ok    " : "FAILED"}  ${command}  ${printable(error, 200)}  (${duration_ms} ms)`;

/** What is there in place of what a step expected. */
const requestOf = (mend: RunMend): string[] => [
  "mend request:",
  ...mendLines(mend).map((line) => printable(line, 500)),
];

const hasFailed = ({ state }: TestCase) => state === "failed";

/** @param within the numbers of the actions around them. */
function assertsIn(outcomes: readonly Outcome[], group: string, within: string): TestCase[] {
  return outcomes.flatMap((outcome, index): TestCase[] => {
    const { command, ok, error, duration_ms } = outcome;
    const place = `${within}${index + 1}`;
    const inside = assertsIn(nestedIn(outcome), group, `${place}.`);
    if (!command.startsWith("AC_assert")) return inside;
    const state = ok ? "passed" : "failed";
    const name = `${place} ${command}`;
    return [
      { name, group, state, ...(ok ? {} : { message: printable(error ?? "failed", 2_000) }), duration_ms },
    ];
  });
}

/** The outcomes of the lists inside an action, as `INSIDE` (`core/nested-lists.ts`) has them. */
function nestedIn({ result, detail }: Outcome): readonly Outcome[] {
  const { outcomes } = { ...(result as object | undefined), ...detail } as { outcomes?: unknown };
  return Array.isArray(outcomes) ? outcomes : [];
}
