/**
 * The failures of blocks: each names the host and the step, and the first of all says how far the other branches came.
 */
import { Failure } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { FAILURE_CODES, type PartCode } from "./job";

/** A failure that names host and step. @param run_id the run at the host, where one had begun. */
export function failing(
  { label }: { readonly label: string },
  step: string,
  code: Exclude<PartCode, "ok">,
  why: string,
  run_id?: string,
): Failure {
  const host = printable(label, 130);
  const words = code === "unknown" ? "what became of it is unknown, and it is not sent again: " : "";
  const more = { code, host: label, step, ...(run_id !== undefined && { run_id }) };
  return new Failure(FAILURE_CODES[code], `${host}: ${step}: ${words}${why}`, more);
}

/** How far a branch came. */
interface BranchEnd {
  readonly host: string;
  readonly end: string | undefined;
}

/** The first failure, which says how far each branch came. A fault of this program is as it was, unless something may have run. */
export function withOthers(error: unknown, hosts: readonly BranchEnd[]): unknown {
  const isUnknown = hosts.some(({ end }) => end === "unknown");
  if (!(error instanceof Failure) && !isUnknown) return error;
  const first = error instanceof Failure ? error : internal(error, { code: "failed" });
  const made = new Failure(first.code, `${first.message}${othersText(hosts, first)}`, {
    ...first.more,
    hosts,
  });
  made.cause = first.cause;
  return made;
}

/** A fault of this program, which tells nobody what it is. */
function internal(cause: unknown, more: Failure["more"]): Failure {
  const made = new Failure("rejected", "internal error", more);
  made.cause = cause;
  return made;
}

/** What became of a branch that failed, in a word. */
export const endOf = (error: unknown): string => {
  const { code } = error instanceof Failure ? error.more : { code: "failed" };
  return typeof code === "string" ? code : "failed";
};

/** Which other hosts may still be at it: an operator looks there. */
function othersText(hosts: readonly BranchEnd[], { more }: Failure): string {
  const others = hosts.filter(({ host, end }) => end === "unknown" && host !== more.host);
  return others.length === 0
    ? ""
    : `; what became of it is unknown on ${others.map(({ host }) => printable(host, 130)).join(", ")} too`;
}
