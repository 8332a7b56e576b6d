/**
 * Overview: the fleet of a desk first, then the state of this host at a glance.
 */

import { fleetPanel } from "../desk/fleet.js";
import { el, setText } from "../dom.js";
import { bytes, count, duration, measure, moment } from "../format.js";
import { badge, figure, insecureNotice, nothing, panel } from "../parts.js";
import { table } from "../table.js";
import { METRICS, noSamples } from "./inspector.js";
import { auditPanel, diagnosticsPanel, more, REST_S, usbPanel, viewersPanel } from "./overview-glances.js";

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
