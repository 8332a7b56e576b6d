/**
 * A tree as short lines for a reader that pays by the byte: what can be acted on first, with a reference, then texts, then what
 * only arranges others. Pure functions.
 */
import { jsonLine } from "../../../lib/sanitize";
import type { Branch, Element, Tree } from "./calls";
import { STATES } from "./locator";
import { labelText } from "./names";
import { GENERIC } from "./roles";
import { ACTIONABLE } from "./unique";

/** What an element is there for: a window, something to act on, a text to read, or something that arranges others. */
export type Use = "window" | "act" | "text" | "group";

/** An element of a snapshot. */
export interface Entry {
  readonly id: string;
  /** The entry that it is in; undefined for a window. */
  readonly parent: string | undefined;
  readonly use: Use;
  readonly element: Element;
  /** Role, name and states, without the reference. */
  readonly words: string;
}

/** The longest name or text of a line, in characters. */
export const MAX_SHOWN = 100;

const HOLDING: ReadonlySet<string> = new Set(["textbox", "spinbutton", "slider", "combobox", "progressbar"]);
const TEXTS: ReadonlySet<string> = new Set([
  ...["text", "heading", "paragraph", "alert", "status", "tooltip", "progressbar", "meter", "img", "log"],
  ...["caption", "definition", "term", "note"],
]);

const cut = (text: string) =>
  jsonLine([...text].length > MAX_SHOWN ? `${[...text].slice(0, MAX_SHOWN - 1).join("")}…` : text);

/** The elements of which a snapshot shows what they hold: never those that are secret. */
export const holders = (entries: readonly Entry[]): string[] =>
  entries.filter(({ element }) => HOLDING.has(element.role) && !element.secret).map(({ id }) => id);

/** What can be seen of a tree and says something, the window with the focus first. */
export function entriesOf({ windows }: Tree): Entry[] {
  const hasFocus = (branch: Branch): boolean => branch.element.focused || branch.children.some(hasFocus);
  return windows
    .filter(({ element }) => element.showing)
    .toSorted((a, b) => Number(hasFocus(b)) - Number(hasFocus(a)))
    .flatMap((window) => {
      const entries: Entry[] = [];
      addEntries(entries, window, undefined);
      const fields = new Set(entries.flatMap(({ use, element }) => (use === "act" ? [element.name] : [])));
      // A label says again what its field is called.
      return entries.filter(({ use, element }) => use !== "text" || !fields.has(labelText(element.name)));
    });
}

function addEntries(entries: Entry[], { element, children }: Branch, parent: string | undefined): void {
  const use = parent === undefined ? "window" : useOf(element);
  const id = element.native_id;
  if (use) entries.push({ id, parent, use, element, words: wordsOf(element) });
  for (const child of children) addEntries(entries, child, use ? id : parent);
}

function useOf({ role, name, showing }: Element): Use | undefined {
  if (!showing) return undefined;
  if (ACTIONABLE.has(role) || role === "document") return "act";
  if (TEXTS.has(role)) return name === "" ? undefined : "text";
  if (role === "dialog" || role === "window" || role === "menu") return "act";
  return name === "" || role === GENERIC ? undefined : "group";
}

function wordsOf(element: Element): string {
  const { role, name, native_role, enabled, secret } = element;
  return [
    role === GENERIC ? native_role : role,
    ...(name === "" ? [] : [cut(name)]),
    ...STATES.filter((state) => state !== "enabled" && element[state]),
    ...(enabled || role === "text" || role === "window" ? [] : ["disabled"]),
    ...(secret ? ["secret"] : []),
  ].join(" ");
}

/** The entries with what they hold. @param contents by id. */
export const withContents = (
  entries: readonly Entry[],
  contents: ReadonlyMap<string, string | null>,
): Entry[] =>
  entries.map((entry) => {
    const held = contents.get(entry.id);
    return held ? { ...entry, words: `${entry.words} = ${cut(held)}` } : entry;
  });

/** How many bytes a line takes in an answer. */
export const sizeOf = (line: string) => Buffer.byteLength(JSON.stringify(line)) + 1;

/** For the words of an answer around its lines. */
const RESERVED = 250;
const ORDER: readonly Use[] = ["window", "act", "text", "group"];

/** Lines, and how many entries are not among them. */
export interface Lines {
  readonly lines: readonly string[];
  readonly leftOut: Readonly<Record<"act" | "others", number>>;
}

/** @param most bytes. @param refOf the reference of an entry, made when it is first needed; without it the lines have none. */
export function linesOf(
  entries: readonly Entry[],
  most: number,
  refOf?: (entry: Entry) => string,
  mark = "",
): Lines {
  const depths = new Map<string, number>();
  for (const { id, parent } of entries)
    depths.set(id, parent === undefined ? 0 : (depths.get(parent) ?? -1) + 1);
  let left = most - RESERVED;
  const chosen = new Map<string, string>();
  for (const use of ORDER) {
    for (const entry of entries) {
      if (entry.use !== use) continue;
      const ref = refOf && (use === "act" || use === "window") ? ` [${refOf(entry)}]` : "";
      const app = use === "window" && entry.parent === undefined ? ` app ${cut(entry.element.app_name)}` : "";
      const line = `${mark}${" ".repeat(depths.get(entry.id) ?? 0)}${entry.words}${app}${ref}`;
      if (sizeOf(line) > left) continue;
      left -= sizeOf(line);
      chosen.set(entry.id, line);
    }
  }
  const out = entries.filter(({ id }) => !chosen.has(id));
  const act = out.filter(({ use }) => use === "act").length;
  return {
    lines: entries.flatMap(({ id }) => chosen.get(id) ?? []),
    leftOut: { act, others: out.length - act },
  };
}

/** What differs between two looks at the same windows. */
export interface Difference {
  readonly added: readonly Entry[];
  readonly changed: readonly Entry[];
  /** Of what is gone with all that was in it, the outermost alone. */
  readonly gone: readonly Entry[];
}

export function differenceOf(before: readonly Entry[], now: readonly Entry[]): Difference {
  const old = new Map(before.map((entry) => [entry.id, entry]));
  const here = new Set(now.map(({ id }) => id));
  const isGone = (id: string | undefined) => id !== undefined && old.has(id) && !here.has(id);
  return {
    added: now.filter(({ id }) => !old.has(id)),
    changed: now.filter(({ id, words }) => old.has(id) && old.get(id)?.words !== words),
    gone: before.filter(({ id, parent }) => isGone(id) && !isGone(parent)),
  };
}
