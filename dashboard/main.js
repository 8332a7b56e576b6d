/**
 * The shell: the header, and below it the form to sign in or the page that the address names.
 */
import { Api } from "./api.js";
import { button, el, setText } from "./dom.js";
import { pages } from "./pages.js";
import { showSignIn } from "./sign-in.js";
import { createView } from "./view.js";

const api = new Api();
const trouble = el("p", { class: "banner", role: "status", hidden: true });
const main = el("main", { id: "main", tabindex: -1 });
const links = pages.map(({ name, title }) => el("a", { href: `#${name}` }, title));
const nav = el("nav", { "aria-label": "Pages", hidden: true }, ...links);
const signOut = button("Sign out", () => api.signOut(), { hidden: true });
let leave = new AbortController();

document.body.append(
  el("a", { class: "skip", href: "#main" }, "Skip to the page"),
  el(
    "header",
    {},
    el(
      "a",
      { class: "brand", href: "#" },
      el("img", { src: "dashboard/icon.svg", alt: "", width: 24, height: 24 }),
      "svc",
    ),
    nav,
    el("div", { class: "right" }, el("a", { href: "docs" }, "API"), signOut),
  ),
  trouble,
  main,
);

/** @param {string} message */
function showTrouble(message) {
  setText(trouble, message);
  trouble.hidden = message === "";
}

/** Shows what the address and the session ask for. */
function show(reason = "") {
  leave.abort();
  leave = new AbortController();
  showTrouble("");
  const signedIn = api.token !== null;
  nav.hidden = !signedIn;
  signOut.hidden = !signedIn;
  if (!signedIn) {
    document.title = "Sign in · svc";
    showSignIn(main, api, reason);
    return;
  }
  const page = pages.find(({ name }) => location.hash === `#${name}`) ?? pages[0];
  document.title = `${page.title} · svc`;
  for (const link of links) {
    if (link.hash === `#${page.name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const root = el("div", { class: "page" }, el("h1", {}, page.title));
  main.replaceChildren(root);
  page.open(createView(root, api, leave.signal, showTrouble));
}

api.addEventListener("signin", () => {
  show();
  main.focus();
});
api.addEventListener("signout", (event) => show(event instanceof CustomEvent ? event.detail : ""));
addEventListener("hashchange", () => {
  if (location.hash === "#main") return main.focus();
  show();
});
show();
