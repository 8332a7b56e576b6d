/**
 * Reading an action script.
 */

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
