/**
 * A mend request: a step of a script no longer fits what programs show. What the step expected, and what is there.
 *
 * Promise: as JSON it has {@link MAX_MEND} bytes at most, whatever programs call their windows.
 */
import * as v from "valibot";

/** The most of a request as JSON, in bytes. */
export const MAX_MEND = 2_048;

/** The longest locator in one, in characters, and how many are compared. */
const MAX_LINE = 400;
const MAX_THERE = 12;
const MAX_WINDOWS = 6;

export const MEND = v.object({
  /** The locator of the step, in one line. */
  expected: v.string(),
  /** Nothing matches; several elements do; it is there and cannot be used; or it is not as the step says. */
  problem: v.picklist(["missing", "several", "unusable", "differs"]),
  /** What is there, the nearest first: locators in one line. They are untrusted text of programs. */
  there: v.array(v.string()),
  /** The titles of windows, where none is the one that was expected. Untrusted too. */
  windows: v.array(v.string()),
});
export type Mend = v.InferOutput<typeof MEND>;

/** {@link MEND} with its place in a run. */
export const RUN_MEND = v.object({
  /** Which action of the list, from 1; for one inside another, the outer one. */
  step: v.number(),
  command: v.string(),
  ...MEND.entries,
});
export type RunMend = v.InferOutput<typeof RUN_MEND>;

const cut = (text: string) =>
  text.length > MAX_LINE ? `${text.slice(0, MAX_LINE - 1).toWellFormed()}…` : text;

/** `mend`, cut to what fits: the nearest that are there stay. */
export function boundedMend({ expected, problem, there, windows }: Mend): Mend {
  const made: Mend = { expected: cut(expected), problem, there: [], windows: [] };
  // For the place in the run.
  let left = MAX_MEND - 150 - Buffer.byteLength(JSON.stringify(made));
  const add = (list: string[], lines: readonly string[], most: number) => {
    for (const line of [...new Set(lines)].slice(0, most)) {
      const bytes = Buffer.byteLength(JSON.stringify(cut(line))) + 1;
      if (bytes > left) continue;
      left -= bytes;
      list.push(cut(line));
    }
  };
  add(made.windows, windows, MAX_WINDOWS);
  add(made.there, there, MAX_THERE);
  return made;
}

/** The request in lines for a person. */
export function mendLines({ step, command, expected, problem, there, windows }: RunMend): string[] {
  const wrong = {
    missing: "is not there",
    several: "names several elements",
    unusable: "is there and cannot be used",
    differs: "is not as the step says",
  };
  return [
    `step ${step}, ${command}: ${expected} ${wrong[problem]}`,
    ...(windows.length > 0 ? ["windows:", ...windows.map((title) => `  ${title}`)] : []),
    ...(there.length > 0 ? ["there is:", ...there.map((line) => `  ${line}`)] : []),
  ];
}
