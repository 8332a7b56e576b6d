/**
 * Picking on the live screen: a person points at something, and gets the locator that names it, and whether it names that alone.
 */
import { button, el } from "../dom.js";
import { badge, copyButton } from "../parts.js";

/** @typedef {{ locator: string, unique: boolean, element: { bounds: readonly number[] | null } }} PickedElement */

/** The events of a press: while one picks, none of them goes to the host. */
const PRESSES = /** @type {const} */ ([
  "pointerdown",
  "pointerup",
  "mousedown",
  "mouseup",
  "touchstart",
  "touchend",
]);

/**
 * @param {import("./live-watch.js").Watch} watch
 * @param {HTMLElement} stage where its picture is
 * @param {(x: number, y: number) => Promise<PickedElement | null>} ask what is at a place of the host's screen
 * @returns {{ switch: HTMLButtonElement, result: HTMLElement }} what begins it, and what comes of it
 */
export function picker(watch, stage, ask) {
  const marked = el("div", { class: "cut", hidden: true });
  const result = el("div", { class: "live-picked", "aria-live": "polite" });
  const opener = button("Pick", () => pick(!isPicking()), {
    role: "switch",
    "aria-checked": "false",
    class: "switch",
    title: "Point at something on the screen: its locator for scripts is shown",
  });
  const isPicking = () => opener.getAttribute("aria-checked") === "true";

  /** @param {boolean} on */
  function pick(on) {
    opener.setAttribute("aria-checked", String(on));
    stage.classList.toggle("picking", on);
    marked.hidden = true;
    if (on) stage.append(marked);
    result.replaceChildren(
      ...(on ? [el("span", { class: "hint" }, "Point at something on the screen.")] : []),
    );
  }

  for (const kind of PRESSES)
    stage.addEventListener(kind, (event) => isPicking() && event.stopPropagation(), { capture: true });
  stage.addEventListener(
    "click",
    (event) => {
      if (!isPicking()) return;
      event.preventDefault();
      event.stopPropagation();
      void show(event);
    },
    { capture: true },
  );

  /** @param {MouseEvent} event */
  async function show({ clientX, clientY }) {
    const { canvas } = watch;
    if (!canvas) return;
    const box = canvas.getBoundingClientRect();
    const scale = canvas.width / box.width;
    const [x, y] = [Math.floor((clientX - box.left) * scale), Math.floor((clientY - box.top) * scale)];
    marked.hidden = true;
    if (x < 0 || y < 0 || x >= canvas.width || y >= canvas.height) return;
    result.replaceChildren(el("span", { class: "hint" }, "looking…"));
    try {
      const found = await ask(x, y);
      if (!isPicking()) return;
      if (found === null) {
        result.replaceChildren(el("span", { class: "hint" }, `Nothing has a name at ${x}, ${y}.`));
        return;
      }
      const { locator, unique, element } = found;
      result.replaceChildren(
        el("code", {}, locator),
        " ",
        badge(unique ? "ok" : "warn", unique ? "names this alone" : "names others as well"),
        " ",
        copyButton("Copy", () => locator, locator) ?? "",
      );
      if (element.bounds) mark(element.bounds, box, scale);
    } catch (error) {
      result.replaceChildren(
        el("span", { class: "hint" }, error instanceof Error ? error.message : String(error)),
      );
    }
  }

  /**
   * @param {readonly number[]} bounds of the element, on the host
   * @param {DOMRect} box of the picture, on the page
   * @param {number} scale pixels of the host for one of the page
   */
  function mark([left = 0, top = 0, width = 0, height = 0], box, scale) {
    const outer = stage.getBoundingClientRect();
    marked.hidden = false;
    marked.style.left = `${box.left - outer.left + left / scale}px`;
    marked.style.top = `${box.top - outer.top + top / scale}px`;
    marked.style.width = `${width / scale}px`;
    marked.style.height = `${height / scale}px`;
  }

  return { switch: opener, result };
}
