/**
 * The parts of pages: panels, badges, times, buttons, texts.
 */
import { button, el, newId, setText } from "./dom.js";
import { ago, count, moment } from "./format.js";
import { icon } from "./icons.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {"ok" | "warn" | "error" | "info" | "none"} Tone */

/**
 * A box with a heading. It shows its own errors above its content.
 *
 * @param {string} title
 * @param {{ tools?: Child[], class?: string }} [options] `tools` are next to the heading
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
  const stopLoading = () => {
    for (const waiting of body.querySelectorAll(".loading")) waiting.remove();
  };
  return {
    root,
    /** Notices above the content; takes no room while empty. */
    notes,
    body,
    /** The error of a repeated request; null removes it after a good answer. */
    fail(/** @type {Trouble | null} */ trouble) {
      polled.tell(trouble);
      if (trouble) stopLoading();
    },
    /** Takes "Loading…" away where another panel shows the error: two would be read out. */
    stopLoading,
    /** The error of an action of the user; stays until the next action. */
    tell: done.tell,
  };
}

/** @typedef {{ message: string, tone?: Tone }} Trouble */

/** A place for one error; null removes it. */
export function alertBox() {
  const root = el("div", { role: "alert" });
  return {
    root,
    /** @param {Trouble | null} trouble */
    tell(trouble) {
      const next = trouble && notice(trouble.tone ?? "error", trouble.message);
      // A screen reader would read the same text again.
      if (next && root.textContent === next.textContent) return;
      root.replaceChildren(...(next ? [next] : []));
    },
  };
}

/**
 * A line with a colour, and an icon for those who do not see the colour.
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

/** Says in red that the server speaks plain http beyond its own machine. */
export function insecureNotice() {
  const root = el("div", { role: "alert" });
  return {
    root,
    /** @param {import("./wire").Answer<"overview">} overview */
    show({ server }) {
      if (!server.insecure === (root.childElementCount === 0)) return;
      root.replaceChildren(
        ...(server.insecure
          ? [
              notice(
                "error",
                "This server speaks plain http: everybody on the way can read the tokens, yours too. Start it without ",
                el("code", { class: "flag" }, "--insecure-http"),
                ".",
              ),
            ]
          : []),
      );
    },
  };
}

/**
 * An empty state: that there is nothing, and what to do about it.
 *
 * @param {string} title
 * @param {...Child} todo
 */
export function nothing(title, ...todo) {
  return el("div", { class: "nothing" }, el("strong", {}, title), el("p", {}, ...todo));
}

/** A placeholder until the first answer. */
export const loading = () => el("p", { class: "nothing loading", role: "status" }, "Loading…");

/**
 * A word in the colour of its meaning.
 *
 * @param {Tone} tone
 * @param {string} text
 */
export const badge = (tone, text) => el("span", { class: `badge ${tone}` }, text);

/** How long ago a moment was, with the exact time on hover. @param {string | null | undefined} iso */
export function time(iso) {
  if (!iso || Number.isNaN(Date.parse(iso))) return el("span", { class: "faint" }, iso || "–");
  return el("time", { datetime: iso, title: moment(iso), class: "ago" }, ago(iso));
}

/** Updates every {@link time} of the page. */
export function refreshTimes() {
  for (const element of document.querySelectorAll("time.ago")) {
    const iso = element.getAttribute("datetime");
    if (iso) setText(element, ago(iso));
  }
}

/**
 * A number with its label.
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
 * A button for an action that takes time: it cannot be pressed again until `act` ends, and `tell` gets its error.
 *
 * @param {Child | readonly Child[]} label
 * @param {() => Promise<void>} act
 * @param {(error: Error | null) => void} tell null when it starts
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
 * A button that copies a text; null if the browser has no clipboard (it needs HTTPS or loopback).
 *
 * @param {string} label
 * @param {() => string} text
 * @param {string} [what] is copied, for screen readers, where the label does not say it
 */
export function copyButton(label, text, what) {
  if (!navigator.clipboard) return null;
  // A role of status would take the name of the button away.
  const says = el("span", { "aria-live": "polite" }, label);
  const name = what === undefined ? null : el("span", { class: "unseen" }, ` ${what}`);
  return button([icon("copy"), says, name], async () => {
    const copied = await navigator.clipboard.writeText(text()).then(
      () => true,
      () => false,
    );
    setText(says, copied ? "Copied" : "Not allowed");
    setTimeout(() => setText(says, label), 2_000);
  });
}

/**
 * Makes `values` the options of `select`, after one for all of them; what is chosen stays chosen.
 *
 * @param {HTMLSelectElement} select
 * @param {string} all
 * @param {readonly string[]} values
 */
export function offer(select, all, values) {
  const chosen = select.value;
  const wanted = [...new Set(["", ...values, chosen])];
  if ([...select.options].map(({ value }) => value).join("\n") === wanted.join("\n")) return;
  select.replaceChildren(...wanted.map((value) => el("option", { value }, value === "" ? all : value)));
  select.value = chosen;
}

/**
 * Downloads a text, or what a blob holds, as a file.
 *
 * @param {string} name
 * @param {string | Blob} content
 */
export function download(name, content) {
  const url = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Characters of a long text that are shown at first. */
const CLIPPED_AT = 400;

/**
 * A text of any length: its beginning, and all of it on demand.
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
 * A value as JSON: short ones inline, others as a block.
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
