/**
 * Reading an action script, and choosing when its run stops.
 */
import { ApiError } from "../api-error.js";
import { el } from "../dom.js";

/** What a run does after an action that failed, and `stop_on_error` for it. */
const STOPS = /** @type {const} */ ([
  ["go on with the next", false],
  ["stop", true],
  ["stop if a window is missing", "focus"],
]);

/** A field for `stop_on_error`. @param {unknown} [initial] what is chosen at first */
export function stopChoice(initial = false) {
  const root = el("select", {}, ...STOPS.map(([label]) => el("option", {}, label)));
  root.selectedIndex = Math.max(
    0,
    STOPS.findIndex(([, stop]) => stop === initial),
  );
  return { root, value: () => STOPS[root.selectedIndex]?.[1] ?? false };
}

/** Why a text is no script: it is not even JSON. */
class NotJson extends Error {
  constructor() {
    super("The list is not JSON.");
  }
}

/**
 * A field for a list of actions; its text goes with the tab, like the token.
 *
 * @param {string} key where the tab keeps it
 * @param {string} usual
 * @param {import("../dom.js").Attributes} attributes
 */
export function draftField(key, usual, attributes) {
  const field = el("textarea", { spellcheck: "false", ...attributes });
  const kept = () => sessionStorage.getItem(key) ?? usual;
  field.value = kept();
  field.addEventListener("input", () => sessionStorage.setItem(key, field.value));
  // Another field of the same list may have changed it.
  field.addEventListener("focus", () => {
    if (field.value !== kept()) field.value = kept();
  });
  return field;
}

/**
 * {@link parseScript}; where the text is not JSON, the server says where and what it expected there.
 *
 * @param {import("../api.js").Api} api
 * @param {string} text
 */
export async function readScript(api, text) {
  try {
    return parseScript(text);
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    const said = await api.post("execute/check", { text }, { changes: false }).catch((refusal) => refusal);
    // A token without `read` may not ask: it gets the words of the browser.
    throw said instanceof ApiError && said.status === 400 ? said : error;
  }
}

/**
 * The list in a script, also in `{"auto_control": […]}` or `{…, "actions": […]}`.
 *
 * @param {string} text
 * @returns {{ actions: unknown[], says: boolean }} `says`: whether it says something of its run
 * @throws {Error} if it is not JSON or has no list
 */
export function parseScript(text) {
  let script;
  try {
    script = JSON.parse(text.trim() || "[]");
  } catch {
    throw new NotJson();
  }
  const key = ["auto_control", "actions"].find((name) => script?.[name] !== undefined);
  const list = key === undefined ? script : script[key];
  if (!Array.isArray(list)) throw new Error('A script is a list of actions: [["NAME", {…}], …]');
  return { actions: list, says: key === "actions" };
}
