/**
 * The shell: the navigation, the state of the server, and the form to sign in or the page that the address names.
 */
import { addressIn } from "./address.js";
import { Api } from "./api.js";
import { personIn } from "./credentials.js";
import { closeDialogs } from "./dialog.js";
import { button, el, newId, setText } from "./dom.js";
import { Events } from "./events.js";
import { moment } from "./format.js";
import { icon } from "./icons.js";
import { navCounts } from "./nav-counts.js";
import { GROUPS, pages } from "./pages.js";
import { paletteOf } from "./palette.js";
import { badge, loading, notice, panel, refreshTimes } from "./parts.js";
import { showSignIn } from "./sign-in.js";
import { createView } from "./view.js";

const api = connect();
const { session } = api;
const events = new Events(api);
const trouble = el("div", { class: "banner", role: "status", hidden: true });
const ending = el("div", { class: "banner", role: "status", hidden: true });
const main = el("main", { id: "main", tabindex: -1 });
const links = pages.map(({ name, title, icon: shape }) => el("a", { href: `#${name}` }, icon(shape), title));
const items = links.map((link) => el("li", {}, link));
const groups = Object.entries(GROUPS).map(([group, title]) => {
  const id = newId("group");
  const own = items.filter((_, at) => pages[at]?.group === group);
  const root = el(
    "div",
    {},
    el("p", { class: "nav-group", id }, title),
    el("ul", { "aria-labelledby": id }, ...own),
  );
  return { root, own };
});
const documentation = el("div", {}, el("a", { href: "docs" }, icon("api"), "API documentation"));
const live = el("div", { class: "live", role: "status" });
const host = el("p", { class: "host" });
const who = el("p", { class: "host" });
const sidebar = el(
  "div",
  { class: "sidebar" },
  el(
    "div",
    {},
    button([icon("search"), "Go to…", el("kbd", { "aria-hidden": "true" }, "Ctrl K")], () => palette.open(), {
      ...{ class: "go-to", "aria-keyshortcuts": "Control+K Meta+K" },
    }),
    el("nav", { "aria-label": "Pages" }, ...groups.map(({ root }) => root)),
  ),
  el(
    "footer",
    { class: "sidebar-foot" },
    documentation,
    button([icon("signOut"), "Sign out"], () => session.signOut()),
    host,
    who,
  ),
);
const menu = button([icon("menu"), "Menu"], () => toggleMenu(), { class: "menu", "aria-expanded": "false" });
const skip = el("a", { class: "skip", href: "#main" }, "Skip to the page");
skip.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
let leave = new AbortController();
/** What the token that is signed in may do. @type {import("./view.js").May} */
let mayNow = () => false;
const counts = navCounts(api, events, (page) => links.find(({ hash }) => hash === `#${page}`));
const palette = paletteOf(api, (scope) => session.token !== null && mayNow(scope));

document.body.append(
  skip,
  el(
    "header",
    { class: "topbar" },
    el(
      "a",
      { class: "brand", href: "#" },
      el("img", { src: "dashboard/icon.svg", alt: "", width: 24, height: 24 }),
      "svc",
    ),
    menu,
  ),
  sidebar,
  el("div", { class: "content" }, trouble, ending, main),
);

/** The API; it needs the session storage of the browser for the token. */
function connect() {
  try {
    return new Api();
  } catch (error) {
    const todo = "This browser blocks storage for this page: allow cookies for this address, and reload.";
    document.body.append(el("main", {}, notice("error", todo)));
    throw error;
  }
}

function toggleMenu(open = menu.getAttribute("aria-expanded") !== "true") {
  menu.setAttribute("aria-expanded", String(open));
  sidebar.classList.toggle("open", open);
}

/** Shows the page of the address, or the form to sign in. */
async function show(reason = "") {
  // That shows the form, with the reason.
  if (session.noticeEnd()) return;
  leave.abort();
  closeDialogs();
  leave = new AbortController();
  const { signal } = leave;
  toggleMenu(false);
  document.body.classList.toggle("signed-in", session.token !== null);
  if (session.token === null) {
    ending.hidden = true;
    document.title = "Sign in · svc";
    showSignIn(main, session, reason);
    return;
  }
  if (main.childElementCount === 0) main.replaceChildren(loading());
  const rights = await api.rights();
  if (signal.aborted || session.token === null) return;
  const may = mayOf(rights);
  mayNow = may;
  showRights(rights, may);
  // What is not known to be allowed is not asked for beside the page.
  if (rights !== null) counts.follow(may);
  // A page may show one of several things: `#live:LABEL`, `#hosts/LABEL`.
  const asked = addressIn(location.hash);
  const named = pages.find(({ name }) => asked.page === name);
  const page = named ?? pages.find(({ scope }) => may(scope)) ?? pages[0];
  document.title = `${page.title} · svc`;
  for (const link of links) {
    if (link.hash === `#${page.name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const heading = el("header", { class: "page-head" }, el("h1", {}, page.title), live);
  const root = el("div", { class: "page" }, heading, loading());
  main.replaceChildren(root);
  if (!may(page.scope)) {
    const lacking = panel("Not for this token");
    lacking.tell({
      tone: "warn",
      message: `This token allows ${rights?.scopes.join(", ")}, but this page needs ${page.scope}.`,
    });
    root.replaceChildren(heading, lacking.root);
    return;
  }
  const view = createView(root, api, events, may, signal);
  try {
    const { open } = await page.load();
    if (signal.aborted) return;
    root.replaceChildren(heading);
    open(view);
    showHost(view);
  } catch (error) {
    if (signal.aborted) return;
    root.replaceChildren(heading, notice("error", "This page could not be loaded. Reload to try again."));
    throw error;
  }
}

/**
 * @param {import("./api.js").Rights | null} rights
 * @returns {import("./view.js").May}
 */
const mayOf = (rights) => (scope) =>
  rights === null || rights.scopes.includes(scope) || rights.scopes.includes("admin");

/**
 * Leaves out of the navigation what the token may not see, and says which token it is.
 *
 * @param {import("./api.js").Rights | null} rights
 * @param {import("./view.js").May} may
 */
function showRights(rights, may) {
  showEnd(rights);
  documentation.hidden = !may("read");
  for (const [at, { scope }] of pages.entries()) items[at]?.toggleAttribute("hidden", !may(scope));
  for (const { root, own } of groups) root.hidden = own.every((one) => one.hidden);
  setText(
    who,
    rights === null || rights.name === null
      ? ""
      : `${personIn(rights.name) ?? `token ${rights.name}`}: ${rights.scopes.join(", ")}`,
  );
}

/** How long before its end a token is warned of, in milliseconds. */
const WARN_MS = 7 * 86_400_000;

/**
 * Says when the token ends, in the last week of its life.
 *
 * @param {import("./api.js").Rights | null} rights
 */
function showEnd(rights) {
  const isSession = personIn(rights?.name ?? null) !== undefined;
  const left =
    rights?.expires && !isSession ? Date.parse(rights.expires) - Date.now() : Number.POSITIVE_INFINITY;
  ending.hidden = !(left < WARN_MS);
  if (!rights?.expires || ending.hidden) return;
  const text = `This token ends on ${moment(rights.expires)}. On the host, svc token rotate ${rights.name} makes a new one.`;
  ending.replaceChildren(notice("warn", text));
}

/** The request that every page makes. @type {import("./view.js").Poll | null} */
let polled = null;

/** @param {import("./view.js").View} view */
function showHost({ poll, may }) {
  polled = may("read")
    ? poll({
        path: "overview",
        on: [],
        every: 60,
        show: ({ server }) => setText(host, `${server.host_name} · svc ${server.version}`),
      })
    : poll({ path: "token", on: [], every: 60, show: () => setText(host, location.host) });
  if (!trouble.hidden) void polled.now();
}

/** What the state of the events means for who looks. @type {Record<import("./events.js").State, Node | null>} */
const LIVE = {
  opening: null,
  live: el("span", { title: "Changes are shown when they happen." }, badge("ok", "live")),
  lost: el("span", { title: "The connection was cut." }, badge("warn", "reconnecting…")),
  asking: el(
    "span",
    {
      title: "No events come: a proxy may hold them back, or the token allows none.",
    },
    badge("info", "asking every few seconds"),
  ),
};
const tellLive = () => {
  const shown = LIVE[events.state];
  live.replaceChildren(...(shown ? [shown] : []));
};
events.addEventListener("state", tellLive);
tellLive();

/** Seconds within which most pages ask again by themselves. */
const RARELY_S = 6;

/** A notice while the server does not answer or asks to wait, with the seconds left. */
let waiting = 0;
let limitedUntil = 0;
api.silence.addEventListener("trouble", (event) => {
  // The form to sign in shows its own errors.
  if (!(event instanceof CustomEvent) || session.token === null) return;
  const { reason, retryAfter, message } = event.detail;
  clearInterval(waiting);
  const isNew = trouble.hidden;
  trouble.hidden = false;
  if (reason !== "limited") {
    limitedUntil = 0;
    // It asks again and again from then on.
    if (isNew) void polled?.now();
    const text = `${message} Trying again…`;
    if (trouble.textContent !== text) trouble.replaceChildren(notice("warn", text));
    return;
  }
  limitedUntil = performance.now() + retryAfter * 1_000;
  // The countdown is not read out.
  const when = el("span", { "aria-live": "off" });
  const update = () => {
    const left = Math.ceil((limitedUntil - performance.now()) / 1_000);
    setText(when, left > 0 ? `in ${left} s` : "now");
    if (left > -RARELY_S) return;
    // The page has asked nothing since.
    clearInterval(waiting);
    void polled?.now();
  };
  update();
  waiting = setInterval(update, 1_000);
  trouble.replaceChildren(notice("warn", "The server asks to slow down. Asking again ", when, "…"));
});
api.silence.addEventListener("answered", () => {
  // An answer to an earlier request does not end the wait.
  if (performance.now() < limitedUntil) return;
  clearInterval(waiting);
  trouble.hidden = true;
});

session.addEventListener("signin", () => {
  void show();
  main.focus();
});
session.addEventListener("signout", (event) => {
  clearInterval(waiting);
  limitedUntil = 0;
  trouble.hidden = true;
  void show(event instanceof CustomEvent ? event.detail : "");
});
addEventListener("hashchange", async () => {
  await show();
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
});
// Also for a link to the page that is shown already, where no hashchange follows.
sidebar.addEventListener("click", () => toggleMenu(false));
addEventListener("keydown", ({ key }) => {
  if (key !== "Escape" || !sidebar.classList.contains("open")) return;
  toggleMenu(false);
  menu.focus();
});
// From the back/forward cache: the tab may have signed out in the API documentation meanwhile.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) void show();
});
// A hidden tab sends no requests: it learns that another tab has signed out once it is visible again.
document.addEventListener("visibilitychange", () => session.noticeEnd());
setInterval(() => {
  if (!document.hidden) refreshTimes();
}, 5_000);
void begin();

/** Signs in where the address brings a code, which leaves it and the history of the tab at once. */
async function begin() {
  const [, kind, code = "", page = ""] =
    /^#(code|session)=([\w.-]+)(?:&page=([a-z]+))?$/.exec(location.hash) ?? [];
  if (kind === undefined) return show();
  history.replaceState(null, "", `${location.pathname}${page && `#${page}`}`);
  const signedIn = kind === "code" ? session.redeem(code) : session.begin(code);
  await signedIn.catch((error) => show(error.message));
}
