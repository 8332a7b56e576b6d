/**
 * What a broadcast left to do: the hosts of its results that ended in a certain way.
 */
import * as v from "valibot";
import { badInput } from "../lib/errors";
import { DELIVERY_STATUS, type DeliveryStatus } from "./delivered";

const ENTRY = v.object({ label: v.string(), status: v.picklist(DELIVERY_STATUS) });

/**
 * The labels that have one of the statuses of `only` in `results` (a result a line, or one JSON array), in their order.
 *
 * @throws a `bad_input` failure for what are no results, or a status that is none.
 */
export function labelsToRetry(results: string, only: string): string[] {
  const statuses = only.split(",").map((status) => status.trim());
  const odd = statuses.find((status) => !DELIVERY_STATUS.some((known) => known === status));
  if (odd !== undefined)
    throw badInput(`only: expected some of ${DELIVERY_STATUS.join(", ")} but found "${odd}"`);
  const last = new Map<string, DeliveryStatus>();
  for (const { label, status } of entriesIn(results)) last.set(label, status);
  return [...last].filter(([, status]) => statuses.includes(status)).map(([label]) => label);
}

function entriesIn(text: string): Array<v.InferOutput<typeof ENTRY>> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  try {
    return lines
      .map((line): unknown => JSON.parse(line))
      .flatMap((entry) => v.parse(v.array(ENTRY), [entry].flat()));
  } catch {
    throw badInput("retry: expected results of a broadcast, one a line");
  }
}
