/**
 * Dialogs: questions and forms that stay in front of the page until they are answered or closed.
 */
import { button, el, newId } from "./dom.js";
import { alertBox, asError } from "./parts.js";

/** @typedef {import("./dom.js").Child} Child */

/**
 * Asks for confirmation; resolves to whether it was given.
 *
 * @param {string} title
 * @param {string} doIt label of the button
 * @param {...Child} content
 * @returns {Promise<boolean>}
 */
export const ask = (title, doIt, ...content) => fill(title, doIt, async () => {}, ...content);

/**
 * A form that stays open, as filled in, until `act` succeeds; it shows what went wrong.
 *
 * @param {string} title
 * @param {string} doIt label of the button
 * @param {() => Promise<unknown>} act
 * @param {...Child} content
 * @returns {Promise<boolean>} whether it was done
 */
export function fill(title, doIt, act, ...content) {
  const id = newId("dialog");
  const trouble = alertBox();
  const submit = el("button", { class: "primary" }, doIt);
  const form = el(
    "form",
    {},
    el("h2", { id }, title),
    el("div", { class: "dialog-body" }, ...content),
    el(
      "div",
      { class: "dialog-foot" },
      trouble.root,
      button("Cancel", () => dialog.close()),
      submit,
    ),
  );
  const dialog = el("dialog", { "aria-labelledby": id }, form);
  let done = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.getAttribute("aria-disabled") === "true") return;
    submit.setAttribute("aria-disabled", "true");
    trouble.tell(null);
    try {
      await act();
      done = true;
      dialog.close();
    } catch (error) {
      trouble.tell(asError(error));
    } finally {
      submit.removeAttribute("aria-disabled");
    }
  });
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(done);
    });
    dialog.showModal();
  });
}

/** Closes all dialogs, when their page is left. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}
