/**
 * REST API: where this server answers, how it is started and stopped, its requests, and export and import of its configuration.
 */
import { ask } from "./dialog.js";
import { el, setText } from "./dom.js";
import { count, counted, duration, moment, timeOfDay } from "./format.js";
import { afterEvent } from "./host/overview.js";
import { icon } from "./icons.js";
import {
  actionButton,
  badge,
  copyButton,
  download,
  figure,
  insecureNotice,
  nothing,
  notice,
  panel,
} from "./parts.js";
import { legend, plot } from "./plot.js";

/** @typedef {import("./wire").Answer<"overview">} Overview */
/** @typedef {import("./wire").Answer<"requests">} Requests */
/** @typedef {import("./wire").Answer<"config/import">} ImportReport */

/** Seconds between requests for what has no events, where events come. */
const REST_S = 60;

/** Times that the plot has at most: an hour. */
const SLOTS = 120;

/** Adds the requests of an event, of which each has the counts since the start, to those of the last hour. */
function createCounting() {
  /** The counts of the event before. @type {Overview["requests"] | null} */
  let before = null;
  return (/** @type {Requests} */ answer, /** @type {import("./events.js").Happening} */ { data }) => {
    const counts = /** @type {Overview["requests"] & { at: string }} */ (data);
    const last = before;
    before = counts;
    if (last === null || counts.total < last.total) return answer;
    const { slot_seconds } = answer;
    const first = Date.parse(answer.since) / 1_000;
    const nth = Math.floor((Date.parse(counts.at) / 1_000 - first) / slot_seconds);
    const over = Math.max(0, nth - SLOTS + 1);
    /** @param {readonly number[]} values @param {number} more */
    const add = (values, more) => {
      const all = [
        ...values,
        ...new Array(Math.max(0, Math.min(nth, 2 * SLOTS) + 1 - values.length)).fill(0),
      ];
      all[all.length - 1] += more;
      return all.slice(-SLOTS);
    };
    const bad = counts.client_errors - last.client_errors;
    const worse = counts.server_errors - last.server_errors;
    return {
      ...answer,
      since: new Date((first + over * slot_seconds) * 1_000).toISOString(),
      ok: add(answer.ok, counts.total - last.total - bad - worse),
      client_errors: add(answer.client_errors, bad),
      server_errors: add(answer.server_errors, worse),
    };
  };
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
  });
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
  void api.rights().then((rights) => {
    if (rights)
      setText(
        token,
        rights.name === null
          ? "the host's own, which allows everything"
          : `${rights.name}: ${rights.scopes.join(", ")}`,
      );
  });
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
        !api.hasSession && copyButton("Copy token", () => api.token ?? ""),
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
    /** @param {Overview} overview */
    show({ server, audit }) {
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

const LINES = /** @type {const} */ ([
  { label: "answered", colour: "--accent", bars: true },
  { label: "refused (4xx)", colour: "--warn", bars: true },
  { label: "failed (5xx)", colour: "--error", bars: true },
]);

/** @param {AbortSignal} signal */
function requestsPanel(signal) {
  const made = panel("Requests", { tools: [legend(LINES)] });
  const total = figure("Answered");
  const refused = figure("Refused (4xx)");
  const failed = figure("Failed (5xx)");
  const guesses = figure("Wrong tokens");
  const drawn = plot({
    label: "Requests over the last hour",
    lines: LINES,
    signal,
    height: 200,
    value: count,
    least: 4,
    span: 3_600,
    clock: true,
    moment: (seconds) => timeOfDay(new Date(seconds * 1_000)),
  });
  const per = el("p", { class: "hint" }, "–");
  made.body.append(
    el("dl", { class: "figures plain" }, ...[total, refused, failed, guesses].map(({ root }) => root)),
    drawn.root,
    per,
  );
  return {
    root: made.root,
    fail: made.fail,
    /** @param {Overview} overview */
    showTotals({ requests }) {
      total.show(count(requests.total));
      refused.show(count(requests.client_errors));
      failed.show(count(requests.server_errors), requests.server_errors > 0 ? "error" : "none");
      guesses.show(count(requests.failed_auth), requests.failed_auth > 0 ? "warn" : "none");
    },
    /** @param {Requests} requests */
    show({ slot_seconds, since, ok, client_errors, server_errors }) {
      made.fail(null);
      const first = Date.parse(since) / 1_000;
      const sums = ok.map((value, at) => [value, client_errors[at] ?? 0, server_errors[at] ?? 0]);
      // Bars are drawn in front of each other, the sum of all first.
      drawn.show(
        ok.map((_, at) => first + (at + 0.5) * slot_seconds),
        sums.map(([good = 0, bad = 0, worse = 0]) => good + bad + worse),
        sums.map(([, bad = 0, worse = 0]) => bad + worse),
        sums.map(([, , worse = 0]) => worse),
      );
      const all = sums.flat().reduce((sum, value) => sum + value, 0);
      drawn.describe(`Requests over the last hour: ${count(all)} in total`);
      setText(
        per,
        `Requests per ${slot_seconds} s over the last ${duration(ok.length * slot_seconds)}, by this server's clock.`,
      );
    },
  };
}

/** @param {import("./view.js").View} view */
function configurationPanel({ api }) {
  const made = panel("Configuration");
  const result = el("div", { role: "status" });
  const file = el("input", {
    type: "file",
    accept: ".json,application/json",
    hidden: true,
    "aria-label": "Bundle to import",
  });
  const merge = el("input", { type: "checkbox" });
  const { tell } = made;

  const exportIt = async () => {
    if (
      !(await ask(
        "Export the configuration?",
        "Export",
        "The file contains the tokens of the hosts that this one manages. Keep it secret.",
      ))
    )
      return;
    const bundle = await api.post("config/export", {});
    download("svc-config.json", `${JSON.stringify(bundle, null, 2)}\n`);
    result.replaceChildren(notice("ok", "Exported to svc-config.json."));
  };

  const importIt = async () => {
    const [chosen] = file.files ?? [];
    file.value = "";
    if (!chosen) return;
    const bundle = await readBundle(chosen);
    const planned = await api.post(`config/import?dry_run=true&merge=${merge.checked}`, bundle);
    if (planned.written.length === 0) {
      result.replaceChildren(
        notice(
          "info",
          planned.skipped.length > 0
            ? "Nothing to import: the bundle has no other file that can be read."
            : "Nothing to import: the host already has all of it.",
        ),
        changes(planned),
      );
      return;
    }
    if (
      !(await ask(
        `Import ${chosen.name}?`,
        `Write ${planned.written.length === 1 ? "1 file" : `${planned.written.length} files`}`,
        changes(planned),
      ))
    )
      return;
    const done = await api.post(`config/import?merge=${merge.checked}`, bundle);
    result.replaceChildren(
      notice("ok", `Imported: ${done.written.join(", ")}.`),
      ...Object.values(done.backups).map((backup) =>
        el("p", { class: "hint" }, "Old version kept as ", el("code", {}, backup)),
      ),
    );
  };
  file.addEventListener("change", () => {
    tell(null);
    result.replaceChildren();
    importIt().catch(tell);
  });

  made.body.append(
    el(
      "p",
      {},
      "Address book, trusted viewers and identity of this host in one file. An import first shows what would change, and keeps the old version of each file it replaces.",
    ),
    el(
      "div",
      { class: "buttons" },
      actionButton([icon("download"), "Export…"], exportIt, tell),
      actionButton([icon("upload"), "Import…"], async () => file.click(), tell),
      file,
    ),
    el(
      "label",
      { class: "check" },
      merge,
      "Add the hosts of an import to the address book here, instead of replacing it",
    ),
    result,
  );
  return made.root;
}

/**
 * @param {File} file
 * @returns {Promise<import("./wire").Body<"config/import">>} not checked: the server does that
 */
async function readBundle(file) {
  const text = await file.text();
  try {
    return JSON.parse(text);
  } catch {
    if (text.startsWith("age-encryption.org/") || text.startsWith("-----BEGIN AGE")) {
      throw new Error(`${file.name} is encrypted: import it on the host with "svc config import".`);
    }
    throw new Error(`${file.name} is not JSON.`);
  }
}

/** @param {ImportReport} report */
function changes({ files, warnings, skipped }) {
  const tones = /** @type {const} */ ({ new: "ok", changed: "warn", unchanged: "none" });
  return el(
    "div",
    { class: "changes" },
    ...warnings.map((warning) => notice("warn", warning)),
    ...files.map(({ name, change, diff, note }) =>
      el(
        "section",
        { "aria-label": name },
        el("h3", {}, el("code", {}, name), " ", badge(tones[change], change)),
        note !== null && el("p", { class: "hint" }, note),
        diff !== null && el("pre", { class: "diff", tabindex: 0 }, ...diff.split("\n").map(diffLine)),
      ),
    ),
    skipped.length > 0 && notice("warn", `Skipped because of a wrong format: ${skipped.join(", ")}`),
    files.length === 0 && nothing("The bundle is empty", "Export one on a host that has a configuration."),
  );
}

/** @param {string} line */
function diffLine(line) {
  const kind = line.startsWith("+")
    ? "plus"
    : line.startsWith("-")
      ? "minus"
      : line.startsWith("@@")
        ? "hunk"
        : "";
  return el("span", { class: kind }, `${line}\n`);
}
