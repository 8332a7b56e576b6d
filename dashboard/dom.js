/**
 * Building the page. Text is set as text: whatever a host, a device or a file says can never become markup.
 */

/** @typedef {string | Node | false | null | undefined} Child */

/**
 * An element. Attributes that are false, null or undefined are left out; true ones are empty.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter(isShown));
  return element;
}

/**
 * @param {Child} child
 * @returns {child is string | Node}
 */
function isShown(child) {
  return child !== false && child !== null && child !== undefined;
}

/**
 * Sets the text of an element, and leaves one that says so already alone: nothing flickers, no selection is lost.
 *
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * @param {string} label
 * @param {() => void} act
 * @param {Record<string, string | boolean>} [attributes]
 */
export function button(label, act, attributes = {}) {
  const made = el("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}
