/**
 * A small picture of the screen of the host that the pointer is on. It is off at first: to point at a name must open nobody's screen.
 */
import { ApiError } from "../../api-error.js";
import { button, el, setText } from "../../dom.js";

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
  let asked = "";
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
    asked = "";
    root.hidden = true;
    URL.revokeObjectURL(address);
    address = "";
    picture.hidden = true;
  }

  /** @param {string} label */
  async function look(label) {
    const row = rowOf(label);
    if (row === undefined || row.state === "down") return say("Not there");
    try {
      const path = `admin/hosts/${encodeURIComponent(label)}/screen/thumbnail?width=${WIDTH}`;
      const image = await api.blob(path);
      if (asked !== label) return;
      const before = address;
      address = URL.createObjectURL(image);
      picture.src = address;
      picture.hidden = false;
      setText(says, "");
      URL.revokeObjectURL(before);
      timer = setTimeout(() => look(label), EVERY_MS);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (asked === label) say(error.message);
    }
  }

  /** @param {string} text */
  function say(text) {
    picture.hidden = true;
    setText(says, text);
  }

  list.addEventListener("pointerover", ({ target, pointerType }) => {
    const link = target instanceof Element ? target.closest(".host-name a") : null;
    const label = link?.textContent ?? "";
    if (label === asked || pointerType === "touch") return;
    hide();
    if (link === null || isOn.getAttribute("aria-checked") !== "true") return;
    asked = label;
    timer = setTimeout(() => {
      const { right, top } = link.getBoundingClientRect();
      say("opening…");
      root.hidden = false;
      root.style.left = `${Math.max(8, Math.min(right + 12, innerWidth - WIDTH - 24))}px`;
      root.style.top = `${Math.max(8, Math.min(top - 60, innerHeight - 210))}px`;
      void look(label);
    }, AFTER_MS);
  });
  list.addEventListener("pointerleave", hide);
  list.addEventListener("scroll", hide, { passive: true });
  signal.addEventListener("abort", hide);
  return { root, toggle: isOn };
}
