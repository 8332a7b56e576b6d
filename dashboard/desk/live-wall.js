/**
 * The wall: small pictures of the screens of some hosts, twice a second, and of the desktops on demand beside them. The server
 * asks the hosts, and only for those tiles that a person sees.
 */
import { ApiError } from "../api-error.js";
import { button, el, setText } from "../dom.js";
import { nothing, panel } from "../parts.js";
import { oddFirst } from "./odd-first.js";

/** Pixels of a picture in its width. */
const WIDTH = 320;

/** Milliseconds between two pictures of a host, and after an error. */
const NEXT_AFTER = 500;
const RETRY_AFTER = 10_000;

/** Milliseconds between two looks at which desktops a host has. */
const DESKTOPS_AFTER = 10_000;

/** How many hosts are asked at once: a browser has six connections to a server, and other parts of the page need some. */
const AT_ONCE = 4;

/**
 * @param {import("../view.js").View} view
 * @param {ReadonlySet<string>} selected labels of hosts; call `show` when they change
 */
export function wallPanel(view, selected) {
  const { api, signal } = view;
  const isOn = button("Show", toggle, { role: "switch", "aria-checked": "false", class: "switch" });
  const odd = oddFirst(view, selected, { changed: show, fail: (trouble) => made.fail(trouble) });
  const made = panel("Screens", { tools: [odd.toggle, isOn] });
  const tiles = el("div", { class: "wall" });
  const hint = nothing(
    "No host is selected",
    "Select hosts above, or search for some: their screens appear here, small, and are live in their own page.",
  );
  made.root.classList.add("wall-panel");
  /** By their addresses. @type {Map<string, ReturnType<typeof tile>>} */
  const shown = new Map();
  /** The desktops beside that of a host, by its label. @type {Map<string, readonly string[]>} */
  const desktopsOf = new Map();
  /** When to look for them, by performance.now(). @type {Map<string, number>} */
  const lookAt = new Map();
  /** @type {Set<string>} */
  const seen = new Set();
  /** How many requests are under way. */
  let asking = 0;
  let timer = 0;

  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const address = target.getAttribute("href") ?? "";
      if (isIntersecting) seen.add(address);
      else seen.delete(address);
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

  /** Shows a tile for each screen of the hosts of now. */
  function show() {
    odd.show(watches());
    const labels = odd.sorted(watches() ? [...selected].sort() : []);
    const screens = labels.flatMap((label) => [
      { label, desktop: null },
      ...(desktopsOf.get(label) ?? []).map((desktop) => ({ label, desktop })),
    ]);
    const wanted = new Map(screens.map((screen) => [addressOf(screen), screen]));
    for (const [address, { root, free }] of shown) {
      if (wanted.has(address)) continue;
      free();
      observer.unobserve(root);
      root.remove();
      shown.delete(address);
      seen.delete(address);
    }
    let at = 0;
    for (const [address, screen] of wanted) {
      const known = shown.get(address);
      const one = known ?? tile(screen);
      shown.set(address, one);
      if (screen.desktop === null) one.tell(odd.of(screen.label));
      if (!known) observer.observe(one.root);
      if (screen.desktop === null && (desktopsOf.get(screen.label) ?? []).length === 0)
        one.root.hidden = false;
      const there = tiles.children[at++] ?? null;
      if (there !== one.root) tiles.insertBefore(one.root, there);
    }
    const body = watches() ? (labels.length > 0 ? tiles : hint) : null;
    // A tile that has the focus keeps it.
    if (made.body.firstChild !== body) made.body.replaceChildren(...(body ? [body] : []));
    next();
  }

  /** Looks which desktops a host has; an earlier svc knows of none. @param {string} label */
  async function lookForDesktops(label) {
    const path = /** @type {"admin/hosts/{label}/desktops"} */ (
      `admin/hosts/${encodeURIComponent(label)}/desktops`
    );
    const answer = await api.ask(path).catch(() => ({ desktops: [] }));
    const names = answer.desktops.map(({ name }) => name);
    const before = desktopsOf.get(label) ?? [];
    desktopsOf.set(label, names);
    if (names.join() !== before.join() && !signal.aborted) show();
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
      if (began >= (lookAt.get(one.label) ?? 0)) {
        lookAt.set(one.label, began + DESKTOPS_AFTER);
        await lookForDesktops(one.label);
      }
      // The browser keeps the picture, and asks whether it is still the one.
      const of = one.desktop === null ? "" : `&desktop=${encodeURIComponent(one.desktop)}`;
      const path = `screen/thumbnail?width=${WIDTH}${of}`;
      const image = await api.blob(`admin/hosts/${encodeURIComponent(one.label)}/${path}`, { signal });
      // Its tile may be gone, and what it had is free.
      if (one.root.isConnected) one.show(image);
      one.due = began + NEXT_AFTER;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      one.fail(error.message);
      // A host without a display of its own has those of its desktops.
      one.root.hidden = one.desktop === null && (desktopsOf.get(one.label) ?? []).length > 0;
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
  return {
    root: made.root,
    show,
    /** Shows the screens. */
    open() {
      if (!watches()) toggle();
    },
    /** Shows the screens, and goes to them. */
    enter() {
      if (!watches()) toggle();
      made.root.scrollIntoView({ block: "start" });
      isOn.focus({ preventScroll: true });
    },
  };
}

/**
 * The page that shows a screen live.
 *
 * @param {Screen} screen
 */
const addressOf = ({ label, desktop }) =>
  `#live:${encodeURIComponent(label)}${desktop === null ? "" : `:${encodeURIComponent(desktop)}`}`;

/**
 * A screen of a host; `desktop` is null for the host's own.
 *
 * @typedef {{ label: string, desktop: string | null }} Screen
 */

/** @param {Screen} screen */
function tile(screen) {
  const { label, desktop } = screen;
  const name = desktop === null ? label : `${label}: ${desktop}`;
  const picture = el("img", { alt: `The screen of ${name}`, hidden: true });
  const trouble = el("span", { class: "hint" }, "opening…");
  const why = el("span", { class: "wall-why" });
  let address = "";
  const free = () => URL.revokeObjectURL(address);
  return {
    ...screen,
    /** When its next picture is due, by performance.now(). */
    due: 0,
    isAsked: false,
    free,
    root: el(
      "a",
      { class: "wall-tile", href: addressOf(screen) },
      el("span", { class: "wall-picture" }, picture, trouble),
      el("span", { class: "wall-label" }, name),
      why,
    ),
    /** What makes the screen differ from the others. @param {import("./odd-first.js").Verdict | null} verdict */
    tell(verdict) {
      setText(why, verdict?.why ?? "");
      why.classList.toggle("odd", verdict?.state === "odd");
    },
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
