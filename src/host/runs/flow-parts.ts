/**
 * What the flow commands share, but for what all commands with lists inside do (`core/nested-lists.ts`).
 */
import { ACTION_LIST, field } from "../../core/fields";
import type { RunContext } from "../../core/run";
import { isExpressionAlone, isReference } from "./variables";

export const body = field(ACTION_LIST, "Actions to run, up to the first that fails");

const IN_LISTS = "it has a meaning inside a list of actions only";

/** What the definitions of all of them say. */
export const FLOW = { scope: "operate", leftOut: { http: IN_LISTS, cli: IN_LISTS } } as const;

/** Whether the action's field `field` is one `${…}` or `${= …}` and nothing else, and that is no secret. */
export function isShownAlone(run: RunContext, field: string): boolean {
  const written = run.written(field);
  return (isReference(written) || isExpressionAlone(written)) && run.isShown(written);
}
