/**
 * A script of what an agent did: a pure function of its acts. What was typed becomes parameters; a secret one has no value.
 */
import type { ScriptAction } from "../../core/acted";
import { at, put } from "./acts";
import type { Act } from "./store";

/** A script that is made of acts. */
export interface KeptScript {
  readonly actions: ScriptAction[];
  readonly parameters: string[];
  /** Their values where nobody says another. */
  readonly variables: Record<string, unknown>;
}

/** Shorter values occur in any name. */
const MIN_VALUE = 3;
/** The longest name of a parameter, without what tells it from others. */
const MAX_NAME = 40;

/** @param secrets the secret of the host that a parameter is filled with, by the name of the parameter. */
export function scriptOf(acts: readonly Act[], secrets: ReadonlyMap<string, string> = new Map()): KeptScript {
  const names = new Map<string, string>();
  const values = new Map<string, string>();
  const parameters = new Set<string>();
  const actions: ScriptAction[] = [];
  const free = (wanted: string) => {
    let name = wanted;
    for (let nth = 2; parameters.has(name); nth++) name = `${wanted}_${nth}`;
    return name;
  };
  const parameterFor = (label: string, secret: boolean, value: string): string => {
    // The same field, and the same value in it, is the same parameter; a secret field has one value.
    const key = JSON.stringify([label, secret ? null : value]);
    const known = names.get(key);
    if (known !== undefined) return known;
    const name = free(wordOf(label) || (secret ? "password" : "text"));
    names.set(key, name);
    parameters.add(name);
    if (!secret) values.set(name, value);
    return name;
  };
  const filled = (name: string) => (secrets.has(name) ? `\${secret:${secrets.get(name)}}` : `\${${name}}`);
  for (const { action, typed, checks } of acts) {
    const [command, input] = structuredClone(action);
    mapElements(input, (line) => withParameters(line, values));
    for (const { path, label, secret } of typed) {
      const value = at(input, path);
      if (typeof value !== "string" || (value === "" && !secret) || /\$\{/.test(value)) continue;
      put(input, path, filled(parameterFor(label, secret, value)));
    }
    const before = actions.at(-1);
    const isSame = JSON.stringify(before) === JSON.stringify([command, input]);
    // Each key of a secret text was an act.
    if (isSame && command === "AC_write" && typed.some(({ secret }) => secret)) continue;
    actions.push([command, input]);
    for (const [name, given] of structuredClone(checks)) {
      mapElements(given, (line) => withParameters(line, values));
      if (typeof given.holds === "string") given.holds = exactly(given.holds, values);
      actions.push([name, given]);
    }
  }
  const own = [...parameters].filter((name) => !secrets.has(name));
  return { actions, parameters: own, variables: Object.fromEntries(values) };
}

/** The name of a field as that of a variable; empty where nothing of it can be one. */
const wordOf = (label: string): string =>
  label
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[_0-9]+|_+$/g, "")
    .slice(0, MAX_NAME);

/** The locators of an action, and of those inside it. */
function mapElements(value: unknown, change: (line: string) => string): void {
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    if (key === "element" && typeof item === "string") Object.assign(value, { [key]: change(item) });
    else mapElements(item, change);
  }
}

const exactly = (text: string, values: ReadonlyMap<string, string>): string => {
  for (const [name, value] of values) if (value === text) return `\${${name}}`;
  return text;
};

/** A locator with the values that were typed before as their parameters: `row contains "${customer}"`. */
function withParameters(line: string, values: ReadonlyMap<string, string>): string {
  if (line.includes("${")) return line;
  return line.replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => {
    for (const [name, value] of values) {
      // What is quoted in a locator would have to be escaped in the value too.
      if (value.length < MIN_VALUE || JSON.stringify(value) !== `"${value}"`) continue;
      const whole = new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(value)}(?![\\p{L}\\p{N}])`, "u");
      if (whole.test(quoted)) return quoted.replace(whole, () => `\${${name}}`);
    }
    return quoted;
  });
}

/** The acts in words, without what was typed. */
export const wordsOf = ({ action: [command, input] }: Act): string => {
  const { element, title_substring: title, path, image } = input;
  const [said] = [element, title, path].filter((one) => typeof one === "string");
  return [
    command.replace(/^AC_/, "").replaceAll("_", " "),
    said ?? (image === undefined ? "" : "by a picture"),
  ]
    .filter((word) => word !== "")
    .join(" ");
};
