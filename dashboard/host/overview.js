/**
 * Overview: the fleet of a desk first, then the state of this host at a glance.
 */

import { fleetPanel } from "../desk/fleet.js";
import { el, setText } from "../dom.js";
import { bytes, count, duration, measure, moment } from "../format.js";
import { badge, figure, insecureNotice, nothing, panel } from "../parts.js";
import { table } from "../table.js";
import { afterRows, auditTable, isReading, TAIL_COLUMNS } from "./audit.js";
import {
  afterCheck,
  checkBadge,
  EVERY_S,
  screenQuestion,
  titleOf,
  verdictOf,
  worstFirst,
} from "./diagnostics.js";
import { METRICS, noSamples } from "./inspector.js";
import { idsOf, nameOf } from "./usb.js";
import { viewersTable } from "./viewers.js";

/** Devices, checks and audit rows that are shown; their own pages show all. */
const DEVICES = 6;
const CHECKS = 5;
const ROWS = 6;

/** Audit rows that are kept, of which those of changes are shown. */
const KEPT_ROWS = 200;

/** Seconds between requests for what has no events, where events come. */
const REST_S = 120;

/** @typedef {import("../wire").Answer<"overview">} Overview */
/** @typedef {Overview["sessions"]["sessions"][number]} Session */

/**
 * The overview after an event; null where that does not say enough.
 *
 * @param {Overview} overview
 * @param {import("../events.js").Happening} happened
 */
export function afterEvent(overview, { type, data: { at: _, ...data } }) {
  const { usb, audit, sessions, inspector } = overview;
  switch (type) {
    case "requests.counted":
      return { ...overview, requests: /** @type {Overview["requests"]} */ (data) };
    case "inspector.sampled":
      return { ...overview, inspector: /** @type {Overview["inspector"]} */ (data) };
    case "inspector.reset":
      return { ...overview, inspector: { ...inspector, sample_count: 0, metrics: {} } };
    case "usb.watching":
      return { ...overview, usb: { ...usb, watcher_running: Boolean(data.running) } };
    case "usb.added":
    case "usb.removed":
      return { ...overview, usb: { ...usb, newest_seq: Math.max(usb.newest_seq, Number(data.seq)) } };
    case "audit.appended":
      return audit ? { ...overview, audit: { ...audit, rows: Number(data.rows) } } : overview;
    case "session.changed": {
      const session = /** @type {Session} */ (data);
      const place = sessions.sessions.findIndex(({ id }) => id === session.id);
      if (place === -1) return null;
      return { ...overview, sessions: { ...sessions, sessions: sessions.sessions.with(place, session) } };
    }
    default:
      return null;
  }
}

/** @param {import("../view.js").View} view */
export function open(view) {
  const insecure = insecureNotice();
  const figures = figuresPanel();
  const link = linkPanel();
  const sessions = sessionsPanel(view);
  const usb = usbPanel(view);
  view.root.append(
    insecure.root,
    fleetPanel(view),
    figures.root,
    el(
      "div",
      { class: "panels" },
      diagnosticsPanel(view),
      link.root,
      usb.root,
      sessions.root,
      view.may("screen") && viewersPanel(view),
      view.may("audit") && auditPanel(view),
    ),
  );
  view.poll({
    path: "overview",
    on: ["session.*", "usb.*", "inspector.*", "requests.counted", "audit.appended"],
    every: 5,
    rest: REST_S,
    apply: afterEvent,
    show(overview) {
      link.fail(null);
      insecure.show(overview);
      figures.show(overview);
      link.show(overview.inspector);
      sessions.show(overview.sessions);
      usb.show(overview.usb);
    },
    fail(error) {
      link.fail(error);
      sessions.stopLoading();
    },
  });
}

function figuresPanel() {
  const uptime = figure("Uptime");
  const total = figure("Requests answered");
  const refused = figure("Refused (4xx)");
  const failed = figure("Failed (5xx)");
  const guesses = figure("Wrong tokens");
  const rows = figure("Audit rows");
  return {
    root: el(
      "dl",
      { class: "figures" },
      ...[uptime, total, refused, failed, guesses, rows].map(({ root }) => root),
    ),
    /** @param {Overview} overview */
    show({ server, requests, audit }) {
      uptime.show(duration(server.uptime_seconds), "none", `since ${moment(server.started_at)}`);
      total.show(count(requests.total));
      refused.show(count(requests.client_errors));
      failed.show(count(requests.server_errors), requests.server_errors > 0 ? "error" : "none");
      guesses.show(count(requests.failed_auth), requests.failed_auth > 0 ? "warn" : "none");
      rows.show(
        audit ? count(audit.rows) : "off",
        "none",
        audit ? "" : "This server keeps no audit log (--no-audit).",
      );
    },
  };
}

/**
 * A link to the page with everything.
 *
 * @param {string} page
 * @param {string} what name for screen readers
 */
const more = (page, what) =>
  el("a", { class: "more", href: `#${page}`, "aria-label": `Open ${what}` }, "Open");

function linkPanel() {
  const made = panel("Packet inspector", { tools: [more("inspector", "packet inspector")] });
  const listed = table({
    label: "Link statistics",
    compact: true,
    columns: [
      {
        label: "Metric",
        kind: "wide",
        cell: (
          /** @type {{ name: string, unit: string, statistics: import("./inspector.js").Statistics | undefined }} */ {
            name,
            unit,
          },
        ) => el("span", {}, name, el("span", { class: "faint" }, ` ${unit}`)),
      },
      { label: "Last", kind: "number", cell: ({ statistics }) => measure(statistics?.last) },
      { label: "Average", kind: "number", cell: ({ statistics }) => measure(statistics?.avg) },
      { label: "p95", kind: "number", cell: ({ statistics }) => measure(statistics?.p95) },
    ],
    key: ({ name }) => name,
    empty: noSamples,
  });
  made.body.append(listed.root);
  return {
    root: made.root,
    fail: made.fail,
    /** @param {Overview["inspector"]} summary */
    show({ sample_count, metrics }) {
      const rows = METRICS.map(({ field, name, unit }) => ({ name, unit, statistics: metrics[field] }));
      listed.show(sample_count === 0 ? [] : rows);
    },
  };
}

/** @param {import("../view.js").View} view */
function sessionsPanel({ may }) {
  const about = el("span", { class: "hint" });
  const made = panel("Sessions", { tools: [about, more("sync", "folder sync")] });
  const listed = table({
    label: "Peer sessions",
    compact: true,
    columns: [
      { label: "Peer", kind: "wide", cell: (/** @type {Session} */ { peer }) => el("strong", {}, peer) },
      { label: "State", kind: "tight", cell: ({ state }) => badge(state === "open" ? "ok" : "warn", state) },
      { label: "Sent", kind: "number", cell: ({ bytes_sent }) => bytes(bytes_sent) },
      { label: "Received", kind: "number", cell: ({ bytes_received }) => bytes(bytes_received) },
    ],
    key: ({ id }) => id,
    empty: () =>
      nothing("No peer sessions", "A session opens when a folder is synced to or from another host."),
  });
  made.body.append(listed.root);
  return {
    root: made.root,
    stopLoading: made.stopLoading,
    /** @param {Overview["sessions"]} sessions */
    show({ host, sessions }) {
      setText(about, host.host_id ? `this host is ${host.host_id}` : "");
      // Viewers of the screen have a panel of their own, for who may see it.
      listed.show(may("screen") ? sessions.filter(({ kind }) => kind !== "screen") : sessions);
    },
  };
}

/** @param {import("../view.js").View} view */
function viewersPanel({ api, may, poll }) {
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

/** @param {import("../view.js").View} view */
function usbPanel({ poll }) {
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
    /** @param {Overview["usb"]} usb */
    show({ watcher_running, newest_seq }) {
      state.replaceChildren(watcher_running ? badge("ok", "watching") : badge("none", "not watching"));
      if (newest !== -1 && newest !== newest_seq) list.now();
      newest = newest_seq;
    },
  };
}

/** @param {import("../view.js").View} view */
function diagnosticsPanel(view) {
  const { poll } = view;
  const made = panel("Diagnostics", { tools: [more("diagnostics", "diagnostics")] });
  // Until then, the table says that it is loading.
  const verdict = el("div", { role: "status" });
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
  const question = screenQuestion(view, made.tell, () => polled.now());
  made.body.append(question.root, verdict, listed.root);
  const polled = poll({
    path: "diagnose",
    on: ["diagnosis.changed"],
    every: EVERY_S,
    rest: EVERY_S,
    apply: afterCheck,
    show(report) {
      made.fail(null);
      question.show(report);
      verdict.replaceChildren(verdictOf(report));
      listed.show(worstFirst(report).slice(0, CHECKS));
    },
    fail: made.fail,
  });
  return made.root;
}

/** @param {import("../view.js").View} view */
function auditPanel({ poll }) {
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
