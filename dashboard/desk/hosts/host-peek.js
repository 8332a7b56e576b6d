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

/**
 * @param {import("../../view.js").View} view
 * @param {HTMLElement} list
 * @param {(label: string) => import("./host-words.js").Row | undefined} rowOf
 */
export function hostPeek({ api, signal }, list, rowOf) {
  const picture = el("img", { alt: "", hidden: true });
  const says = el("span", { class: "hint" });
  const root = el("div", { class: "host-peek", hidden: true, "aria-hidden": "true" }, picture, says);
  const isOn = button("Peek", toggle, {
    ...{ role: "switch", class: "switch", title: "Point at a name to see the screen of the host, small" },
    "aria-checked": String(localStorage.getItem(KEY) === "on"),
  });
  let timer = 0;
  /** Aborted when the pointer leaves the name. */
  let there = new AbortController();
  let address = "";

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
    root.hidden = true;
    URL.revokeObjectURL(address);
    address = "";
    picture.hidden = true;
  }

  /** Looks while the pointer stays there. @param {string} label @param {AbortSignal} left */
  async function look(label, left) {
    const row = rowOf(label);
    if (row === undefined || row.state === "down") return say("Not there");
    try {
      const path = `admin/hosts/${encodeURIComponent(label)}/screen/thumbnail?width=${WIDTH}`;
      const image = await api.blob(path, { signal: left });
      if (left.aborted) return;
      const before = address;
      address = URL.createObjectURL(image);
      picture.src = address;
      picture.hidden = false;
      setText(says, "");
      URL.revokeObjectURL(before);
      lookAfter(EVERY_MS, label, left);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (left.aborted) return;
      say(error.message);
      const seconds = againAfter(error);
      if (seconds > 0) lookAfter(seconds * 1_000, label, left);
    }
  }

  /** @param {number} ms @param {string} label @param {AbortSignal} left */
  function lookAfter(ms, label, left) {
    timer = setTimeout(() => whenVisible(left, () => void look(label, left)), ms);
  }

  /** @param {string} text */
  function say(text) {
    picture.hidden = true;
    setText(says, text);
  }

  followPointer(list, signal, {
    come(link, label) {
      hide();
      if (isOn.getAttribute("aria-checked") !== "true") return;
      there = new AbortController();
      const left = there.signal;
      timer = setTimeout(() => {
        const { right, top } = link.getBoundingClientRect();
        say("opening…");
        root.hidden = false;
        root.style.left = `${Math.max(8, Math.min(right + 12, innerWidth - WIDTH - 24))}px`;
        root.style.top = `${Math.max(8, Math.min(top - 60, innerHeight - 210))}px`;
        void look(label, left);
      }, AFTER_MS);
    },
    go: hide,
  });
  signal.addEventListener("abort", hide);
  return { root, toggle: isOn };
}

/**
 * Follows a pointer from name to name. Where it rests and the page moves below it, as a notice above has it do, it has not left.
 *
 * @param {HTMLElement} list
 * @param {AbortSignal} signal
 * @param {{ come(link: Element, label: string): void, go(): void }} acts on what it does
 */
function followPointer(list, signal, { come, go }) {
  /** The name that it is on. */
  let on = "";
  let place = "";
  const leave = () => {
    on = "";
    go();
  };
  /** @param {PointerEvent} event */
  const rests = ({ clientX, clientY }) => on !== "" && `${clientX} ${clientY}` === place;
  /** @param {PointerEvent} event */
  const linkAt = ({ target }) => (target instanceof Element ? target.closest(".host-name a") : null);

  list.addEventListener("pointerover", (event) => {
    const link = linkAt(event);
    const label = link?.textContent ?? "";
    if (label === on || event.pointerType === "touch" || rests(event)) return;
    if (link === null) return leave();
    on = label;
    come(link, label);
  });
  list.addEventListener("pointerleave", (event) => {
    if (!rests(event)) leave();
  });
  /** @param {PointerEvent} event */
  const moved = (event) => {
    if (on !== "" && !rests(event) && linkAt(event)?.textContent !== on) leave();
    place = `${event.clientX} ${event.clientY}`;
  };
  document.addEventListener("pointermove", moved, { signal, passive: true });
  for (const scrolled of ["scroll", "wheel"]) list.addEventListener(scrolled, leave, { passive: true });
}
