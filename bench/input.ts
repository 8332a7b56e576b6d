/**
 * What a client may cost that sends as many mistakes as it can: the answer names a few of them, and costs about as much
 * as reading them.
 */
import * as v from "valibot";
import { checkInput } from "../src/core/input";
import { fromQuery } from "../src/core/text";
import { type Figure, paired, timed } from "./support";

const SCHEMA = v.strictObject({ tags: v.optional(v.array(v.string())) });

export async function bench(): Promise<Figure[]> {
  const names = Array.from({ length: 50_000 }, (_, nth) => nth.toString(36));
  const query = names.join("&");
  const body = JSON.stringify({ tags: Array(400_000).fill(0) });
  return [
    {
      ...(await against(
        () => refused(fromQuery(SCHEMA, new URLSearchParams(query))),
        () => Object.fromEntries(new URLSearchParams(query)),
      )),
      name: "refusing a query of 50,000 unknown fields against reading it",
      goal: "<= 4",
    },
    {
      ...(await against(
        () => refused(JSON.parse(body)),
        () => JSON.parse(body),
      )),
      name: "refusing a list of 400,000 wrong values against reading it",
      goal: "<= 4",
    },
  ];
}

function refused(input: unknown): void {
  if (checkInput(SCHEMA, input).ok) throw new Error("expected it to be refused");
}

async function against(subject: () => void, baseline: () => void): Promise<Pick<Figure, "ratio" | "detail">> {
  const pair = await paired(timed(subject), timed(baseline), 11);
  return { ratio: pair.ratio, detail: `${pair.subject.toFixed(1)} / ${pair.baseline.toFixed(1)} ms` };
}
