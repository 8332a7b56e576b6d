/** What a receipt of a run is about, by digests that can be compared with files. */
import type { RunClaims, RunStatement } from "../../../wire/receipt/statement";

/** The subjects of the statement about a run. */
export function subjectsOf({ script_sha256, outcomes, trace_sha256 }: RunClaims): RunStatement["subject"] {
  const of = (name: string, sha256: string) => ({ name, digest: { sha256 } });
  return [
    of("script", script_sha256),
    of("outcomes.json", outcomes.sha256),
    ...(trace_sha256 === null ? [] : [of("trace.zip", trace_sha256)]),
  ];
}
