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
 * @property {readonly Child[]} facts what is shown besides: the number of hosts, the display, the link
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
  /** What a screen reader has read out last, without its numbers: one that changes is not read out each time. */
  let heard = "";

  /** @param {Node | null} next @param {string} [about] the same while only numbers in it differ */
  function put(next, about = "") {
    // Nobody hears the same again, and a link keeps the focus.
    if (next !== null && says.firstElementChild?.isEqualNode(next)) return;
    const focused = says.querySelector("a:focus")?.getAttribute("href");
    says.setAttribute("aria-live", about === heard ? "off" : "polite");
    heard = about;
    says.replaceChildren(...(next === null ? [] : [next]));
    const links = [...says.querySelectorAll("a")];
    if (focused != null) links.find((link) => link.getAttribute("href") === focused)?.focus();
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
    const about = parts.map((part) => (part instanceof Node ? part.textContent : part) || "").join("\n");
    put(
      notice(tone, el("div", { class: "state-parts" }, ...all)),
      `${tone} ${words} ${about.replaceAll(/\d[\d\s.,]*/g, "")}`,
    );
  }

  return {
    root,
    /** Begins anew, for another face of the page. @param {readonly string[]} keeps what is asked for whichever it is */
    begin(keeps) {
      said = null;
      for (const of of faults.keys()) if (!keeps.includes(of)) faults.delete(of);
      const [first = null] = faults.values();
      alert.tell(first);
      waiting.hidden = first !== null;
      put(null);
    },
    /** @param {string} of @param {import("../api-error.js").ApiError | null} error null after a good answer */
    fail(of, error) {
      // Thousands of events say each that all is well.
      if (error === null && !faults.has(of)) return;
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
