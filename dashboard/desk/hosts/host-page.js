/**
 * One host at the desk, at an address of its own: `#hosts/lab-07`, and each part of it at `#hosts/lab-07/jobs`.
 */
import { addressIn, hostAddress } from "../../address.js";
import { el, setText } from "../../dom.js";
import { icon } from "../../icons.js";
import { actionButton, copyButton, loading, notice, panel } from "../../parts.js";
import { nearest } from "../../query.js";
import { hostActs } from "./host-acts.js";
import { hostRows } from "./host-rows.js";
import { TABS } from "./host-tabs.js";
import { briefly, doing, STATES, seenTime, stateBadge, stateOf, WAYS } from "./host-words.js";

/** @typedef {import("./host-words.js").Row} Row */

/**
 * @param {import("../../view.js").View} view
 * @param {string} label
 */
export function openHost(view, label) {
  const { may, root } = view;
  document.title = `${label} · Hosts · svc`;
  const [, asked = ""] = addressIn(location.hash).path;
  const tabs = TABS.filter(({ scope }) => may(scope));
  const [first] = tabs;
  const tab = tabs.find(({ name }) => name === asked) ?? first;
  const state = el("span", {});
  const about = el("p", { class: "hint host-about" });
  const fix = el("div", { role: "status" });
  const place = el("div", { class: "stack" }, loading());
  const made = panel(label, {
    class: "host-page",
    tools: [
      state,
      may("screen") &&
        el("a", { class: "more", href: `#live:${encodeURIComponent(label)}` }, icon("live"), " Live screen"),
      may("operate") &&
        actionButton(
          [icon("refresh"), "Poll"],
          () => rows.ask([label]),
          (error) => made.tell(error),
        ),
      copyButton("Copy link", () => location.href, `to ${label}`),
    ],
  });
  const tools = made.root.querySelector(".tools");
  const parts = partsOf(label, tabs, tab?.name);
  made.body.append(
    el("nav", { "aria-label": "All hosts", class: "host-back" }, el("a", { href: "#hosts" }, "‹ All hosts")),
    about,
    fix,
    parts,
    place,
  );
  root.append(el("div", { class: "stack" }, made.root));

  const rows = hostRows(view, { changed: show, fail: made.fail }, { polls: false });
  const acts = hostActs(view, made.tell, rows.changed, (from, to) => {
    if (from === label) location.replace(hostAddress(to, tab?.name));
  });
  /** @type {((row: Row) => void) | null} */
  let update = null;

  function show() {
    const row = rows.of(label);
    parts.hidden = row === undefined;
    tools?.toggleAttribute("hidden", row === undefined);
    if (!row) {
      update = null;
      state.replaceChildren();
      setText(about, "");
      const next = notice("warn", ...unknownWords(label, rows.all()));
      // Its link keeps the focus, and nobody hears the same again.
      if (!fix.firstElementChild?.isEqualNode(next)) fix.replaceChildren(next);
      place.replaceChildren();
      return;
    }
    state.replaceChildren(stateBadge(row));
    about.replaceChildren(
      [...row.tags, WAYS[row.way], row.version === null ? null : `svc ${row.version}`, doing(row)]
        .filter((part) => part !== null && part !== "")
        .join(" · "),
      " · last seen ",
      seenTime(row),
    );
    const advice = adviceFor(row);
    const [, tone] = STATES[stateOf(row)];
    if (fix.textContent !== (advice ?? ""))
      fix.replaceChildren(...(advice === null ? [] : [notice(tone, advice)]));
    if (update === null && tab) {
      place.replaceChildren();
      update = tab.open({ view, label, row, place, acts, tell: made.tell });
    } else update?.(row);
  }
}

/**
 * Links to the parts of a host.
 *
 * @param {string} label
 * @param {ReadonlyArray<{ name: string, title: string }>} tabs
 * @param {string | undefined} open the name of the part that is shown
 */
const partsOf = (label, tabs, open) =>
  el(
    "nav",
    { class: "host-tabs", "aria-label": `Parts of ${label}` },
    ...tabs.map(({ name, title }) =>
      el("a", { href: hostAddress(label, name), ...(name === open && { "aria-current": "page" }) }, title),
    ),
  );

/**
 * That there is no such host, and which label is near.
 *
 * @param {string} label
 * @param {readonly Row[]} rows
 */
function unknownWords(label, rows) {
  const near = nearest(
    label,
    rows.map((row) => row.label),
  );
  return [
    `No host of the address book is labelled ${label}. `,
    ...(near === undefined
      ? ["It may have another name now."]
      : ["Did you mean ", el("a", { href: hostAddress(near) }, near), "?"]),
  ];
}

/** What to do about the state of a host; null where nothing is to be done. @param {Row} row */
function adviceFor({ label, twin, broken, state, why, trust }) {
  if (twin)
    return "Two machines have the identity of this host: one is a copy. On the copy, remove its folder and let it join anew.";
  if (broken) return "Its audit log is not what this desk has seen before. See Audit.";
  if (state === "busy") return `${why ?? "It is busy"}. It answers again by itself.`;
  if (state !== "down") return null;
  const words = briefly(why ?? "");
  if (/\b401\b/.test(words))
    return trust === "identity" || trust === "server"
      ? `${words}. Let it join again: svc join on ${label}.`
      : `${words}: the token that is stored here is no longer accepted. Edit the host and give it another, or let it join again.`;
  const begin = words === "" ? "It does not answer" : words.replace(/^[a-z]/, (first) => first.toUpperCase());
  return `${begin}. What needs the host waits until it is back.`;
}
