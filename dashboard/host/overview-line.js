/**
 * The line at the top of the overview: whether all is well, or what is not, and what the server could not answer.
 */
import { el } from "../dom.js";
import { alertBox, notice } from "../parts.js";

/** @typedef {import("../dom.js").Child} Child */

/**
 * What the line says.
 *
 * @typedef {object} Said
 * @property {ReadonlyArray<"error" | "warn">} tones of what needs somebody
 * @property {boolean} isKnown whether all is known that it depends on
 * @property {readonly Child[]} parts what needs somebody, and what runs
 * @property {readonly Child[]} facts what else is to be known
 */

/**
 * A part of the line that leads to more about it.
 *
 * @param {string} sign
 * @param {string} text
 * @param {string} href
 */
export const chip = (sign, text, href) =>
  el("a", { class: "state-chip", href }, el("span", { "aria-hidden": "true" }, sign), ` ${text}`);

/** Something to know in the line. @param {string} text */
export const fact = (text) => el("span", {}, text);

export function stateLine() {
  const alert = alertBox();
  const waiting = el("p", { class: "hint loading" }, "Loading…");
  const says = el("div", { role: "status" });
  const root = el(
    "section",
    { class: "panel overview-line", "aria-label": "State" },
    alert.root,
    waiting,
    says,
  );
  /** What the server could not answer, by what was asked. @type {Map<string, import("../api-error.js").ApiError>} */
  const faults = new Map();
  /** What it says now; null before it is known. @type {Said | null} */
  let said = null;

  /** @param {Node | null} next */
  function put(next) {
    // Nobody hears the same again, and a link keeps the focus.
    if (next !== null && says.firstElementChild?.isEqualNode(next)) return;
    const focused = says.querySelector("a:focus")?.getAttribute("href");
    says.replaceChildren(...(next === null ? [] : [next]));
    for (const link of says.querySelectorAll("a"))
      if (focused != null && link.getAttribute("href") === focused) link.focus();
  }

  function draw() {
    if (said === null) return;
    const { tones, isKnown, parts, facts } = said;
    const isWell = tones.length === 0 && isKnown && faults.size === 0;
    const isSilent = tones.length === 0 && !isWell;
    // It is not known yet.
    if (isSilent && parts.every((part) => !part) && faults.size === 0) return;
    waiting.hidden = true;
    const tone = isWell ? "ok" : isSilent ? "none" : tones.includes("error") ? "error" : "warn";
    const words = isWell ? "All well" : isSilent && faults.size > 0 ? "Not all of it is known" : null;
    // They stand in what is shown now, with which the next is compared.
    const told = [...parts, ...facts].map((part) => (part instanceof Node ? part.cloneNode(true) : part));
    const all = [words !== null && el("strong", {}, words), ...told];
    put(notice(tone, el("div", { class: "state-parts" }, ...all)));
  }

  return {
    root,
    /** Begins anew, for another face of the page. */
    begin() {
      said = null;
      faults.clear();
      alert.tell(null);
      waiting.hidden = false;
      put(null);
    },
    /** @param {string} of @param {import("../api-error.js").ApiError | null} error null after a good answer */
    fail(of, error) {
      if (error === null) faults.delete(of);
      else faults.set(of, error);
      const [first = null] = faults.values();
      alert.tell(first);
      if (first) waiting.hidden = true;
      draw();
    },
    /** @param {Said} now */
    show(now) {
      said = now;
      draw();
    },
  };
}

/** @typedef {ReturnType<typeof stateLine>} StateLine */
