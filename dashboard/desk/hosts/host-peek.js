/**
 * A small picture of the screen of the host that the pointer is on. It is off at first: to point at a name must open nobody's screen.
 */
import { ApiError } from "../../api-error.js";
import { button, el, setText } from "../../dom.js";
import { againAfter, whenVisible } from "../../view.js";

/** Where this browser keeps whether it is on. */
const KEY = "svc-host-peek";

/** Milliseconds that the pointer rests before it is asked, and between two pictures. */
const AFTER_MS = 400;
const EVERY_MS = 2_000;

const WIDTH = 320;

/** The name of a host in the list. */
const NAME = ".host-name a";

/**
 * @param {import("../../view.js").View} view
 * @param {HTMLElement} list
 * @param {(label: string) => import("./host-words.js").Row | undefined} rowOf
 */
export function hostPeek({ api, signal }, list, rowOf) {
  const box = peekBox();
  const isOn = button("Peek", toggle, {
    ...{ role: "switch", class: "switch", title: "Point at a name to see the screen of the host, small" },
    "aria-checked": String(localStorage.getItem(KEY) === "on"),
  });
  let timer = 0;
  /** Aborted when the pointer leaves the name. */
  let there = new AbortController();

  function toggle() {
    const on = isOn.getAttribute("aria-checked") !== "true";
    isOn.setAttribute("aria-checked", String(on));
    if (on) localStorage.setItem(KEY, "on");
    else localStorage.removeItem(KEY);
    hide();
  }

  function hide() {
    clearTimeout(timer);
    there.abort();
    box.hide();
  }

  /** Looks while the pointer stays there. @param {string} label @param {AbortSignal} left */
  async function look(label, left) {
    const row = rowOf(label);
    if (row === undefined || row.state === "down") return box.say("Not there");
    try {
      const path = `admin/hosts/${encodeURIComponent(label)}/screen/thumbnail?width=${WIDTH}`;
      const image = await api.blob(path, { signal: left });
      if (left.aborted) return;
      box.show(image);
      lookAfter(EVERY_MS, label, left);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (left.aborted) return;
      box.say(error.message);
      const seconds = againAfter(error);
      if (seconds > 0) lookAfter(seconds * 1_000, label, left);
    }
  }

  /** @param {number} ms @param {string} label @param {AbortSignal} left */
  function lookAfter(ms, label, left) {
    timer = setTimeout(() => whenVisible(left, () => void look(label, left)), ms);
  }

  const follow = followPointer(list, signal, {
    come(label) {
      hide();
      if (isOn.getAttribute("aria-checked") !== "true") return;
      there = new AbortController();
      const left = there.signal;
      timer = setTimeout(() => {
        const link = follow.link();
        if (link === null) return;
        box.open(link);
        void look(label, left);
      }, AFTER_MS);
    },
    stay: box.place,
    go: hide,
  });
  signal.addEventListener("abort", hide);
  return { root: box.root, toggle: isOn };
}

/** The small picture, or what there is to say in its place. */
function peekBox() {
  const picture = el("img", { alt: "", hidden: true });
  const says = el("span", { class: "hint" });
  const root = el("div", { class: "host-peek", hidden: true, "aria-hidden": "true" }, picture, says);
  let address = "";

  /** @param {string} text */
  function say(text) {
    picture.hidden = true;
    setText(says, text);
  }

  /** Puts it beside a name. @param {Element} link */
  function place(link) {
    const { right, top } = link.getBoundingClientRect();
    root.style.left = `${Math.max(8, Math.min(right + 12, innerWidth - WIDTH - 24))}px`;
    root.style.top = `${Math.max(8, Math.min(top - 60, innerHeight - 210))}px`;
  }

  return {
    root,
    place,
    say,
    /** @param {Element} link */
    open(link) {
      say("opening…");
      root.hidden = false;
      place(link);
    },
    /** @param {Blob} image */
    show(image) {
      const before = address;
      address = URL.createObjectURL(image);
      picture.src = address;
      picture.hidden = false;
      setText(says, "");
      URL.revokeObjectURL(before);
    },
    hide() {
      root.hidden = true;
      URL.revokeObjectURL(address);
      address = "";
      picture.hidden = true;
    },
  };
}

/**
 * Follows a pointer from name to name. Where it rests and the whole list moves below it, as a notice above has it do, it has not left;
 * where the name is elsewhere in the list, or something else is over it, it has.
 *
 * @param {HTMLElement} list
 * @param {AbortSignal} signal
 * @param {{ come(label: string): void, stay(link: Element): void, go(): void }} acts on what it does; after `stay`, the name may be
 *   elsewhere on the screen
 */
function followPointer(list, signal, { come, stay, go }) {
  /** The name that it is on. */
  let on = "";
  /** How far below the top of the list that is, and where the top was when the pointer was last on it. */
  let depth = 0;
  let top = 0;
  /** Where the pointer is. */
  let [x, y] = [Number.NaN, Number.NaN];

  const topOf = (/** @type {Element} */ element) => Math.round(element.getBoundingClientRect().top);
  const depthOf = (/** @type {Element} */ link) => topOf(link) - topOf(list);

  /** The name that it is on, where that has the same place in the list; its line is made anew when the host changes. */
  function link() {
    const names = on === "" ? [] : [...list.querySelectorAll(NAME)];
    return names.find((name) => name.textContent === on && depthOf(name) === depth) ?? null;
  }

  function leave() {
    on = "";
    go();
  }

  /** @param {Element} name that is below the pointer */
  function mark(name) {
    depth = depthOf(name);
    top = topOf(list);
  }

  /** @param {PointerEvent} event */
  function see({ target, pointerType, clientX, clientY }) {
    const found = pointerType !== "touch" && target instanceof Element ? target.closest(NAME) : null;
    const name = list.contains(found) ? found : null;
    const label = name?.textContent ?? "";
    const hasListMoved = on !== "" && clientX === x && clientY === y && topOf(list) !== top;
    const own = label === on ? name : hasListMoved ? link() : null;
    if (own) {
      if (own === name) mark(name);
      return stay(own);
    }
    if (on !== "") leave();
    if (!name) return;
    on = label;
    mark(name);
    come(label);
  }

  /** @param {Event} event */
  function scrolled({ target }) {
    const name = target === list ? null : link();
    const { left = 0, right = 0, top: above = 0, bottom = 0 } = name?.getBoundingClientRect() ?? {};
    if (name && left <= x && x <= right && above <= y && y <= bottom) mark(name);
    else if (on !== "") leave();
  }

  list.addEventListener("pointerover", see);
  list.addEventListener("pointerleave", see);
  /** @param {PointerEvent} event */
  const moved = (event) => {
    see(event);
    ({ clientX: x, clientY: y } = event);
  };
  document.addEventListener("pointermove", moved, { signal, passive: true });
  document.addEventListener("scroll", scrolled, { signal, passive: true, capture: true });
  list.addEventListener("wheel", leave, { passive: true });
  return { link };
}
