/**
 * A report as annotations of GitHub Actions: workflow commands, escaped as `@actions/core` does it (toolkit, `command.ts`).
 */
import type { TestReport } from "./types";

/** GitHub shows ten errors of a step; the others count in the last line. */
const MAX_ERRORS = 10;

/** One line for each failure, and one for how many passed. */
export function annotationsOf({ name, cases, script }: TestReport): string {
  const failed = cases.filter(({ state }) => state === "failed");
  const file = script === undefined ? "" : `file=${property(script)},`;
  const errors = failed.slice(0, MAX_ERRORS).map(({ name: title, group, message = "failed" }) => {
    return `::error ${file}title=${property(`${group}: ${title}`)}::${data(message)}`;
  });
  const skipped = cases.filter(({ state }) => state === "skipped").length;
  const sum = `${cases.length - failed.length - skipped} passed, ${failed.length} failed, ${skipped} skipped`;
  return [...errors, `::notice title=${property(name)}::${data(sum)}`, ""].join("\n");
}

const data = (text: string) => text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

const property = (text: string) => data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
