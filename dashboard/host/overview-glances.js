/**
 * The panels of the overview that show the beginning of another page, and ask for it themselves.
 */
import { el } from "../dom.js";
import { badge, nothing, panel } from "../parts.js";
import { table } from "../table.js";
import { afterRows, auditTable, isReading, TAIL_COLUMNS } from "./audit.js";
import { checkBadge, followChecks, titleOf, worstFirst } from "./diagnostics.js";
import { idsOf, nameOf } from "./usb.js";
import { viewersTable } from "./viewers.js";

/** Devices, checks and audit rows that are shown; their own pages show all. */
const DEVICES = 6;
const CHECKS = 5;
const ROWS = 6;

/** Audit rows that are kept, of which those of changes are shown. */
const KEPT_ROWS = 200;

/** Seconds between requests for what has no events, where events come. */
export const REST_S = 120;

/**
 * A link to the page with everything.
 *
 * @param {string} page
 * @param {string} what name for screen readers
 */
export const more = (page, what) =>
  el("a", { class: "more", href: `#${page}`, "aria-label": `Open ${what}` }, "Open");

/** Who looks at the screen. @param {import("../view.js").View} view */
export function viewersPanel({ api, may, poll }) {
  const made = panel("Live screen", { class: "broad", tools: [more("live", "live screen")] });
  const listed = viewersTable({
    end: may("operate") ? end : null,
    tell: made.tell,
  });
  made.body.append(listed.root);
  /** @param {string} id */
  async function end(id) {
    await api.post("sessions/close", { id });
    await asked.now();
  }
  const asked = poll({
    path: "screen/state",
    on: ["screen.*"],
    every: 10,
    rest: REST_S,
    show({ viewers }) {
      made.fail(null);
      listed.show(viewers);
    },
    fail: made.fail,
  });
  return made.root;
}

/** What is plugged in; `show` takes what the overview says of it. @param {import("../view.js").View} view */
export function usbPanel({ poll }) {
  const state = el("span", {});
  const made = panel("USB devices", { tools: [state, more("usb", "USB devices")] });
  const listed = table({
    label: "USB devices",
    compact: true,
    columns: [
      {
        label: "Device",
        kind: "wide",
        cell: (/** @type {import("./usb.js").Device} */ device) => nameOf(device),
      },
      {
        label: "IDs",
        kind: "tight",
        cell: (device) => el("code", {}, idsOf(device)),
      },
    ],
    key: (device) => JSON.stringify(device),
    empty: () => nothing("No USB devices", "None is connected, or svc is not allowed to list them."),
  });
  const others = el("p", { class: "hint" });
  made.body.append(listed.root, others);
  const list = poll({
    path: "usb/devices",
    on: [],
    every: 30,
    rest: REST_S,
    show({ devices }) {
      made.fail(null);
      listed.show(devices.slice(0, DEVICES));
      others.textContent = devices.length > DEVICES ? `and ${devices.length - DEVICES} more` : "";
    },
    fail: made.fail,
  });
  let newest = -1;
  return {
    root: made.root,
    /** @param {import("../wire").Answer<"overview">["usb"]} usb */
    show({ watcher_running, newest_seq }) {
      state.replaceChildren(watcher_running ? badge("ok", "watching") : badge("none", "not watching"));
      if (newest !== -1 && newest !== newest_seq) list.now();
      newest = newest_seq;
    },
  };
}

/** The checks, the worst first. @param {import("../view.js").View} view */
export function diagnosticsPanel(view) {
  const made = panel("Diagnostics", { tools: [more("diagnostics", "diagnostics")] });
  const listed = table({
    label: "Checks, the worst first",
    compact: true,
    columns: [
      {
        label: "Check",
        kind: "wide",
        cell: (/** @type {import("./diagnostics.js").Check} */ { name }) => titleOf(name),
      },
      { label: "State", kind: "actions", cell: checkBadge },
    ],
    key: ({ name }) => name,
    empty: () => el("span", {}),
  });
  followChecks(view, made, (report) => listed.show(worstFirst(report).slice(0, CHECKS)));
  made.body.append(listed.root);
  return made.root;
}

/** The newest audit rows of changes. @param {import("../view.js").View} view */
export function auditPanel({ poll }) {
  const made = panel("Audit log", {
    class: "broad",
    tools: [el("span", { class: "hint" }, "changes only"), more("audit", "audit log")],
  });
  const listed = auditTable({ label: "Newest audit rows", columns: TAIL_COLUMNS });
  listed.root.classList.add("glance");
  made.body.append(listed.root);
  poll({
    path: `audit/list?limit=${KEPT_ROWS}`,
    on: ["audit.*"],
    every: 10,
    apply: (answer, happened) => afterRows(answer, happened, KEPT_ROWS),
    show({ rows }) {
      made.fail(null);
      listed.show(rows.filter((row) => !isReading(row)).slice(0, ROWS));
    },
    fail: made.fail,
  });
  return made.root;
}
