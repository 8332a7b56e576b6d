/**
 * What the viewer of a trace is made of: its time line, its pictures, the details of a step, and which step made the run fail.
 */
import { el, svg } from "../dom.js";
import { milliseconds } from "../format.js";
import { badge, json, prose } from "../parts.js";

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

/** The width of the timeline, in its own units. */
export const WIDTH = 1_000;

/** The height of a lane in it. */
export const LANE = 20;

/**
 * The step that made a run fail: of the first action that failed, and that no action around it made good, the last such step inside it.
 *
 * @param {ReadonlyArray<Pick<Step, "place" | "ok">>} steps
 * @returns {number} -1 where none has failed
 */
export function failureIn(steps) {
  /** @param {number} at */
  const isMadeGood = (at) => {
    let place = steps[at]?.place ?? "";
    for (const around of steps.slice(0, at).reverse()) {
      if (!place.startsWith(`${around.place}.`)) continue;
      if (around.ok === true) return true;
      place = around.place;
    }
    return false;
  };
  const failed = [...steps.entries()].filter(([at, { ok }]) => ok === false && !isMadeGood(at));
  const [first] = failed;
  if (!first) return -1;
  const [at, { place: around }] = first;
  const inside = failed.filter(([, { place }]) => place.startsWith(`${around}.`));
  return inside.at(-1)?.[0] ?? at;
}

/** All of a step but its pictures. @param {Step} step */
export function detailsOf({
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
  arguments: given,
}) {
  return [
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
    ...term("Arguments", json(given)),
    ...(error === undefined ? [] : term("Error", prose(error))),
    ...(mend && mend.there.length > 0 ? term("There is", prose(mend.there.join("\n"))) : []),
    ...(result === undefined ? [] : term("Result", json(result))),
    ...(no_picture === undefined ? [] : term("No picture", prose(no_picture))),
    ...(tree.length === 0 ? [] : term("By name, after it", el("pre", {}, tree.join("\n")))),
  ];
}

/**
 * The hosts of the steps, each a lane: first the one whose run it is (undefined), then those that took part, in the order in which they began.
 *
 * @param {readonly Step[]} steps
 * @returns {Array<string | undefined>}
 */
export const lanesOf = (steps) => [...new Set([undefined, ...steps.map(({ host }) => host)])];

/**
 * A mark for each step, in the lane of its host: where it began, how long it took, and whether it failed.
 *
 * @param {readonly Step[]} steps
 * @param {ReadonlyArray<string | undefined>} lanes
 * @param {(to: number) => void} go
 */
export function marksOf(steps, lanes, go) {
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

/** How a step ended, as a word. @param {boolean | null} ok */
export const outcomeOf = (ok) =>
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
export function placeOf(result) {
  if (typeof result !== "object" || result === null || !("bounds" in result) || !("role" in result))
    return undefined;
  const { bounds } = result;
  return Array.isArray(bounds) && bounds.length === 4 && bounds.every(Number.isFinite) ? bounds : undefined;
}

/** A picture with its caption. @param {string} caption */
export function picture(caption) {
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
