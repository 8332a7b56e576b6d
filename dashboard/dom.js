/**
 * Builds elements. Text is set as text: nothing that a host, a device or a file says can become markup.
 */

/** @typedef {string | Node | false | null | undefined} Child */
/** @typedef {Record<string, string | number | boolean | null | undefined>} Attributes */

/**
 * An element. False, null and undefined attributes are omitted; true ones are empty.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(
    ...children.filter(isShown).map((child) => (typeof child === "string" ? plain(child) : child)),
  );
  return element;
}

/**
 * `text` with control characters escaped, except line feeds and tabs; so are those that reorder text on the screen
 * (Unicode UAX #9, CVE-2021-42574).
 *
 * @param {string} text
 */
const plain = (text) =>
  text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const SVG = "http://www.w3.org/2000/svg";

/**
 * {@link el} for SVG.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...SVGElement} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

/**
 * @param {Child} child
 * @returns {child is string | Node}
 */
function isShown(child) {
  return child !== false && child !== null && child !== undefined;
}

/**
 * Sets the text of an element if it differs, so that nothing flickers and no selection is lost.
 *
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  const shown = plain(text);
  if (element.textContent !== shown) element.textContent = shown;
}

/**
 * @param {Child | readonly Child[]} label
 * @param {() => void} act
 * @param {Attributes} [attributes]
 */
export function button(label, act, attributes = {}) {
  const made = el("button", { type: "button", ...attributes }, ...[label].flat());
  made.addEventListener("click", act);
  return made;
}

let ids = 0;

/**
 * An id that no other element has.
 *
 * @param {string} name its beginning
 */
export function newId(name) {
  ids += 1;
  return `${name}-${ids}`;
}

/**
 * A labelled field of a form.
 *
 * @template {HTMLElement} Field
 * @param {string} label
 * @param {Field} field
 * @param {string} [hint]
 */
export function labelled(label, field, hint) {
  field.id ||= newId("field");
  const about = hint ? el("p", { class: "hint", id: newId("hint") }, hint) : null;
  if (about) field.setAttribute("aria-describedby", about.id);
  return el("div", { class: "field" }, el("label", { for: field.id }, label), field, about);
}
