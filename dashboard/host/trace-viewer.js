/**
 * One trace, a step at a time: the same in the dashboard and in the file that `svc trace export` writes.
 */
import { button, el, setText, svg } from "../dom.js";
import { counted, milliseconds } from "../format.js";
import { badge, json, prose } from "../parts.js";
import { filesOf } from "./zip.js";

/**
 * A step as `steps.json` has it.
 *
 * @typedef {object} Step
 * @property {number} number
 * @property {string} place
 * @property {string} command
 * @property {string} [host]
 * @property {unknown} arguments
 * @property {number} at_ms
 * @property {number | null} duration_ms
 * @property {boolean | null} ok
 * @property {unknown} [result]
 * @property {string} [error]
 * @property {{ expected: string, problem: string, there: string[], windows: string[] }} [mend]
 * @property {string | null} before
 * @property {string | null} after
 * @property {string} [no_picture]
 * @property {string} [element]
 * @property {string[]} [tree]
 */

/** The width of the timeline, and the height of a lane in it, in its own units. */
const WIDTH = 1_000;
const LANE = 20;

/**
 * One trace, a step at a time.
 *
 * @param {AbortSignal} signal
 * @param {{ closes: boolean }} options whether it can be closed
 */
export function createViewer(signal, { closes }) {
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
    const {
      ok,
      command,
      place,
      host,
      at_ms,
      duration_ms,
      error,
      result,
      no_picture,
      element,
      mend,
      tree = [],
    } = step;
    details.replaceChildren(
      ...term(
        "Command",
        el("code", {}, command),
        " ",
        outcomeOf(ok),
        " ",
        el("span", { class: "hint" }, place),
      ),
      ...(host === undefined ? [] : term("Host", host)),
      ...term("Time", `after ${milliseconds(at_ms)}, took ${milliseconds(duration_ms)}`),
      ...(element === undefined ? [] : term("Element", el("code", {}, element))),
      ...term("Arguments", json(step.arguments)),
      ...(error === undefined ? [] : term("Error", prose(error))),
      ...(mend && mend.there.length > 0 ? term("There is", prose(mend.there.join("\n"))) : []),
      ...(result === undefined ? [] : term("Result", json(result))),
      ...(no_picture === undefined ? [] : term("No picture", prose(no_picture))),
      ...(tree.length === 0 ? [] : term("By name, after it", el("pre", {}, tree.join("\n")))),
    );
    const used = placeOf(result);
    before.show(files.get(step.before ?? ""), used);
    after.show(files.get(step.after ?? ""), used);
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
    /**
     * @param {Blob} archive
     * @throws {Error} when it is no trace
     */
    async show(archive) {
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
      go(0);
      root.scrollIntoView({ block: "nearest" });
      root.focus({ preventScroll: true });
    },
  };
}

/**
 * The hosts of the steps, each a lane: first the one whose run it is (undefined), then those that took part, in the order in which they began.
 *
 * @param {readonly Step[]} steps
 * @returns {Array<string | undefined>}
 */
const lanesOf = (steps) => [...new Set([undefined, ...steps.map(({ host }) => host)])];

/**
 * A mark for each step, in the lane of its host: where it began, how long it took, and whether it failed.
 *
 * @param {readonly Step[]} steps
 * @param {ReadonlyArray<string | undefined>} lanes
 * @param {(to: number) => void} go
 */
function marksOf(steps, lanes, go) {
  const end = Math.max(1, ...steps.map(({ at_ms, duration_ms }) => at_ms + (duration_ms ?? 0)));
  return steps.map(({ at_ms, duration_ms, ok, host }, index) => {
    const mark = svg("rect", {
      x: (at_ms / end) * WIDTH,
      y: lanes.indexOf(host) * LANE,
      width: Math.max(ok === false ? 6 : 2, ((duration_ms ?? 0) / end) * WIDTH),
      height: lanes.length > 1 ? LANE - 3 : LANE,
      class: ok === false ? "error" : ok === null ? "none" : "ok",
    });
    mark.addEventListener("click", () => go(index));
    return mark;
  });
}

/** @param {boolean | null} ok */
const outcomeOf = (ok) =>
  ok === null ? badge("none", "did not end") : ok ? badge("ok", "ok") : badge("error", "failed");

/**
 * @param {string} name
 * @param {...import("../dom.js").Child} text
 */
const term = (name, ...text) => [el("dt", {}, name), el("dd", {}, ...text)];

/**
 * Where the element is that is the result of a step; undefined for any other result.
 *
 * @param {unknown} result
 * @returns {readonly number[] | undefined}
 */
function placeOf(result) {
  if (typeof result !== "object" || result === null || !("bounds" in result) || !("role" in result))
    return undefined;
  const { bounds } = result;
  return Array.isArray(bounds) && bounds.length === 4 && bounds.every(Number.isFinite) ? bounds : undefined;
}

/** A picture with its caption. @param {string} caption */
function picture(caption) {
  const image = el("img", { alt: `The screen, ${caption.toLowerCase()}`, hidden: true });
  const none = el("p", { class: "hint" }, "no picture");
  const marked = el("div", { class: "cut", hidden: true });
  const root = el(
    "figure",
    {},
    el("figcaption", {}, caption),
    el("div", { class: "pictured" }, image, marked),
    none,
  );
  /** @type {readonly number[] | undefined} */
  let used;
  image.addEventListener("load", () => {
    const [left = 0, top = 0, width = 0, height = 0] = used ?? [];
    const { naturalWidth, naturalHeight } = image;
    marked.hidden = used === undefined || left >= naturalWidth || top >= naturalHeight;
    // Of what is partly beside the screen, the part that is on it.
    const [right, bottom] = [Math.min(left + width, naturalWidth), Math.min(top + height, naturalHeight)];
    marked.style.left = `${(100 * Math.max(0, left)) / naturalWidth}%`;
    marked.style.top = `${(100 * Math.max(0, top)) / naturalHeight}%`;
    marked.style.width = `${(100 * (right - Math.max(0, left))) / naturalWidth}%`;
    marked.style.height = `${(100 * (bottom - Math.max(0, top))) / naturalHeight}%`;
  });
  return {
    root,
    /**
     * @param {Blob | undefined} file
     * @param {readonly number[]} [place] of the element that the step used: left, top, width, height
     */
    show(file, place) {
      used = place;
      marked.hidden = true;
      URL.revokeObjectURL(image.src);
      image.hidden = file === undefined;
      none.hidden = file !== undefined;
      if (file) image.src = URL.createObjectURL(new Blob([file], { type: "image/png" }));
      else image.removeAttribute("src");
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
