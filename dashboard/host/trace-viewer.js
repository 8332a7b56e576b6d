/**
 * One trace, a step at a time: the same in the dashboard and in the file that `svc trace export` writes.
 */
import { button, el, setText, svg } from "../dom.js";
import { counted, milliseconds } from "../format.js";
import {
  detailsOf,
  failureIn,
  LANE,
  lanesOf,
  marksOf,
  outcomeOf,
  picture,
  placeOf,
  WIDTH,
} from "./trace-parts.js";
import { filesOf } from "./zip.js";

/** @typedef {import("./trace-parts.js").Step} Step */

/**
 * One trace, a step at a time.
 *
 * @param {AbortSignal} signal
 * @param {{ closes: boolean, looked?: (step: Step) => void }} options `closes`: whether it can be closed; `looked` is called for each step that
 *   it shows
 */
export function createViewer(signal, { closes, looked = () => {} }) {
  /** @type {Map<string, Blob>} */
  let files = new Map();
  /** @type {Step[]} */
  let steps = [];
  /** The buttons of the steps, and what a search looks through. @type {Array<{ item: HTMLLIElement, choose: HTMLButtonElement, text: string }>} */
  let entries = [];
  let at = 0;
  const where = el("strong", { role: "status" });
  const about = el("p", { class: "hint" });
  const details = el("dl", { class: "step" });
  const before = picture("Before");
  const after = picture("After");
  const timeline = svg("svg", {
    class: "timeline",
    viewBox: `0 0 ${WIDTH} ${LANE}`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  /** The names of the lanes, where several hosts have taken part. */
  const lanes = el("ol", { class: "lanes", "aria-label": "Hosts", hidden: true });
  const list = el("ol", { class: "steps", "aria-label": "Steps" });
  const search = el("input", {
    type: "search",
    placeholder: "Search the steps",
    "aria-label": "Search the steps",
  });
  const none = el("p", { class: "hint", hidden: true }, "No step has this text.");
  const root = el(
    "section",
    { class: "trace", "aria-label": "Steps of the trace", hidden: true, tabindex: -1 },
    about,
    el("div", { class: "film" }, lanes, timeline),
    el(
      "div",
      { class: "tools" },
      button("Back", () => go(at - 1)),
      button("Next", () => go(at + 1), { class: "primary" }),
      button("Next failure", () => {
        const next = steps.findIndex(({ ok }, index) => index > at && ok === false);
        go(next < 0 ? steps.findIndex(({ ok }) => ok === false) : next);
      }),
      closes &&
        button("Close", () => {
          root.hidden = true;
        }),
      where,
    ),
    el(
      "div",
      { class: "stepped" },
      el("div", { class: "chosen" }, search, none, list),
      el("div", {}, details, el("div", { class: "pictures" }, before.root, after.root)),
    ),
  );
  root.addEventListener("keydown", ({ key, target }) => {
    if (target === search) return;
    if (key === "ArrowRight") go(at + 1);
    if (key === "ArrowLeft") go(at - 1);
  });
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    for (const { item, text } of entries) item.hidden = !text.includes(wanted);
    none.hidden = entries.some(({ item }) => !item.hidden);
  });
  signal.addEventListener("abort", () => {
    before.show(undefined);
    after.show(undefined);
  });

  /** @param {number} to */
  function go(to) {
    if (to < 0 || to >= steps.length) return;
    entries[at]?.choose.removeAttribute("aria-current");
    at = to;
    const step = steps[at];
    if (!step) return;
    const { choose } = entries[at] ?? {};
    choose?.setAttribute("aria-current", "step");
    // Not `scrollIntoView`: that would scroll the page too.
    if (choose) list.scrollTop = choose.offsetTop - list.offsetTop - list.clientHeight / 2;
    for (const [index, mark] of [...timeline.children].entries()) mark.classList.toggle("here", index === at);
    setText(where, `Step ${at + 1} of ${steps.length}`);
    details.replaceChildren(...detailsOf(step));
    const used = placeOf(step.result);
    before.show(files.get(step.before ?? ""), used);
    after.show(files.get(step.after ?? ""), used);
    looked(step);
  }

  /**
   * @param {Step} step
   * @param {number} index
   */
  function entryOf(step, index) {
    const { number, command, ok, at_ms, element, host } = step;
    const lane = host === undefined ? null : el("span", { class: "hint" }, `${host} `);
    const choose = button(
      [`${number} ${command} `, lane, ok === true ? null : outcomeOf(ok)],
      () => go(index),
      {
        title: `after ${milliseconds(at_ms)}${element === undefined ? "" : `: ${element}`}`,
      },
    );
    const { before: _before, after: _after, ...texts } = step;
    return { item: el("li", {}, choose), choose, text: JSON.stringify(texts).toLowerCase() };
  }

  return {
    root,
    /** The steps of the trace that it shows. */
    steps: () => steps,
    /**
     * Opens a trace at the step that made the run fail, or else at the first.
     *
     * @param {Blob} archive
     * @param {{ takesFocus?: boolean }} [options] whether who looks goes on in it
     * @throws {Error} when it is no trace
     */
    async show(archive, { takesFocus = true } = {}) {
      const found = await filesOf(archive);
      const run = await jsonIn(found, "run.json");
      const listed = await jsonIn(found, "steps.json");
      if (run?.format !== "svc-trace" || !Array.isArray(listed)) throw new Error("This is not a trace.");
      if (signal.aborted) return;
      files = found;
      steps = listed;
      entries = steps.map(entryOf);
      list.replaceChildren(...entries.map(({ item }) => item));
      const hosts = lanesOf(steps);
      lanes.hidden = hosts.length < 2;
      lanes.replaceChildren(...hosts.map((host) => el("li", {}, host ?? "this host")));
      timeline.setAttribute("viewBox", `0 0 ${WIDTH} ${LANE * hosts.length}`);
      timeline.style.height = `${1.25 * hosts.length}rem`;
      timeline.replaceChildren(...marksOf(steps, hosts, go));
      search.value = "";
      none.hidden = true;
      const omitted =
        run.omitted_steps > 0 ? ` The first ${counted(run.omitted_steps, "step")} were left out.` : "";
      setText(about, `Run ${run.run_id}: ${run.status}. ${run.error_text ?? ""}${omitted}`);
      root.hidden = false;
      setText(where, "No steps");
      go(Math.max(0, failureIn(steps)));
      if (!takesFocus) return;
      root.scrollIntoView({ block: "nearest" });
      root.focus({ preventScroll: true });
    },
  };
}

/**
 * @param {ReadonlyMap<string, Blob>} files
 * @param {string} name
 * @returns {Promise<any>} undefined where it is missing or no JSON
 */
async function jsonIn(files, name) {
  const text = await files.get(name)?.text();
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}
