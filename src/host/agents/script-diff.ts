/**
 * A script as lines that a person reads, and what differs between two of them.
 */
import { diffArrays } from "diff";
import { mapTexts } from "../../lib/map-texts";
import { jsonLine } from "../../lib/sanitize";

/** How many lines that are the same stand around those that differ. */
const CONTEXT = 2;
/** Longer pictures are shown by their size; all other texts whole, as a person decides by them. */
const MAX_PICTURE = 400;
/** How PNG begins in base64, and what follows: nothing that a program would do anything with where it is typed. */
const PICTURE = /^iVBORw0KGgo[A-Za-z0-9+/]*={0,2}$/;

interface ScriptText {
  readonly parameters: readonly string[];
  readonly stop_on_error: unknown;
  readonly timeout_s: number;
  readonly pace?: number;
  readonly desktop?: unknown;
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
  readonly actions: readonly unknown[];
}

/** A line for each field and each action. */
export function linesOf({
  parameters,
  stop_on_error,
  timeout_s,
  pace,
  desktop,
  variables = {},
  actions,
}: ScriptText): string[] {
  const shown = (value: unknown) => jsonLine(mapTexts(value, shortened));
  return [
    `stop_on_error: ${shown(stop_on_error)}`,
    `timeout_s: ${timeout_s}`,
    ...(pace === undefined ? [] : [`pace: ${pace}`]),
    ...(desktop === undefined ? [] : [`desktop: ${shown(desktop)}`]),
    ...parameters.map((name) =>
      Object.hasOwn(variables, name)
        ? `parameter ${name} = ${shown(variables[name])}`
        : `parameter ${name}, which whoever runs it gives`,
    ),
    ...actions.map(shown),
  ];
}

const shortened = (text: string) =>
  text.length > MAX_PICTURE && PICTURE.test(text)
    ? `(${text.length} characters, sha256 ${Bun.SHA256.hash(text, "hex").slice(0, 12)})`
    : text;

/** What differs, marked by `- ` and `+ `; what is the same by two blanks, and `…` where more of it is left out. */
export function diffOf(before: ScriptText | undefined, now: ScriptText): string[] {
  const parts = diffArrays(before ? linesOf(before) : [], linesOf(now));
  const marked = parts.flatMap(({ added, removed, value }) =>
    value.map((line) => `${added ? "+" : removed ? "-" : " "} ${line}`),
  );
  const isNear = marked.map((_, at) =>
    marked.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => !line.startsWith(" ")),
  );
  return marked.flatMap((line, at) => (isNear[at] ? [line] : isNear[at - 1] || at === 0 ? ["  …"] : []));
}
