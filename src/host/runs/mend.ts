/**
 * The mend request of a run: of the action that failed last, the innermost, where it had to find an element.
 */
import * as v from "valibot";
import { MEND, type Mend, type RunMend } from "../../core/mend";
import type { Outcome } from "../../core/run";

/** @returns undefined where nothing failed that names an element. */
export function mendIn(outcomes: readonly Outcome[]): RunMend | undefined {
  const failed = outcomes
    .map((outcome, at) => ({ ...outcome, step: at + 1 }))
    .filter(({ ok }) => !ok)
    .toReversed();
  for (const { step, ...outcome } of failed) {
    const found = innermost(outcome);
    if (found) return { step, command: found.command, ...found.mend };
  }
  return undefined;
}

/** What runs keep of outcomes was checked before, and outcomes of other hosts may be anything. */
const DETAIL = v.object({ mend: MEND });

function innermost(outcome: Outcome): { readonly command: string; readonly mend: Mend } | undefined {
  const { command, detail, ok } = outcome;
  if (ok) return undefined;
  const inside: unknown = detail?.outcomes;
  const nested = Array.isArray(inside) ? (inside as Outcome[]) : [];
  for (const one of nested.toReversed()) {
    const found = innermost(one);
    if (found) return found;
  }
  return v.is(DETAIL, detail) ? { command, mend: detail.mend } : undefined;
}
