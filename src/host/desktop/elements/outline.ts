/**
 * A tree of elements as an indented outline, a line for each that says something: role, name, states.
 */
import { jsonLine } from "../../../lib/sanitize";
import type { Branch, Element, Tree } from "./calls";
import { STATES } from "./locator";
import { GENERIC } from "./roles";

/** What is there only to arrange others. */
const ARRANGING: ReadonlySet<string> = new Set([GENERIC, "group", "separator"]);

/** The lines; no text of a secret field is among them. */
export function outlineOf({ windows, more, deaf }: Tree): string[] {
  const lines: string[] = [];
  for (const window of windows) addLines(lines, window, 0);
  if (lines.length === 0) lines.push("no program shows anything by name");
  if (more) lines.push("# there is more: name a window, or a larger number");
  for (const program of deaf) lines.push(`# ${jsonLine(program)} did not answer`);
  return lines;
}

function addLines(lines: string[], { element, children }: Branch, depth: number): void {
  const isShown = element.name !== "" || !ARRANGING.has(element.role);
  if (isShown) lines.push(`${"  ".repeat(depth)}- ${lineOf(element)}`);
  for (const child of children) addLines(lines, child, isShown ? depth + 1 : depth);
}

function lineOf(element: Element): string {
  const { role, name, native_role, secret, enabled, visible } = element;
  const states = STATES.filter((state) => state !== "enabled" && element[state]);
  return [
    role === GENERIC ? native_role : role,
    ...(name === "" ? [] : [jsonLine(name)]),
    ...states.map((state) => `[${state}]`),
    ...(enabled ? [] : ["[disabled]"]),
    ...(visible ? [] : ["[hidden]"]),
    ...(secret ? ["[secret]"] : []),
  ].join(" ");
}
