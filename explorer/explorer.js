/**
 * The API explorer: Swagger UI on this server's document, with the token of this tab.
 *
 * Swagger UI is loaded after signing in and configured here, not by the address. It never sees the token, which is added
 * to outgoing requests to this server only.
 */
import { Api } from "../dashboard/api.js";
import { button, el } from "../dashboard/dom.js";
import { showSignIn } from "../dashboard/sign-in.js";

const api = new Api();
const { session } = api;
const signOut = button("Sign out", () => session.signOut(), { hidden: true });
const main = el("main", { id: "main" });

document.body.append(
  el(
    "header",
    { class: "topbar" },
    el(
      "a",
      { class: "brand", href: "dashboard" },
      el("img", { src: "dashboard/icon.svg", alt: "", width: 24, height: 24 }),
      "svc",
    ),
    el("div", { class: "right" }, el("a", { href: "dashboard" }, "Dashboard"), signOut),
  ),
  main,
);

/** The style sheet of Swagger UI has a dark theme for a root element of this class. */
const dark = matchMedia("(prefers-color-scheme: dark)");
const followSystem = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followSystem);
followSystem();

/** Resolves to the factory that the script of Swagger UI puts on the window. */
const swaggerUi = () =>
  new Promise((resolve, reject) => {
    if ("SwaggerUIBundle" in window) return resolve(window.SwaggerUIBundle);
    const script = el("script", { src: "docs/swagger-ui-bundle.js" });
    script.addEventListener("load", () => resolve(Reflect.get(window, "SwaggerUIBundle")));
    script.addEventListener("error", () => reject(new Error("Swagger UI could not be loaded.")));
    document.head.append(script);
  });

async function showDocument() {
  const [SwaggerUi, spec] = await Promise.all([swaggerUi(), api.ask("openapi.json")]);
  const target = el("div", { id: "swagger-ui" });
  main.replaceChildren(target);
  const ui = SwaggerUi({
    domNode: target,
    // The document has the server's own address; only the one in the address bar may be asked.
    spec: { ...spec, servers: [{ url: api.base.href.replace(/\/$/, "") }] },
    queryConfigEnabled: false,
    validatorUrl: null,
    deepLinking: true,
    displayRequestDuration: true,
    // The request that is shown is the one without the token.
    showMutatedRequest: false,
    requestInterceptor: authorize,
    // What stands for the token in the curl command, and is replaced by it in the request.
    onComplete: () => ui.preauthorizeApiKey("BearerAuth", "<token>"),
    plugins: [withoutAuthorizeButtons],
  });
}

/** @param {{ url: string, headers: Record<string, string> }} request */
function authorize(request) {
  if (new URL(request.url, api.base).origin === api.base.origin && session.credentials !== null) {
    const [name, value] = session.credentials;
    // The placeholder that curl shows.
    delete request.headers.Authorization;
    request.headers[name] = value;
  }
  return request;
}

/** Removes the authorization dialogs: the top of the page has a button for that. */
function withoutAuthorizeButtons() {
  const nothing = () => () => null;
  return { wrapComponents: { authorizeBtn: nothing, authorizeOperationBtn: nothing } };
}

function show(reason = "") {
  signOut.hidden = session.token === null;
  if (session.token === null) return showSignIn(main, session, reason);
  main.replaceChildren(el("p", { class: "hint", role: "status" }, "Loading the API document…"));
  showDocument().catch((error) => {
    if (session.token === null) return;
    const again = button("Try again", () => show());
    main.replaceChildren(el("p", { class: "trouble", role: "alert" }, error.message), again);
  });
}

session.addEventListener("signin", () => show());
session.addEventListener("signout", (event) => show(event instanceof CustomEvent ? event.detail : ""));
show();
