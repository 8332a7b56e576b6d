/**
 * What a report says, and the flag that asks for one. What writes it is not loaded by who does not ask.
 */
import * as v from "valibot";
import { field } from "../../core/fields";

/** What became of a test case. `skipped`: it has not run. */
export type CaseState = "passed" | "failed" | "skipped";

export interface TestCase {
  /** Unique in its report. */
  readonly name: string;
  /** What it belongs to: a script, a plan, a host. */
  readonly group: string;
  readonly state: CaseState;
  /** Why it has failed, or has not run. */
  readonly message?: string;
  /** What it returned or printed, in lines. */
  readonly output?: string;
  readonly duration_ms: number;
}

export interface TestReport {
  /** What ran. */
  readonly name: string;
  readonly cases: readonly TestCase[];
  /** What the whole printed, in lines. */
  readonly output?: string;
  /** The path of the script that ran, where it is a file. */
  readonly script?: string;
  /** Paths of files that belong to it, such as a trace. */
  readonly attachments?: readonly string[];
}

export const REPORT_FIELD = {
  report: field(
    v.optional(
      v.array(
        v.pipe(
          v.string(),
          v.regex(
            /^(?:github|[^\0]*\.(?:xml|tap|html))$/,
            "a path that ends in .xml, .tap or .html, or `github`",
          ),
        ),
      ),
    ),
    "Report for a CI server: a file of JUnit (.xml) or TAP (.tap), `github` for annotations on stderr; of a run also .html, which shows its trace",
  ),
};

/** Whether the target is a page, which shows the trace of a run: what runs it writes it (`script-run.ts`). */
export const isPage = (target: string): boolean => target.endsWith(".html");
