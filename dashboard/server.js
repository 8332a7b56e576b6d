/**
 * REST API: where this server answers, how it is started and stopped, its requests, and export and import of its configuration.
 */
import { configurationPanel } from "./configuration.js";
import { el, setText } from "./dom.js";
import { counted, duration, moment } from "./format.js";
import { copyButton, insecureNotice, panel } from "./parts.js";
import { createCounting, requestsPanel } from "./requests.js";

/** @typedef {import("./wire").Answer<"overview">} Overview */

/** Seconds between requests for what has no events, where events come. */
const REST_S = 60;

/**
 * The overview after an event; null where that does not say enough.
 *
 * @param {Overview} overview
 * @param {import("./events.js").Happening} happened
 */
function afterEvent(overview, { type, data: { at: _, ...data } }) {
  if (type === "requests.counted")
    return { ...overview, requests: /** @type {Overview["requests"]} */ (data) };
  const { audit } = overview;
  return audit ? { ...overview, audit: { ...audit, rows: Number(data.rows) } } : overview;
}

/** @param {import("./view.js").View} view */
export function open(view) {
  const insecure = insecureNotice();
  const about = aboutPanel(view);
  const requests = requestsPanel(view.signal);
  view.root.append(
    el(
      "div",
      { class: "stack" },
      insecure.root,
      about.root,
      controlPanel(),
      requests.root,
      view.may("admin") && configurationPanel(view),
    ),
  );
  view.poll({
    path: "overview",
    on: ["requests.counted", "audit.appended"],
    every: 5,
    rest: REST_S,
    apply: afterEvent,
    show(overview) {
      insecure.show(overview);
      about.show(overview);
      requests.showTotals(overview);
    },
    fail: about.fail,
  });
  view.poll({ path: "token", on: [], every: 0, show: about.showToken });
  view.poll({
    path: "requests",
    on: ["requests.counted"],
    every: 10,
    rest: REST_S,
    apply: createCounting(),
    show: requests.show,
    fail: requests.fail,
  });
}

/** @param {import("./view.js").View} view */
function aboutPanel({ api }) {
  // As seen from this browser: the address that the server knows may only work on its own machine.
  const address = el("code", { class: "address" }, api.base.href.replace(/\/$/, ""));
  const values = {
    listens: el("dd", {}, "–"),
    port: el("dd", {}, "–"),
    tls: el("dd", {}, "–"),
    audit: el("dd", {}, "–"),
    since: el("dd", {}, "–"),
    host: el("dd", {}, "–"),
    version: el("dd", {}, "–"),
    platform: el("dd", {}, "–"),
  };
  const token = el("span", {}, "–");
  const made = panel("Server");
  made.body.append(
    el(
      "dl",
      { class: "facts" },
      el("dt", {}, "Address"),
      el(
        "dd",
        { class: "with-button" },
        address,
        copyButton("Copy", () => address.textContent),
      ),
      el("dt", {}, "Your token"),
      el(
        "dd",
        { class: "with-button" },
        token,
        !api.session.hasCookie && copyButton("Copy token", () => api.session.token ?? ""),
      ),
      el("dt", {}, "Listens on"),
      values.listens,
      el("dt", {}, "Port"),
      values.port,
      el("dt", {}, "TLS"),
      values.tls,
      el("dt", {}, "Audit log"),
      values.audit,
      el("dt", {}, "Running since"),
      values.since,
      el("dt", {}, "Host"),
      values.host,
      el("dt", {}, "Version"),
      values.version,
      el("dt", {}, "Platform"),
      values.platform,
    ),
  );
  return {
    root: made.root,
    fail: made.fail,
    /** @param {import("./api.js").Rights} rights */
    showToken({ name, scopes }) {
      setText(
        token,
        name === null ? "the host's own, which allows everything" : `${name}: ${scopes.join(", ")}`,
      );
    },
    /** @param {Overview} overview */
    show({ server, audit }) {
      made.fail(null);
      setText(values.listens, server.listens?.host ?? "–");
      setText(values.port, String(server.listens?.port ?? "–"));
      setText(
        values.tls,
        server.listens?.tls ? "on" : server.insecure ? "off: tokens travel unencrypted" : "off",
      );
      setText(values.audit, auditState(audit));
      setText(values.since, `${moment(server.started_at)} (${duration(server.uptime_seconds)})`);
      setText(values.host, server.host_name);
      setText(values.version, `${server.version} (${server.commit})`);
      setText(values.platform, `${server.platform} ${server.arch}`);
    },
  };
}

/** @param {Overview["audit"]} audit */
function auditState(audit) {
  if (!audit) return "off (--no-audit)";
  const rows = `on, ${counted(audit.rows, "row")}`;
  return audit.failures > 0 ? `${rows}; ${counted(audit.failures, "row")} could not be written` : rows;
}

/** The commands of the host that start and stop a server, and what each does. */
const COMMANDS = /** @type {const} */ ([
  ["svc service install", "starts svc as a service, now and at each log-in"],
  ["svc service status", "shows whether the service runs"],
  ["svc service uninstall", "stops the service and removes it; its folder stays"],
]);

function controlPanel() {
  const made = panel("Start and stop");
  made.body.append(
    el(
      "p",
      {},
      "On the host, in a terminal: a page cannot start the server that it comes from. ",
      el("code", { class: "flag" }, "--system"),
      " is for the machine instead of this user. A server that was started with ",
      el("code", {}, "svc serve"),
      " stops with Ctrl+C.",
    ),
    el(
      "dl",
      { class: "facts" },
      ...COMMANDS.flatMap(([command, what]) => [
        el("dt", {}, el("code", {}, command)),
        el(
          "dd",
          { class: "with-button" },
          what,
          copyButton("Copy", () => command, command),
        ),
      ]),
    ),
  );
  return made.root;
}
