/**
 * `--report`: what has run, as the tools of a CI server read it.
 *
 * A report is a list of test cases, whatever ran: each assertion of a script, each host of a broadcast or a plan. A format is one
 * function from that list to a text.
 */
import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { badInput, systemCode } from "../../lib/errors";
import { writeNamedFile } from "../../lib/files";
import { printable } from "../../lib/sanitize";
import { writeErr } from "../output";
import { annotationsOf } from "./github";
import { junitOf } from "./junit";
import { tapOf } from "./tap";
import { isPage, type TestReport } from "./types";

/** In place of a file: annotations of GitHub, which are read from what a step prints. */
const GITHUB = "github";

/**
 * What writes a report to each of `targets`, files or `github`; annotations go to stderr, which GitHub reads too.
 *
 * @throws a `bad_input` failure where a file could not be written: before what cannot be repeated to have its report.
 */
export function createReporter(targets: readonly string[]): (report: TestReport) => void {
  for (const file of targets) if (file !== GITHUB) requireFolderOf(file);
  const written = targets.filter((target) => !isPage(target));
  return (report) => {
    for (const target of written) {
      if (target === GITHUB) writeErr(annotationsOf(report));
      else writeNamedFile(target, (target.endsWith(".tap") ? tapOf : junitOf)(report), "--report");
    }
  };
}

function requireFolderOf(file: string): void {
  try {
    accessSync(dirname(file), constants.W_OK);
  } catch (error) {
    throw badInput(`--report: ${printable(dirname(file), 200)} cannot be written to (${systemCode(error)})`);
  }
}
