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
 * The list in a script, with or without `{"auto_control": […]}` around it.
 *
 * @param {string} text
 * @returns {unknown[]}
 * @throws {Error} if it is not JSON or not a list
 */
export function parseScript(text) {
  let script;
  try {
    script = JSON.parse(text.trim() || "[]");
  } catch (error) {
    throw new Error(`Not JSON: ${error instanceof Error ? error.message : error}`);
  }
  const list = script?.auto_control ?? script;
  if (!Array.isArray(list)) throw new Error('A script is a list of actions: [["NAME", {…}], …]');
  return list;
}
