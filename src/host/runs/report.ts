/**
 * What the report of a run says, from the outcomes of its actions.
 */
import type { Outcome, RunStatus } from "../../core/run";
import { Failure, messageOf } from "../../lib/errors";
import type { Action } from "./actions";

/** How a run has ended. @param expected the number of its actions. */
export function judge(
  outcomes: readonly Outcome[],
  expected: number,
  signal: AbortSignal,
): { status: RunStatus; error: string | null } {
  const failed = outcomes.filter(({ ok }) => !ok);
  const [first] = failed;
  if (failed.length === 0 && outcomes.length === expected) return { status: "ok", error: null };
  if (signal.aborted) {
    const code = signal.reason instanceof Failure ? signal.reason.code : undefined;
    const status = code === "cancelled" || code === "timeout" ? code : "error";
    return { status, error: messageOf(signal.reason) };
  }
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  return { status: "error", error: `${first ? errorOf(first) : ""}${more}` };
}

/** The error of an action with its command, which is not repeated for each level of scripts or lists. */
export function errorOf({ command, error = "" }: Outcome): string {
  const [named = ""] = error.match(/^(?:AC_\w+: )+/) ?? [];
  return named.includes(`${command}: `) ? error : `${command}: ${error}`;
}

/** The results by their actions, as callers of `/execute` know them. */
export function resultOf(actions: readonly Action[], outcomes: readonly Outcome[]): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  const seen = new Map<string, number>();
  outcomes.forEach(({ ok, result: returned, error, detail }, index) => {
    const key = `execute: ${JSON.stringify(actions[index]?.source)}`;
    const nth = (seen.get(key) ?? 0) + 1;
    seen.set(key, nth);
    result[nth === 1 ? key : `${key} #${nth}`] = ok ? (returned ?? null) : { error, ...detail };
  });
  return result;
}
