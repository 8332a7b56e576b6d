/**
 * The wall: small pictures of the screens of the selected hosts, twice a second. The server asks the hosts, and only for those tiles
 * that a person sees.
 */
import { ApiError } from "../api.js";
import { button, el, setText } from "../dom.js";
import { nothing, panel } from "../parts.js";

/** Pixels of a picture in its width. */
const WIDTH = 320;

/** Milliseconds between two pictures of a host, and after an error. */
const NEXT_AFTER = 500;
const RETRY_AFTER = 10_000;

/** How many hosts are asked at once: a browser has six connections to a server, and other parts of the page need some. */
const AT_ONCE = 4;

/**
 * @param {import("../view.js").View} view
 * @param {Set<string>} selected labels of hosts
 */
export function wallPanel({ api, signal }, selected) {
  const isOn = button("Show", toggle, { role: "switch", "aria-checked": "false", class: "switch" });
  const made = panel("Screens of the selected hosts", { tools: [isOn] });
  const tiles = el("div", { class: "wall" });
  const hint = nothing(
    "No host is selected",
    "Select hosts above: their screens appear here, small, and are live in their own page.",
  );
  made.root.classList.add("wall-panel");
  /** @type {Map<string, ReturnType<typeof tile>>} */
  const shown = new Map();
  /** @type {Set<string>} */
  const seen = new Set();
  /** How many requests are under way. */
  let asking = 0;
  let timer = 0;

  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const label = target.getAttribute("data-label") ?? "";
      if (isIntersecting) seen.add(label);
      else seen.delete(label);
    }
    next();
  });
  signal.addEventListener("abort", stop);
  document.addEventListener("visibilitychange", next, { signal });

  function stop() {
    observer.disconnect();
    clearTimeout(timer);
  }

  const watches = () => isOn.getAttribute("aria-checked") === "true";

  function toggle() {
    isOn.setAttribute("aria-checked", String(!watches()));
    show();
  }

  /** Shows a tile for each of the hosts that are selected now. */
  function show() {
    const labels = watches() ? [...selected].sort() : [];
    for (const [label, { root, free }] of shown) {
      if (labels.includes(label)) continue;
      free();
      observer.unobserve(root);
      root.remove();
      shown.delete(label);
      seen.delete(label);
    }
    for (const label of labels) {
      if (shown.has(label)) continue;
      const one = tile(label);
      shown.set(label, one);
      tiles.append(one.root);
      observer.observe(one.root);
    }
    made.body.replaceChildren(...(watches() ? [labels.length > 0 ? tiles : hint] : []));
    next();
  }

  /** Asks for the pictures that are due, those first that wait the longest; nothing while nobody sees them. */
  function next() {
    clearTimeout(timer);
    if (signal.aborted || document.hidden || !watches()) return;
    const waiting = [...seen].flatMap((label) => shown.get(label) ?? []).filter((one) => !one.isAsked);
    const now = performance.now();
    for (const one of waiting.sort((a, b) => a.due - b.due)) {
      if (asking >= AT_ONCE) return;
      if (one.due > now) {
        timer = setTimeout(next, one.due - now);
        return;
      }
      void look(one);
    }
  }

  /** @param {ReturnType<typeof tile>} one */
  async function look(one) {
    asking += 1;
    one.isAsked = true;
    const began = performance.now();
    try {
      // The browser keeps the picture, and asks whether it is still the one.
      const path = /** @type {const} */ (`screen/thumbnail?width=${WIDTH}`);
      one.show(await api.blob(`admin/hosts/${encodeURIComponent(one.label)}/${path}`));
      one.due = began + NEXT_AFTER;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      one.fail(error.message);
      one.due = performance.now() + Math.max(RETRY_AFTER, error.retryAfter * 1_000);
      // A token that may not look does not get more.
      if (error.reason === "unauthorized") stop();
    } finally {
      one.isAsked = false;
      asking -= 1;
      next();
    }
  }

  signal.addEventListener("abort", () => {
    for (const one of shown.values()) one.free();
  });
  return { root: made.root, show };
}

/** @param {string} label */
function tile(label) {
  const picture = el("img", { alt: `The screen of ${label}`, hidden: true });
  const trouble = el("span", { class: "hint" }, "opening…");
  let address = "";
  const free = () => URL.revokeObjectURL(address);
  return {
    label,
    /** When its next picture is due, by performance.now(). */
    due: 0,
    isAsked: false,
    free,
    root: el(
      "a",
      { class: "wall-tile", href: `#live:${encodeURIComponent(label)}`, "data-label": label },
      el("span", { class: "wall-picture" }, picture, trouble),
      el("span", { class: "wall-label" }, label),
    ),
    /** @param {Blob} image */
    show(image) {
      const before = address;
      address = URL.createObjectURL(image);
      picture.src = address;
      picture.hidden = false;
      setText(trouble, "");
      URL.revokeObjectURL(before);
    },
    /** @param {string} why */
    fail(why) {
      picture.hidden = true;
      setText(trouble, why);
    },
  };
}
