/**
 * Which of the screens on the wall differ from the others, and why. The server compares them once a minute, while somebody looks.
 */
import { ApiError } from "../api-error.js";
import { button } from "../dom.js";

/** Milliseconds from one comparison to the next. */
const EVERY = 60_000;

/** Of fewer hosts nothing can be told. */
const LEAST = 4;

/** @typedef {import("../wire").Answer<"admin/odd">["hosts"][number]} Verdict */

/**
 * @param {import("../view.js").View} view
 * @param {ReadonlySet<string>} selected labels of hosts
 * @param {{ changed: () => void, fail: (trouble: { message: string } | null) => void }} page `changed` shows the wall anew
 */
export function oddFirst({ api, signal }, selected, { changed, fail }) {
  const toggle = button("Odd first", turn, { role: "switch", "aria-checked": "false", class: "switch" });
  toggle.hidden = true;
  /** With the place of each in the order. @type {Map<string, Verdict & { place: number }>} */
  let verdicts = new Map();
  let isWatched = false;
  let isAsked = false;
  /** When to compare again, by performance.now(). */
  let due = 0;
  let timer = 0;

  const isOn = () => isWatched && toggle.getAttribute("aria-checked") === "true" && selected.size >= LEAST;

  signal.addEventListener("abort", () => clearTimeout(timer));
  document.addEventListener("visibilitychange", later, { signal });

  function turn() {
    toggle.setAttribute("aria-checked", String(toggle.getAttribute("aria-checked") !== "true"));
    fail(null);
    due = 0;
    changed();
  }

  /** Compares when it is time to, and nobody else does. */
  function later() {
    clearTimeout(timer);
    if (signal.aborted || document.hidden || isAsked || !isOn()) return;
    timer = setTimeout(compare, Math.max(0, due - performance.now()));
  }

  async function compare() {
    isAsked = true;
    due = performance.now() + EVERY;
    try {
      const { hosts } = await api.post(
        "admin/odd",
        { on: [...selected].sort().join(",") },
        { signal, changes: false },
      );
      verdicts = new Map(hosts.map((host, place) => [host.label, { ...host, place }]));
      fail(null);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!signal.aborted) fail({ message: `The screens are not compared: ${error.message}` });
      due = performance.now() + Math.max(EVERY, error.retryAfter * 1_000);
    } finally {
      isAsked = false;
      if (!signal.aborted) changed();
    }
  }

  return {
    toggle,
    /** The labels in their order, where that is asked for. @param {readonly string[]} labels */
    sorted(labels) {
      if (!isOn()) return labels;
      const placeOf = (/** @type {string} */ label) => verdicts.get(label)?.place ?? Number.POSITIVE_INFINITY;
      // Infinity less infinity is no number.
      return [...labels].sort((a, b) => (placeOf(a) === placeOf(b) ? 0 : placeOf(a) - placeOf(b)));
    },
    /** What is found of a host; null where that is not asked for, or not known yet. @param {string} label */
    of(label) {
      return (isOn() && verdicts.get(label)) || null;
    },
    /** @param {boolean} watches whether the wall is shown */
    show(watches) {
      isWatched = watches;
      toggle.hidden = !watches || selected.size < LEAST;
      later();
    },
  };
}
