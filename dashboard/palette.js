/**
 * The palette (Ctrl+K, ⌘K): goes to a page, a host, a plan, a stored script or a command by its name. It changes nothing by itself.
 */
import { el, newId } from "./dom.js";
import { icon } from "./icons.js";
import { placesOf } from "./palette-places.js";

/** How many answers are shown. */
const SHOWN = 12;

/** @typedef {import("./palette-places.js").Place} Place */

/**
 * @param {import("./api.js").Api} api
 * @param {import("./view.js").May} may false while nobody is signed in
 */
export function paletteOf(api, may) {
  const listId = newId("places");
  const field = el("input", {
    ...{ type: "search", role: "combobox", spellcheck: "false", autocomplete: "off" },
    ...{
      "aria-label": "Go to a page, a host, a plan, a script or a command",
      "aria-controls": listId,
      "aria-expanded": "true",
    },
    ...{ "aria-autocomplete": "list", placeholder: "A page, a host, a plan, a script or a command" },
  });
  const list = el("ul", { id: listId, role: "listbox", "aria-label": "Places" });
  const none = el("p", { class: "hint", role: "status" });
  const dialog = el("dialog", { class: "palette", "aria-label": "Go to" }, field, list, none);
  /** @type {readonly Place[]} */
  let found = [];
  let chosen = 0;

  const places = placesOf(api, may);
  /** @type {readonly Place[]} */
  let known = [];

  async function load() {
    known = places.pages();
    show();
    known = await places.all();
    show();
  }

  /** Shows what has the words in it; what begins so comes first. */
  function show() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    /** @type {Place[][]} */
    const ranks = [[], [], []];
    for (const place of known) {
      const text = place.text.toLowerCase();
      if (!words.every((word) => text.includes(word))) continue;
      const rank = text === words[0] ? 0 : text.startsWith(words[0] ?? "") ? 1 : 2;
      if ((ranks[rank]?.length ?? 0) < SHOWN) ranks[rank]?.push(place);
    }
    found = ranks.flat().slice(0, SHOWN);
    chosen = 0;
    list.replaceChildren(
      ...found.map(({ text, kind, icon: shape }, at) =>
        el(
          "li",
          { role: "option", id: `${listId}-${at}`, "data-at": at },
          icon(shape),
          el("span", {}, text),
          el("span", { class: "hint" }, kind),
        ),
      ),
    );
    list.hidden = found.length === 0;
    none.textContent = found.length === 0 ? "Nothing has that in its name." : "";
    mark();
  }

  function mark() {
    for (const [at, option] of [...list.children].entries()) {
      option.setAttribute("aria-selected", String(at === chosen));
      if (at === chosen) option.scrollIntoView({ block: "nearest" });
    }
    if (found.length > 0) field.setAttribute("aria-activedescendant", `${listId}-${chosen}`);
    else field.removeAttribute("aria-activedescendant");
  }

  /** @param {Place | undefined} place */
  function go(place) {
    if (!place) return;
    dialog.close();
    location.hash = place.href;
  }

  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) chosen = (chosen + step + found.length) % found.length;
    else if (event.key === "Enter") go(found[chosen]);
    else return;
    event.preventDefault();
    mark();
  });
  list.addEventListener("click", ({ target }) => {
    const at = target instanceof Element ? target.closest("li")?.getAttribute("data-at") : null;
    if (at != null) go(found[Number(at)]);
  });
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove());

  function open() {
    if (dialog.open || document.querySelector("dialog[open]")) return;
    document.body.append(dialog);
    field.value = "";
    dialog.showModal();
    void load();
  }
  addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
    if (key.toLowerCase() !== "k" || !(ctrlKey || metaKey) || altKey || shiftKey) return;
    // In the live screen, keys are those of the host.
    if (event.target instanceof Element && event.target.closest(".live-stage")) return;
    if (api.session.token === null) return;
    event.preventDefault();
    open();
  });
  return { open };
}
