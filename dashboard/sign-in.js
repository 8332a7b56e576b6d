/**
 * The form that asks for the token, and leads to the provider where people can sign in there, shown instead of a page until the server accepts one.
 */
import { ApiError } from "./api-error.js";
import { el, setText } from "./dom.js";

/**
 * Shows the form in `root` and puts the cursor in it.
 *
 * @param {HTMLElement} root
 * @param {import("./session.js").Session} session
 * @param {string} reason why the user is signed out, or empty
 */
export function showSignIn(root, session, reason) {
  const input = el("input", {
    id: "token",
    type: "password",
    required: true,
    autocomplete: "current-password",
    spellcheck: "false",
    "aria-describedby": "token-hint token-trouble",
  });
  const trouble = el("p", { id: "token-trouble", class: "trouble", role: "alert" }, reason);
  const submit = el("button", { class: "primary" }, "Sign in");
  const [command, where] = tokenSource(location.hostname);
  const form = el(
    "form",
    { class: "card sign-in" },
    el("h1", {}, "Sign in"),
    el("label", { for: "token" }, "Token"),
    input,
    el("p", { id: "token-hint", class: "hint" }, el("code", {}, command), ` ${where}`),
    trouble,
    submit,
  );

  /** @param {unknown} error */
  const refuse = (error) => {
    setText(trouble, error instanceof Error ? error.message : String(error));
    if (error instanceof ApiError && error.reason === "limited") return waitFor(error.retryAfter);
    submit.disabled = false;
    input.select();
  };

  /** @param {number} seconds */
  const waitFor = (seconds) => {
    const until = performance.now() + seconds * 1_000;
    // The countdown is not read out.
    const rest = el("span", { "aria-live": "off" });
    const tick = () => {
      const left = Math.ceil((until - performance.now()) / 1_000);
      submit.disabled = left > 0;
      if (left <= 0) return trouble.replaceChildren();
      setText(rest, `${left} s.`);
      if (form.isConnected) setTimeout(tick, 250);
    };
    trouble.replaceChildren("Too many attempts. Try again in ", rest);
    tick();
  };

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit.disabled = true;
    setText(trouble, "");
    session.signIn(input.value.trim()).catch(refuse);
  });
  /** @param {MouseEvent} event */
  const begin = async (event) => {
    event.preventDefault();
    // Another tab that signed out meanwhile has taken away what the address was made of.
    location.assign(await session.signInAddress());
  };
  root.replaceChildren(form);
  input.focus();
  void session.provider().then(async (issuer) => {
    if (issuer === null) return;
    const address = await session.signInAddress();
    if (form.isConnected) offer(form, submit, new URL(issuer).host, address).onclick = begin;
  });
  void session.ended.then((address) => {
    if (address !== null && form.isConnected) form.append(stillSignedIn(address));
  });
}

/**
 * Offers to sign in at the provider, above the field for a token.
 *
 * @param {HTMLElement} form
 * @param {HTMLElement} submit the button for a token, which is second then
 * @param {string} host of the provider
 * @param {string} address at which it begins
 * @returns the link
 */
function offer(form, submit, host, address) {
  const link = el("a", { class: "primary", href: address }, `Sign in at ${host}`);
  submit.classList.remove("primary");
  setText(submit, "Sign in with the token");
  form.querySelector("h1")?.after(link, el("p", { class: "or" }, "or with a token"));
  link.focus();
  return link;
}

/** @param {string} address at which the person signs out at the provider too */
const stillSignedIn = (address) =>
  el(
    "p",
    { class: "hint" },
    "Signed out here. At the provider you may still be signed in: ",
    el("a", { href: address }, "sign out there too"),
    ".",
  );

/**
 * The command that prints a token, and where. The owner's token, which allows everything, is for the host itself only.
 *
 * @param {string} hostname of the address at which the page was opened
 * @returns {[command: string, where: string]}
 */
export const tokenSource = (hostname) =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
    ? ["svc token show", "prints it on this machine."]
    : ["svc token add NAME --scope desk", "prints one for you on the host."];
