/**
 * The menu of a host in the list: one popover, filled in for the host that it was opened for.
 */
import { hostAddress } from "../../address.js";
import { button, el } from "../../dom.js";

/** @typedef {import("./host-words.js").Row} Row */

/**
 * @param {import("../../view.js").View} view
 * @param {import("./host-acts.js").HostActs} acts
 * @param {(error: Error) => void} fail
 */
export function hostMenu({ may, signal }, acts, fail) {
  const root = el("div", { class: "host-menu", popover: "auto", role: "group" });
  /** What had the focus before. @type {HTMLElement | null} */
  let from = null;
  root.addEventListener("toggle", (event) => {
    if (event instanceof ToggleEvent && event.newState === "closed" && root.contains(document.activeElement))
      from?.focus();
  });
  root.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const parts = [...root.querySelectorAll("a, button")];
    const at = parts.indexOf(/** @type {Element} */ (document.activeElement));
    const next = parts[(at + step + parts.length) % parts.length];
    if (next instanceof HTMLElement) next.focus();
    event.preventDefault();
  });
  signal.addEventListener("abort", () => root.remove());

  /** @param {string} text @param {string} name @param {() => Promise<unknown>} act */
  const item = (text, name, act) =>
    button(
      text,
      () => {
        root.hidePopover();
        act().catch(fail);
      },
      { "aria-label": name },
    );

  return {
    root,
    /** @param {Row} row @param {HTMLElement} by @param {HTMLElement} back gets the focus afterwards */
    open({ label, trust }, by, back) {
      from = back;
      root.setAttribute("aria-label", `More about ${label}`);
      // Neither a link nor NATS needs a token.
      const hasToken = trust !== "identity" && trust !== "server";
      const parts = [
        el("a", { href: hostAddress(label) }, "Open"),
        may("screen") && el("a", { href: `#live:${encodeURIComponent(label)}` }, "Live screen"),
        may("admin") && item("Edit…", `Edit… ${label}`, () => acts.edit(label)),
        may("admin") &&
          hasToken &&
          item("Rotate the token…", `Rotate… the token of ${label}`, () => acts.rotate([label])),
        may("admin") && item("Remove…", `Remove ${label}`, () => acts.remove([label])),
      ];
      root.replaceChildren(...parts.filter((one) => one !== false));
      root.showPopover();
      const { left, bottom, top } = by.getBoundingClientRect();
      const { offsetWidth, offsetHeight } = root;
      root.style.left = `${Math.max(8, Math.min(left, innerWidth - offsetWidth - 8))}px`;
      root.style.top = `${bottom + offsetHeight + 8 > innerHeight ? Math.max(8, top - offsetHeight) : bottom}px`;
      root.querySelector("a")?.focus();
    },
  };
}
