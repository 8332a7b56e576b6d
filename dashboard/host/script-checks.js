/**
 * Checks of a script: a while after the last change, and when somebody asks. A fault is said with its step and its line, and leads there.
 */
import { ApiError } from "../api-error.js";
import { button, el, newId, setText } from "../dom.js";
import { counted } from "../format.js";
import { asError, notice } from "../parts.js";
import { againAfter, whenVisible } from "../view.js";
import { offsetAt, stepAt, stepOfPointer } from "./script-steps.js";

/** Milliseconds without a change after which the text is checked. */
const QUIET_MS = 500;

/** The most faults that are listed. */
const LISTED = 50;

/** @typedef {import("./script-steps.js").Step} Step */
/** @typedef {import("../wire").Answer<"execute/check">} Checked */
/** @typedef {{ line: number, column: number }} Place */
/** What is wrong, and where: the step (-1 for none), and the place in the text where that is known. @typedef {{ at: number, place: Place | null, words: string }} Fault */

/** @typedef {ReturnType<typeof import("./script-views.js").scriptViews>} Views */

/** What was found in the text, in words and as marks at its steps. @param {Views} views */
function verdictOf(views) {
  const { text } = views;
  const root = el("div", { role: "status", id: newId("verdict") });
  const state = el("span", { class: "hint" });
  text.setAttribute("aria-describedby", root.id);

  /** @param {readonly Node[]} said @param {boolean} isAsked whether somebody waits for it: what comes at each pause is not read out */
  function say(said, isAsked) {
    root.setAttribute("aria-live", isAsked ? "polite" : "off");
    root.replaceChildren(...said);
  }

  /** @param {readonly Fault[]} faults */
  function mark(faults) {
    /** @type {Map<number, import("./step-list.js").Mark>} */
    const marks = new Map();
    for (const { at } of faults) marks.set(at, "faulty");
    views.mark(marks);
    if (faults.length > 0) text.setAttribute("aria-invalid", "true");
    else text.removeAttribute("aria-invalid");
  }

  /** @param {Place} place */
  const goTo = ({ line, column }) => views.goTo(offsetAt(text.value, line, column));

  return {
    root,
    state,
    /** Takes back what is good, and with `all` also what is not. @param {boolean} all */
    clear(all) {
      setText(state, "");
      if (all) mark([]);
      else views.mark(new Map());
      if (!text.hasAttribute("aria-invalid")) say([], false);
    },
    /** @param {Checked} checked @param {boolean} isAsked */
    pass({ count, variables: { unset } }, isAsked) {
      mark([]);
      const actions = counted(count, "action");
      setText(state, `checked: ${actions}`);
      const good = notice("ok", `${actions} checked, no errors. Nothing has run.`);
      const names = unset.map((name) => `\${${name}}`).join(", ");
      const odd = unset.length > 0 ? [notice("warn", `No action sets ${names}.`)] : [];
      say(isAsked ? [good, ...odd] : odd, isAsked);
    },
    /** @param {Error} error @param {boolean} isAsked */
    fail(error, isAsked) {
      const steps = views.steps();
      const faults = error instanceof ApiError ? faultsIn(error, text.value, steps) : [];
      mark(faults);
      setText(state, faults.length > 0 ? counted(faults.length, "fault") : "");
      const items = faults.slice(0, LISTED).map((fault) => faultItem(fault, steps, goTo));
      const said =
        items.length > 0
          ? el("ul", { class: "advice" }, ...items)
          : el("div", { class: "prose" }, error.message);
      say([notice("error", said)], isAsked);
    },
  };
}

/**
 * @param {import("../view.js").View} view
 * @param {Views} views
 */
export function scriptChecks({ api, signal }, views) {
  const { text } = views;
  const verdict = verdictOf(views);
  const noted = el("div", { role: "status" });
  let timer = 0;
  let rounds = 0;

  /** Asks the server, in place of any check that is to come. */
  function ask() {
    clearTimeout(timer);
    rounds += 1;
    return api.post("execute/check", { text: text.value }, { changes: false });
  }

  /** @param {number} ms */
  function later(ms) {
    clearTimeout(timer);
    timer = setTimeout(() => whenVisible(signal, quietly), ms);
  }

  /** Asks, and says later whether its answer is of no use: the page was left, or what is asked since is of a newer text. */
  function asking() {
    const asked = ask();
    const nth = rounds;
    return { asked, isOver: () => signal.aborted || nth !== rounds };
  }

  async function quietly() {
    const { asked, isOver } = asking();
    try {
      const checked = await asked;
      if (!isOver()) verdict.pass(checked, false);
    } catch (error) {
      if (isOver()) return;
      if (!(error instanceof ApiError)) throw error;
      if (error.reason === "failed") return verdict.fail(error, false);
      // The shell says why there is no answer.
      const wait = againAfter(error);
      if (wait > 0) later(wait * 1_000);
    }
  }

  signal.addEventListener("abort", () => clearTimeout(timer));
  return {
    /** What was found. */
    root: el("div", { class: "script-verdict" }, noted, verdict.root),
    /** The same in a word or two. */
    state: verdict.state,
    /** The text has changed: it is checked once that has ceased. Its faults stay in sight until then; what was good need not be so now. */
    changed() {
      const isEmpty = text.value.trim() === "";
      rounds += 1;
      noted.replaceChildren();
      verdict.clear(isEmpty);
      if (isEmpty) clearTimeout(timer);
      else later(QUIET_MS);
    },
    /** Checks at once, and says what is good. @throws {ApiError} with what is not */
    async now() {
      const { asked, isOver } = asking();
      try {
        const checked = await asked;
        if (!isOver()) verdict.pass(checked, true);
      } catch (error) {
        if (!isOver()) throw error;
      }
    },
    /** The check before a run. @returns what the script says of its own run @throws {ApiError} */
    async before() {
      const { asked, isOver } = asking();
      const checked = await asked.catch((error) => {
        // Its places are not those of the text that is there now.
        throw isOver() ? new Error(`Before you changed it: ${asError(error).message}`) : error;
      });
      if (!isOver()) verdict.pass(checked, false);
      return checked.options ?? {};
    },
    /** What came of something that somebody has pressed. @param {Error | null} error null when it begins */
    tell(error) {
      noted.replaceChildren();
      if (error) verdict.fail(error, true);
      else verdict.clear(true);
    },
    /** @param {string} words */
    note: (words) => noted.replaceChildren(notice("info", el("span", { class: "prose" }, words))),
  };
}

/**
 * The faults that the server has named, each with its step; none where it says something else.
 *
 * @param {ApiError} error
 * @param {string} text
 * @param {readonly Step[]} steps
 * @returns {Fault[]}
 */
function faultsIn({ message, body: { problems } }, text, steps) {
  if (Array.isArray(problems) && problems.length > 0) {
    return problems.map(({ line, column, action = "", message: words = "", pointer = "" }) => {
      const at = stepOfPointer(steps, pointer);
      // The check says `actions[1].seconds`, of which the step is said already.
      const within = `actions${steps[at]?.place}`;
      const field =
        action === within ? "" : action.startsWith(`${within}.`) ? action.slice(within.length + 1) : action;
      const place = line === undefined ? null : { line, column };
      return { at, place, words: field === "" ? words : `${field}: ${words}` };
    });
  }
  // What is not JSON has one place.
  const [, line, column, words = ""] = /^script:(\d+):(\d+): (.*)$/s.exec(message) ?? [];
  if (line === undefined) return [];
  const place = { line: Number(line), column: Number(column) };
  return [{ at: stepAt(steps, offsetAt(text, place.line, place.column)), place, words }];
}

/**
 * @param {Fault} fault
 * @param {readonly Step[]} steps
 * @param {(place: Place) => void} goTo
 */
function faultItem({ at, place, words }, steps, goTo) {
  const step = steps[at];
  const where = [step && `step ${step.number}`, place && `line ${place.line}, column ${place.column}`];
  const said = where.filter(Boolean).join(", ");
  if (said === "") return el("li", { class: "prose" }, words);
  const begun = `${said.charAt(0).toUpperCase()}${said.slice(1)}`;
  const link = place && button(begun, () => goTo(place), { class: "place" });
  return el("li", { class: "prose" }, link ?? begun, `: ${words}`);
}
