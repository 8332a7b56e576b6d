/**
 * Reading an action script, and choosing when its run stops.
 */
import { el } from "../dom.js";

/** What a run does after an action that failed, and `stop_on_error` for it. */
const STOPS = /** @type {const} */ ([
  ["go on with the next", false],
  ["stop", true],
  ["stop if a window is missing", "focus"],
]);

/** A field for `stop_on_error`. */
export function stopChoice() {
  const root = el("select", {}, ...STOPS.map(([label]) => el("option", {}, label)));
  return { root, value: () => STOPS[root.selectedIndex]?.[1] ?? false };
}

/**
 * The list in a script, also in `{"auto_control": […]}` or `{…, "actions": […]}`, and the script with another list.
 *
 * @param {string} text
 * @returns {{ actions: unknown[], says: boolean, withActions(actions: unknown[]): unknown }} `says`: whether it says something of its run
 * @throws {Error} if it is not JSON or has no list
 */
export function parseScript(text) {
  let script;
  try {
    script = JSON.parse(text.trim() || "[]");
  } catch (error) {
    throw new Error(`Not JSON: ${error instanceof Error ? error.message : error}`);
  }
  const key = ["auto_control", "actions"].find((name) => script?.[name] !== undefined);
  const list = key === undefined ? script : script[key];
  if (!Array.isArray(list)) throw new Error('A script is a list of actions: [["NAME", {…}], …]');
  return {
    actions: list,
    says: key === "actions",
    withActions: (actions) => (key === undefined ? actions : { ...script, [key]: actions }),
  };
}
