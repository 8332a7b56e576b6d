/**
 * Cutting a template out of a screenshot: a rectangle dragged on the picture becomes a PNG file, and the command that finds it.
 */
import { button, el } from "../dom.js";
import { icon } from "../icons.js";
import { copyButton } from "../parts.js";

/** The smallest side of a template, in pixels of the picture: less is a click. */
const MIN_SIDE = 4;

const FILE = "template.png";

/**
 * Lets a person drag a rectangle on `picture`.
 *
 * @param {HTMLImageElement} picture
 * @returns {{ frame: HTMLElement, result: HTMLElement, clear(): void }} the picture with what is dragged on it, and what came of it
 */
export function cropper(picture) {
  const marked = el("div", { class: "cut", hidden: true });
  const frame = el("div", { class: "cutting" }, picture, marked);
  const result = el("div", { class: "cut-out", "aria-live": "polite" });
  picture.draggable = false;
  /** @type {{ x: number, y: number } | null} */
  let from = null;

  /** @param {PointerEvent} event */
  const place = ({ clientX, clientY }) => {
    const box = picture.getBoundingClientRect();
    const inside = (/** @type {number} */ at, /** @type {number} */ side) => Math.min(Math.max(at, 0), side);
    return { x: inside(clientX - box.left, box.width), y: inside(clientY - box.top, box.height) };
  };
  /** @param {PointerEvent} event */
  const rectangle = (event) => {
    const to = place(event);
    const { x, y } = from ?? to;
    return {
      x: Math.min(x, to.x),
      y: Math.min(y, to.y),
      width: Math.abs(to.x - x),
      height: Math.abs(to.y - y),
    };
  };
  const clear = () => {
    from = null;
    marked.hidden = true;
    result.replaceChildren();
  };

  picture.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    clear();
    from = place(event);
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointermove", (event) => {
    if (!from) return;
    const { x, y, width, height } = rectangle(event);
    marked.hidden = false;
    marked.style.inset = `${y}px auto auto ${x}px`;
    marked.style.width = `${width}px`;
    marked.style.height = `${height}px`;
  });
  picture.addEventListener("pointerup", (event) => {
    if (!from) return;
    const { x, y, width, height } = rectangle(event);
    from = null;
    const scale = picture.naturalWidth / picture.getBoundingClientRect().width;
    const [left, top, right, bottom] = [x, y, x + width, y + height].map((at) => Math.round(at * scale));
    const size = { width: (right ?? 0) - (left ?? 0), height: (bottom ?? 0) - (top ?? 0) };
    if (size.width < MIN_SIDE || size.height < MIN_SIDE) clear();
    else result.replaceChildren(...template(picture, left ?? 0, top ?? 0, size));
  });
  picture.addEventListener("pointercancel", clear);
  return { frame, result, clear };
}

/**
 * @param {HTMLImageElement} picture
 * @param {number} x
 * @param {number} y
 * @param {{ width: number, height: number }} size
 * @returns {(Node | string)[]}
 */
function template(picture, x, y, { width, height }) {
  const canvas = el("canvas", { width, height, role: "img", "aria-label": "The part that was cut out" });
  canvas.getContext("2d")?.drawImage(picture, x, y, width, height, 0, 0, width, height);
  const save = button([icon("download"), `Download ${FILE}`], () =>
    canvas.toBlob((blob) => {
      if (!blob) return;
      const url = URL.createObjectURL(blob);
      el("a", { href: url, download: FILE }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    }, "image/png"),
  );
  const commands = [`svc locate ${FILE}`, `["AC_locate_and_click", {"image": "${FILE}", "timeout": 10}]`];
  return [
    canvas,
    el(
      "div",
      { class: "stack" },
      el(
        "div",
        {},
        save,
        " ",
        el(
          "span",
          { class: "hint" },
          `${width} × ${height} at ${x}, ${y}. Keep it beside the script, or in the folder images of the host.`,
        ),
      ),
      ...commands.map((text) =>
        el(
          "div",
          {},
          el("code", {}, text),
          " ",
          copyButton("Copy", () => text, text),
        ),
      ),
    ),
  ];
}
