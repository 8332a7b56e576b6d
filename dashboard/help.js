/**
 * The pages of the documentation that the server carries, and looking for words in them. `#help:plans/waves` shows a page at
 * a heading, `#help:T15` an entry of troubleshooting.
 */
import { decoded } from "./address.js";
import { ApiError } from "./api-error.js";
import { el, labelled, setText } from "./dom.js";
import { counted } from "./format.js";
import { loading, panel } from "./parts.js";
import { againAfter, whenVisible } from "./view.js";

/** What a page is made of: a text, or a tag, its attributes, and what is in it. @typedef {string | [string, Record<string, string | number>, ...Part[]]} Part */

/** Milliseconds after the last key until a search begins. */
const TYPING_MS = 250;

/** A page stays as it is as long as the server is the same: milliseconds. */
const KEEP_MS = 3_600_000;

/** @param {import("./view.js").View} view */
export function open({ root, api, signal, poll }) {
  const [topic = "", anchor = ""] = location.hash.split(":").slice(1).join(":").split("/").map(decoded);
  const search = el("input", { type: "search", placeholder: "words", spellcheck: "false" });
  const about = el("span", { class: "hint", role: "status" });
  const hits = el("ul", { class: "hits" });
  const finder = panel("Find", { tools: [about, el("a", { href: "#help" }, "All pages")] });
  finder.body.append(labelled("Words in all pages", search), hits);
  const made = panel("Documentation");
  const text = el("div", { class: "doc" }, loading());
  made.body.append(text);
  root.append(finder.root, made.root);

  /** The last search; an earlier one that answers later is not shown. */
  let asked = 0;
  /** Until a search begins. */
  let typing = 0;
  const find = async () => {
    const words = search.value.trim();
    asked += 1;
    const nth = asked;
    if (words === "") {
      finder.tell(null);
      setText(about, "");
      hits.replaceChildren();
      return;
    }
    try {
      const { body } = await api.get(`help?search=${encodeURIComponent(words)}`, { maxAge: KEEP_MS });
      if (signal.aborted || nth !== asked) return;
      const { found = [] } = body;
      finder.tell(null);
      setText(about, found.length === 0 ? "no page has all of these words" : counted(found.length, "place"));
      hits.replaceChildren(...found.map(hit));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (signal.aborted || nth !== asked) return;
      const seconds = againAfter(error);
      if (seconds === 0) return finder.tell(error);
      clearTimeout(typing);
      typing = setTimeout(() => whenVisible(signal, find), seconds * 1_000);
    }
  };
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => void find(), TYPING_MS);
  });
  signal.addEventListener("abort", () => clearTimeout(typing));

  let isShown = false;
  poll({
    path: () => `help?elements=true&topic=${encodeURIComponent(topic || "README")}`,
    on: [],
    every: KEEP_MS / 1_000,
    show({ read }) {
      made.fail(null);
      if (!read || isShown) return;
      isShown = true;
      const heading = made.root.querySelector("h2");
      if (heading) setText(heading, read.title);
      text.replaceChildren(...contentOf(read.page, /** @type {Part[]} */ (read.elements ?? [])));
      if (anchor) document.getElementById(idOf(anchor))?.scrollIntoView();
    },
    fail: made.fail,
  });
}

/** @param {NonNullable<import("./wire").Answer<"help">["found"]>[number]} found */
function hit({ page, heading, anchor, entry, line }) {
  const address = entry ?? (anchor ? `${page}/${anchor}` : page);
  return el(
    "li",
    {},
    el("a", { href: `#help:${encodeURI(address)}` }, heading),
    el("span", { class: "hint" }, entry ? ` ${entry}` : ` ${page}`),
    el("p", { class: "prose" }, line),
  );
}

/** The shell has ids of its own. @param {string} anchor */
const idOf = (anchor) => `help-${anchor}`;

/**
 * All but the title, which is that of the panel.
 *
 * @param {string} page
 * @param {readonly Part[]} parts
 */
const contentOf = (page, parts) =>
  parts.filter((part) => typeof part === "string" || part[0] !== "h1").map((part) => built(page, part));

/** The elements that are made as they are; anything else becomes its text. */
const TAGS = /** @type {const} */ ([
  "p",
  "code",
  "em",
  "strong",
  "ul",
  "ol",
  "li",
  "blockquote",
  "br",
  "hr",
  "thead",
  "tbody",
  "tr",
  "th",
  "td",
]);

/** Below the title of the panel. */
const LOWER = /** @type {const} */ ({ h2: "h3", h3: "h4", h4: "h5", h5: "h6", h6: "h6" });

/**
 * @param {string} page where links begin
 * @param {Part} part
 * @returns {Node}
 */
function built(page, part) {
  if (typeof part === "string") return document.createTextNode(part);
  const [tag, attributes, ...inner] = part;
  const children = inner.map((one) => built(page, one));
  const same = TAGS.find((one) => one === tag);
  if (same) return el(same, {}, ...children);
  if (tag === "a") return linkOf(page, String(attributes.href), children);
  // Wide ones scroll by themselves; who has no mouse scrolls what has the focus.
  if (tag === "pre") return el("pre", { tabindex: 0 }, ...children);
  if (tag === "table")
    return el(
      "div",
      { class: "table", tabindex: 0, role: "group", "aria-label": "Table" },
      el("table", {}, ...children),
    );
  if (tag === "img") return el("em", {}, String(attributes.alt ?? ""));
  const lower = Object.entries(LOWER).find(([one]) => one === tag)?.[1];
  return el(lower ?? "span", lower ? { id: idOf(String(attributes.id)) } : {}, ...children);
}

/**
 * A link to another page of the documentation, or out of it. What the binary does not carry has no link.
 *
 * @param {string} page
 * @param {string} target
 * @param {Node[]} children
 */
function linkOf(page, target, children) {
  if (/^https?:/.test(target))
    return el("a", { href: target, target: "_blank", rel: "noreferrer" }, ...children);
  const [, file, anchor = ""] = /^(?:([\w-]+)\.md)?(?:#(.+))?$/.exec(target) ?? [];
  if (file === undefined && anchor === "") return el("span", {}, ...children);
  const address = [file ?? page, anchor].filter(Boolean).join("/");
  return el("a", { href: `#help:${address}` }, ...children);
}
