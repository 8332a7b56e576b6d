/**
 * What pages are put together from: panels, badges, times, buttons, texts.
 */
import { button, el, newId, setText } from "./dom.js";
import { ago, count, moment } from "./format.js";
import { icon } from "./icons.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {"ok" | "warn" | "error" | "info" | "none"} Tone */

/**
 * A box with a heading. What goes wrong inside is told inside, above what was there before.
 *
 * @param {string} title
 * @param {{ tools?: Child[], class?: string }} [options] `tools` stand beside the heading
 */
export function panel(title, { tools = [], class: more = "" } = {}) {
  const id = newId("panel");
  const polled = alertBox();
  const done = alertBox();
  const notes = el("div", { class: "panel-notes" });
  const body = el("div", { class: "panel-body" });
  const root = el(
    "section",
    { class: `panel ${more}`, "aria-labelledby": id },
    el("header", { class: "panel-head" }, el("h2", { id }, title), el("div", { class: "tools" }, ...tools)),
    polled.root,
    done.root,
    notes,
    body,
  );
  return {
    root,
    /** What is to be said before anything else; takes no room while there is nothing. */
    notes,
    body,
    /** What is wrong with what is asked again and again; the next good answer takes it back. */
    fail(/** @type {Trouble | null} */ trouble) {
      polled.tell(trouble);
      if (trouble) for (const waiting of body.querySelectorAll(".loading")) waiting.remove();
    },
    /** What went wrong with what somebody did; stays until they do something else. */
    tell: done.tell,
  };
}

/** @typedef {{ message: string, tone?: Tone }} Trouble */

/** A place for one thing that is wrong; null takes back what was said. */
export function alertBox() {
  const root = el("div", { role: "alert" });
  return {
    root,
    /** @param {Trouble | null} trouble */
    tell(trouble) {
      // Said once: it would be read out again each time.
      const said = trouble && notice(trouble.tone ?? "error", trouble.message);
      if (said && root.textContent === said.textContent) return;
      root.replaceChildren(...(said ? [said] : []));
    },
  };
}

/**
 * A line that says how something is, with an icon for those who do not see the colour.
 *
 * @param {Tone} tone
 * @param {...Child} text
 */
export function notice(tone, ...text) {
  return el(
    "div",
    { class: `notice ${tone}` },
    icon(tone === "none" ? "info" : tone),
    el("div", {}, ...text),
  );
}

/**
 * What stands where there is nothing: that there is nothing, and what to do about it.
 *
 * @param {string} title
 * @param {...Child} todo
 */
export function nothing(title, ...todo) {
  return el("div", { class: "nothing" }, el("strong", {}, title), el("p", {}, ...todo));
}

/** Stands where an answer is going to be. */
export const loading = () => el("p", { class: "nothing loading", role: "status" }, "Loading…");

/**
 * A word in a colour that says how good it is; the word says so too.
 *
 * @param {Tone} tone
 * @param {string} text
 */
export const badge = (tone, text) => el("span", { class: `badge ${tone}` }, text);

/** @param {string | null | undefined} iso a moment, told as how long ago it was; the exact one on hover */
export function time(iso) {
  if (!iso || Number.isNaN(Date.parse(iso))) return el("span", { class: "faint" }, iso || "–");
  return el("time", { datetime: iso, title: moment(iso), class: "ago" }, ago(iso));
}

/** Brings every {@link time} of the page up to date. */
export function refreshTimes() {
  for (const element of document.querySelectorAll("time.ago")) {
    const iso = element.getAttribute("datetime");
    if (iso) setText(element, ago(iso));
  }
}

/**
 * A figure with its name.
 *
 * @param {string} label
 */
export function figure(label) {
  const value = el("dd", {}, "–");
  return {
    root: el("div", { class: "figure" }, el("dt", {}, label), value),
    /**
     * @param {string} text
     * @param {Tone} [tone]
     * @param {string} [title]
     */
    show(text, tone = "none", title = "") {
      setText(value, text);
      value.className = tone;
      value.title = title;
    },
  };
}

/**
 * A button that does something that takes its time: it cannot be pressed again meanwhile, and what goes wrong is told.
 *
 * @param {Child | readonly Child[]} label
 * @param {() => Promise<void>} act
 * @param {(error: Error | null) => void} tell null when it starts anew
 * @param {import("./dom.js").Attributes} [attributes]
 */
export function actionButton(label, act, tell, attributes = {}) {
  const made = button(
    label,
    async () => {
      if (made.getAttribute("aria-disabled") === "true") return;
      // Not `disabled`: that would take the focus away.
      made.setAttribute("aria-disabled", "true");
      tell(null);
      try {
        await act();
      } catch (error) {
        tell(asError(error));
      } finally {
        made.removeAttribute("aria-disabled");
      }
    },
    attributes,
  );
  return made;
}

/** @param {unknown} thrown */
export const asError = (thrown) => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/**
 * A button that copies a text; nothing where the browser has no clipboard (it needs HTTPS or loopback).
 *
 * @param {string} label
 * @param {() => string} text
 */
export function copyButton(label, text) {
  if (!navigator.clipboard) return null;
  // Not a status: the button would have no name.
  const says = el("span", { "aria-live": "polite" }, label);
  return button([icon("copy"), says], async () => {
    const copied = await navigator.clipboard.writeText(text()).then(
      () => true,
      () => false,
    );
    setText(says, copied ? "Copied" : "Not allowed");
    setTimeout(() => setText(says, label), 2_000);
  });
}

/**
 * Hands `text` to the browser as a file to keep.
 *
 * @param {string} name
 * @param {string} text
 */
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Characters of a text that are shown before one asks for all of it. */
const CLIPPED_AT = 400;

/**
 * A text of any length, on one line or many: the beginning, and all of it on demand.
 *
 * @param {string | null | undefined} text
 */
export function prose(text) {
  if (text === null || text === undefined || text === "") return el("span", { class: "faint" }, "–");
  if (text.length <= CLIPPED_AT) return el("span", { class: "prose" }, text);
  const shown = el("span", { class: "prose" }, `${text.slice(0, CLIPPED_AT)}…`);
  const all = button(`Show all ${count(text.length)} characters`, () => {
    setText(shown, text);
    all.remove();
  });
  return el("div", {}, shown, " ", all);
}

/**
 * A value as JSON: short ones in the line, others as a block.
 *
 * @param {unknown} value
 */
export function json(value) {
  const line = JSON.stringify(value) ?? "null";
  if (line.length <= 60) return el("code", {}, line);
  const text = JSON.stringify(value, null, 2);
  const block = el("pre", { class: "json", tabindex: 0 }, text.slice(0, 20_000));
  if (text.length <= 20_000) return block;
  return el(
    "div",
    {},
    block,
    el("p", { class: "hint" }, `The first 20,000 of ${count(text.length)} characters.`),
  );
}
