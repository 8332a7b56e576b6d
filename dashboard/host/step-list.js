/**
 * The list of the steps of a script. One of them is chosen, by a click or by the arrows; what became of a step stands beside it.
 */
import { el, setText } from "../dom.js";
import { icon } from "../icons.js";
import { wordsOf } from "./script-steps.js";

/** @typedef {import("./script-steps.js").Step} Step */
/** What became of a step. @typedef {"ok" | "failed" | "faulty"} Mark */

/** The deepest indent that is shown. */
const DEEPEST = 6;

/** The argument that most lists of actions are in: it needs no word. */
const USUAL = "body";

/** One line of the list. */
function lineOf() {
  const number = el("span", { class: "step-number" });
  const list = el("span", { class: "hint" });
  const command = el("code", {});
  const words = el("span", { class: "step-words" });
  const mark = el("span", { class: "step-mark" });
  const choose = el(
    "button",
    { type: "button", tabindex: -1 },
    number,
    " ",
    list,
    " ",
    command,
    " ",
    words,
    " ",
    mark,
  );
  const item = el("li", {}, choose);
  /** @type {Mark | undefined} */
  let marked;
  return {
    item,
    choose,
    /** @param {Step} step @param {Step | undefined} before the one above */
    show(step, before) {
      item.dataset.depth = String(Math.min(DEEPEST, step.depth));
      setText(number, step.number);
      // Said where the list begins.
      const isFirst = before === undefined || before.list !== step.list || before.depth !== step.depth;
      setText(list, isFirst && step.list !== USUAL ? step.list : "");
      setText(command, step.command === "" ? "no action" : step.command);
      setText(words, wordsOf(step));
    },
    /** @param {Mark | undefined} of */
    mark(of) {
      // With each key, the marks of a thousand steps are taken back.
      if (of === marked) return;
      marked = of;
      mark.className = `step-mark ${of ?? ""}`;
      const shown =
        of === undefined ? [] : [icon(of === "ok" ? "ok" : "error"), el("span", { class: "unseen" }, of)];
      mark.replaceChildren(...shown);
    },
  };
}

/**
 * @param {(at: number, enters: boolean) => void} choose is called for the step that somebody chooses; `enters`: to go on in the text
 */
export function stepList(choose) {
  /** @type {Array<ReturnType<typeof lineOf>>} */
  const lines = [];
  let at = -1;
  const root = el("ol", { class: "script-steps", "aria-label": "Steps of the script" });

  root.addEventListener("click", (event) => {
    const to = lines.findIndex(({ item }) => event.target instanceof Node && item.contains(event.target));
    // A finger that chooses a step does not want the keyboard of the phone.
    const isTouch = event instanceof PointerEvent && event.pointerType === "touch";
    if (to >= 0) choose(to, !isTouch);
  });
  root.addEventListener("keydown", (event) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1 }[event.key];
    const line = to === undefined ? undefined : lines[to];
    if (to === undefined || !line) return;
    event.preventDefault();
    choose(to, false);
    line.choose.focus();
  });

  return {
    root,
    /** @param {readonly Step[]} steps */
    show(steps) {
      for (const { item } of lines.splice(steps.length)) item.remove();
      for (const [nth, step] of steps.entries()) {
        const line = lines[nth] ?? lineOf();
        if (nth === lines.length) {
          lines.push(line);
          root.append(line.item);
        }
        line.show(step, steps[nth - 1]);
      }
    },
    /** Shows which step is chosen; -1 for none. The list alone scrolls. @param {number} to */
    choose(to) {
      at = to;
      for (const [nth, { choose: button }] of lines.entries()) {
        // One stop for the tab key, however many steps there are.
        button.tabIndex = nth === Math.max(0, to) ? 0 : -1;
        if (nth === to) button.setAttribute("aria-current", "step");
        else button.removeAttribute("aria-current");
      }
      const { item } = lines[to] ?? {};
      if (!item) return;
      const top = item.offsetTop - root.offsetTop;
      const isSeen = top >= root.scrollTop && top + item.offsetHeight <= root.scrollTop + root.clientHeight;
      if (!isSeen) root.scrollTop = top - root.clientHeight / 3;
    },
    /** @param {ReadonlyMap<number, Mark>} marks by the places in the list */
    mark(marks) {
      for (const [nth, line] of lines.entries()) line.mark(marks.get(nth));
    },
  };
}
