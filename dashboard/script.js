/**
 * An action script as it is written, and what became of one action.
 */

/**
 * The list in a script; `{"auto_control": […]}` around it is taken off.
 *
 * @param {string} text
 * @returns {unknown[]}
 * @throws {Error} for what is no such list
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
