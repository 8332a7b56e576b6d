/**
 * Looking for hosts: the words that are typed, the views that were saved, how the list is sorted and grouped. All of it is in the
 * address, but for the saved views, which this browser keeps.
 */
import { addressIn, keepInAddress } from "../../address.js";
import { fill } from "../../dialog.js";
import { button, el, labelled, newId, setText } from "../../dom.js";
import { count } from "../../format.js";
import { PROPERTY_WORDS, STATE_WORDS } from "../../query.js";
import { STATE_ORDER, STATES, wordFor } from "./host-words.js";

/** Where this browser keeps the saved views, and how many. */
const VIEWS_KEY = "svc-host-views";
const MOST_VIEWS = 50;

/**
 * What the list shows: which hosts, sorted by which column (with a minus: downwards), and whether in groups.
 *
 * @typedef {{ q: string, sort: string, group: string }} ListView
 */

/** A view that was saved. @typedef {ListView & { name: string }} SavedView */

/** Milliseconds from the last key until the address has what was typed. */
const KEPT_AFTER_MS = 300;

/** How the list is sorted where nobody has said so: the worst first. */
export const USUAL_SORT = "state";

/** What the address says of the list. @returns {ListView} */
export function shownInAddress() {
  const { query } = addressIn(location.hash);
  return {
    q: query.get("q") ?? "",
    sort: query.get("sort") ?? USUAL_SORT,
    group: query.get("group") === "tag" ? "tag" : "",
  };
}

/** @returns {SavedView[]} */
function savedViews() {
  try {
    const kept = JSON.parse(localStorage.getItem(VIEWS_KEY) ?? "[]");
    const isView = (/** @type {unknown} */ one) =>
      ["name", "q", "sort", "group"].every((part) => typeof Object(one)[part] === "string");
    const isNamed = (/** @type {SavedView} */ { name }) => name.trim() !== "";
    return Array.isArray(kept) ? kept.filter(isView).filter(isNamed).slice(0, MOST_VIEWS) : [];
  } catch {
    // Written by another program, or cut short: there are none.
    return [];
  }
}

/**
 * @param {(shown: ListView) => void} changed
 * @param {() => void} enter goes into the list
 * @param {AbortSignal} signal
 */
export function hostSearch(changed, enter, signal) {
  const shown = shownInAddress();
  const helpId = newId("help");
  const field = el("input", {
    ...{ type: "search", spellcheck: "false", autocomplete: "off", autocapitalize: "off" },
    ...{ "aria-label": "Search hosts", "aria-describedby": helpId, "aria-keyshortcuts": "/" },
    placeholder: "tag:lab !healthy version:<0.3",
  });
  field.value = shown.q;
  const help = searchHelp(helpId);
  const fault = el("p", { class: "hosts-fault", role: "status" });
  const chips = el("div", { class: "hosts-chips small", role: "group", "aria-label": "Hosts by state" });
  const grouped = button("Group by tag", () => update({ group: shown.group === "" ? "tag" : "" }));
  const views = el("select", { "aria-label": "Saved views" });
  const forget = button("Forget view", () => removeView(), { hidden: true });
  const root = el(
    "div",
    { class: "hosts-search" },
    el("div", { class: "hosts-field" }, field, el("kbd", { "aria-hidden": "true" }, "/")),
    el("div", { class: "buttons small" }, grouped, views, button("Save view…", saveView), forget),
    fault,
    chips,
    help.root,
  );

  /** @param {Partial<ListView>} change */
  function update(change) {
    Object.assign(shown, change);
    if (change.q !== undefined && field.value !== change.q) field.value = change.q;
    show();
    changed({ ...shown });
  }

  let timer = 0;
  /** Once somebody has stopped typing: browsers take few changes of an address in a second. */
  const keepSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(keep, KEPT_AFTER_MS);
  };
  const keep = () => {
    clearTimeout(timer);
    const { q, sort, group } = shown;
    if (!signal.aborted) keepInAddress("hosts", { q, sort: sort === USUAL_SORT ? "" : sort, group });
  };
  // So that the way back leads to what was looked for.
  field.addEventListener("focusout", keep);
  signal.addEventListener("abort", () => clearTimeout(timer));

  function show() {
    const { q, sort, group } = shown;
    keepSoon();
    grouped.setAttribute("aria-pressed", String(group === "tag"));
    const saved = savedViews();
    const [known] = saved.filter((one) => one.q === q && one.sort === sort && one.group === group);
    views.replaceChildren(
      el("option", { value: "" }, saved.length > 0 ? "Views" : "No saved views"),
      ...saved.map(({ name }) => el("option", { value: name }, name)),
    );
    views.value = known?.name ?? "";
    forget.hidden = known === undefined;
  }

  field.addEventListener("input", () => update({ q: field.value }));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && field.value !== "") update({ q: "" });
    else if (event.key === "ArrowDown" || event.key === "Enter") enter();
    else return;
    event.preventDefault();
  });
  views.addEventListener("change", () => {
    const chosen = savedViews().find(({ name }) => name === views.value);
    const { q = "", sort = USUAL_SORT, group = "" } = chosen ?? {};
    update({ q, sort, group });
  });
  document.addEventListener(
    "keydown",
    (event) => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      const isTyping =
        target instanceof HTMLElement && target.matches("input:not([type=checkbox]), textarea, select");
      if (key !== "/" || ctrlKey || metaKey || altKey || isTyping || document.querySelector("dialog[open]"))
        return;
      event.preventDefault();
      field.focus();
      field.select();
    },
    { signal },
  );

  async function saveView() {
    const name = el("input", { required: true, maxlength: 60, placeholder: "sick tills" });
    const post = async () => {
      const called = name.value.trim();
      if (called === "") throw new Error("Name the view with more than spaces: it is found by its name.");
      const others = savedViews().filter((one) => one.name !== called);
      if (others.length >= MOST_VIEWS) throw new Error(`Forget a view first: there are ${MOST_VIEWS}.`);
      const kept = [...others, { ...shown, name: called }];
      localStorage.setItem(VIEWS_KEY, JSON.stringify(kept.toSorted((a, b) => a.name.localeCompare(b.name))));
    };
    const words = `This browser keeps it: ${shown.q === "" ? "all hosts" : shown.q}.`;
    if (await fill("Save this view", "Save", post, labelled("Name", name, words))) show();
  }

  function removeView() {
    const rest = savedViews().filter(({ name }) => name !== views.value);
    localStorage.setItem(VIEWS_KEY, JSON.stringify(rest));
    show();
  }

  /** The word that a chip adds or takes away. @param {string} word */
  function toggleWord(word) {
    const words = shown.q.split(/\s+/).filter(Boolean);
    update({ q: (words.includes(word) ? words.filter((one) => one !== word) : [...words, word]).join(" ") });
  }

  /** What the chips say, so that one that has the focus is not made anew for nothing. */
  let chipped = "";

  show();
  return {
    root,
    shown: () => ({ ...shown }),
    update,
    /**
     * @param {string} what what is wrong with the words; empty where nothing is
     * @param {boolean} [isDoubt] whether that may be what was meant
     */
    tell(what, isDoubt = false) {
      setText(fault, what);
      fault.classList.toggle("doubt", isDoubt);
    },
    /** @param {string} tag */
    tag: (tag) => toggleWord(`tag:${tag}`),
    /** Says what can be searched for, and which keys the list has. */
    help: help.open,
    /** How many hosts are in each state. @param {ReadonlyMap<string, number>} counts */
    count(counts) {
      const words = shown.q.split(/\s+/);
      const next = JSON.stringify([shown.q, ...STATE_ORDER.map((state) => counts.get(state))]);
      if (next === chipped) return;
      chipped = next;
      const focused = chips.querySelector(":focus")?.getAttribute("data-word");
      chips.replaceChildren(
        ...STATE_ORDER.flatMap((state) => {
          const hosts = counts.get(state) ?? 0;
          if (hosts === 0) return [];
          const [text, tone, sign] = STATES[state];
          const word = wordFor(state);
          return button(
            [el("span", { "aria-hidden": "true" }, sign), ` ${count(hosts)} ${text}`],
            () => toggleWord(word),
            {
              ...{ class: `chip ${tone}`, "data-word": word },
              "aria-pressed": String(words.includes(word)),
            },
          );
        }),
      );
      for (const chip of chips.querySelectorAll("button"))
        if (focused != null && chip.getAttribute("data-word") === focused) chip.focus();
    },
  };
}

/** What can be searched for, and the keys of the list, which unfold. @param {string} id of the text that the search is described by */
function searchHelp(id) {
  const summary = el("summary", {}, "What can be searched for");
  const root = el(
    "details",
    { class: "hosts-help" },
    summary,
    el(
      "p",
      { class: "hint", id },
      `Words that all fit, with commas any of them, with ! none: part of a label, ${STATE_WORDS.join(", ")}.`,
    ),
    el(
      "dl",
      { class: "facts" },
      ...Object.entries(PROPERTY_WORDS).flatMap(([name, words]) => [
        el("dt", {}, el("code", {}, `${name}:`)),
        el("dd", {}, words),
      ]),
    ),
    el(
      "p",
      { class: "hint" },
      "In the list: arrows or j and k move, x selects, Shift extends, Ctrl+A takes all, Enter opens, o shows the screen, p makes a plan, m has more, Esc lets go.",
    ),
  );
  return {
    root,
    open() {
      root.open = true;
      summary.focus();
    },
  };
}
