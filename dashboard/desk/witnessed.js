/**
 * How far witnesses have seen the audit log, and since when.
 */
import { el } from "../dom.js";
import { count, counted, moment } from "../format.js";
import { badge, time } from "../parts.js";

/** How long after the last cosignature the log counts as seen, in milliseconds: a desk hands some back each minute. */
const SEEN_MS = 600_000;

/** @typedef {import("../wire").Answer<"audit/status">["witnessed"]} WitnessReport */

/** @param {AbortSignal} signal aborted when the page is left */
export function witnessedLine(signal) {
  const root = el("p", { class: "witnessed" });
  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));

  /** @param {WitnessReport} witnessed */
  function show(witnessed) {
    clearTimeout(timer);
    const last = witnessed?.by
      .map((one) => one.time)
      .sort()
      .at(-1);
    if (!witnessed || last === undefined) {
      root.replaceChildren(
        badge("none", "not witnessed"),
        el(
          "span",
          { class: "hint" },
          "No witness has cosigned this log yet. A desk does, once this host has joined it.",
        ),
      );
      return;
    }
    const { row_id, by, since } = witnessed;
    const reach = `${row_id === null ? "while empty" : `up to row ${count(row_id)}`} by ${counted(by.length, "witness", "witnesses")}`;
    // A witness with a clock that is ahead is seen no longer for that.
    const left = Math.min(SEEN_MS, Date.parse(last) + SEEN_MS - Date.now());
    const [tone, text] =
      left > 0
        ? /** @type {const} */ (["ok", `witnessed ${reach}`])
        : /** @type {const} */ (["warn", "no longer witnessed"]);
    const names = by.map(({ name }) => name).join("\n");
    root.replaceChildren(
      badge(tone, text),
      el(
        "span",
        { class: "hint", title: names },
        left > 0 ? "" : `${reach}, `,
        "last ",
        time(last),
        `, since ${moment(since)}`,
      ),
    );
    if (left > 0) timer = setTimeout(() => show(witnessed), left + 1_000);
  }
  return { root, show };
}
