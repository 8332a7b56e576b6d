/**
 * A script as two views of one text: the list of its steps, and the text, which is kept as it is written. A step that is chosen in the list has
 * the caret in the text, and the caret chooses the step.
 */
import { el, setText } from "../dom.js";
import { draftField } from "./script.js";
import { additionTo, movedSteps, stepAt, stepsIn } from "./script-steps.js";
import { stepList } from "./step-list.js";

/** @typedef {import("./script-steps.js").Step} Step */

/** What is said below a list that is not of the text as it is now. */
const OF_BEFORE = "This is no list in JSON: the steps are those of before.";

/**
 * @param {AbortSignal} signal
 * @param {{
 *   key: string,
 *   usual: string,
 *   parametersOf: import("./script-steps.js").ParametersOf,
 *   chosen: (step: Step | null) => void,
 *   changed: () => void,
 * }} of `key`: where the tab keeps the text, which is `usual` at first; `changed` is called with each change of the text
 */
export function scriptViews(signal, { key, usual, parametersOf, chosen, changed }) {
  const text = draftField(key, usual, { rows: 18, wrap: "off", "aria-label": "Script, as JSON" });
  const list = stepList(pick);
  const about = el("p", { class: "hint" });
  /** @type {Step[]} */
  let steps = [];
  /** The text that they are of. */
  let read = "";
  let at = 0;

  /** Reads the steps of the text. While that is not JSON, those of before are listed, at their places. */
  function look() {
    const now = text.value;
    const isEmpty = now.trim() === "";
    const found = isEmpty ? [] : stepsIn(now, parametersOf);
    steps = found ?? movedSteps(steps, read, now);
    read = now;
    list.show(steps);
    list.root.classList.toggle("stale", found === null);
    setText(about, found === null ? OF_BEFORE : steps.length === 0 ? "No steps yet." : "");
    follow();
  }

  /** Chooses the step at the caret; between two of them, the one before stays chosen. */
  function follow() {
    const here = document.activeElement === text ? stepAt(steps, text.selectionStart) : -1;
    show(here < 0 ? Math.min(at, steps.length - 1) : here);
  }

  /** @param {number} to */
  function show(to) {
    at = to;
    list.choose(to);
    chosen(steps[to] ?? null);
  }

  /** @param {number} to @param {boolean} enters */
  function pick(to, enters) {
    const step = steps[to];
    if (!step) return;
    show(to);
    putCaret(text, step.start);
    if (enters) text.focus();
  }

  text.addEventListener("input", () => {
    look();
    changed();
  });
  document.addEventListener("selectionchange", () => document.activeElement === text && follow(), { signal });
  look();

  return {
    text,
    root: el("div", { class: "script-views" }, el("div", { class: "stack" }, list.root, about), text),
    /** The steps of the text as it is now. */
    steps: () => steps,
    /** Reads them anew: the names of arguments have come. */
    look,
    mark: list.mark,
    /** Chooses a step, and puts the caret there unless somebody writes. @param {number} to */
    choose(to) {
      const step = steps[to];
      if (!step || document.activeElement === text) return;
      show(to);
      putCaret(text, step.start);
    },
    /** Goes on in the text. @param {number} offset */
    goTo(offset) {
      putCaret(text, offset);
      text.focus();
    },
    /** Appends an action to the list, which stays as it is written. @param {readonly unknown[]} action @returns whether there is a list */
    add(action) {
      const addition = additionTo(text.value, action);
      if (!addition) return false;
      text.setRangeText(addition.words, addition.from, addition.to);
      text.dispatchEvent(new Event("input"));
      putCaret(text, addition.at);
      show(stepAt(steps, addition.at));
      return true;
    },
  };
}

/** Puts the caret there, and shows its line. @param {HTMLTextAreaElement} text @param {number} offset */
function putCaret(text, offset) {
  text.setSelectionRange(offset, offset);
  const height = Number.parseFloat(getComputedStyle(text).lineHeight);
  // No line wraps.
  const top = (text.value.slice(0, offset).split("\n").length - 1) * height;
  const isSeen = top >= text.scrollTop && top + height <= text.scrollTop + text.clientHeight;
  if (!isSeen) text.scrollTop = top - text.clientHeight / 3;
}
