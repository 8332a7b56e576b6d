/**
 * A report in the Test Anything Protocol, version 14: https://testanything.org/tap-version-14-specification.html
 */
import type { TestCase, TestReport } from "./types";

/** The report as one file. What a case printed is left out: TAP has no place for it. */
export function tapOf({ cases }: TestReport): string {
  return ["TAP version 14", `1..${cases.length}`, ...cases.flatMap(linesOf), ""].join("\n");
}

function linesOf({ name, group, state, message = "", duration_ms }: TestCase, index: number): string[] {
  const word = state === "failed" ? "not ok" : "ok";
  const skip = state === "skipped" ? ` # SKIP ${described(message)}`.trimEnd() : "";
  const about = [`  duration_ms: ${duration_ms}`];
  // JSON is YAML.
  if (state === "failed")
    about.unshift(`  message: ${JSON.stringify(message.toWellFormed())}`, "  severity: fail");
  return [
    `${word} ${index + 1} - ${described(name)} (${described(group)})${skip}`,
    "  ---",
    ...about,
    "  ...",
  ];
}

/** A text on one line, in which nothing is a directive. */
const described = (text: string) => text.replaceAll(/\s+/g, " ").replaceAll(/[\\#]/g, "\\$&");
