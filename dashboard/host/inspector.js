/**
 * Packet inspector: the quality of the peer links, second by second, and the sessions that they are of.
 */
import { ask } from "../dialog.js";
import { el, setText } from "../dom.js";
import { bytes, counted, duration, measure } from "../format.js";
import { icon } from "../icons.js";
import { actionButton, badge, nothing, offer, panel } from "../parts.js";
import { legend, plot } from "../plot.js";
import { table } from "../table.js";

/** Samples that are plotted: five minutes at one a second. */
const PLOTTED = 300;

/** A gap of so many seconds is drawn as a line: samples of another session between two may lack the value. */
const BRIDGED_S = 2.5;

/** Samples that are listed. */
const LISTED = 60;

/**
 * The metrics of the wire format and their names on the page.
 *
 * @satisfies {ReadonlyArray<{ field: keyof Summary["metrics"], name: string, unit: string, least: number }>}
 */
const METRICS = /** @type {const} */ ([
  { field: "rtt_ms", name: "Round-trip time", unit: "ms", least: 10 },
  { field: "fps", name: "Frames", unit: "/s", least: 10 },
  { field: "bitrate_kbps", name: "Bit rate", unit: "kbit/s", least: 100 },
  { field: "packet_loss_pct", name: "Packet loss", unit: "%", least: 1 },
  { field: "jitter_ms", name: "Jitter", unit: "ms", least: 5 },
]);

/** @typedef {import("../wire").Answer<"inspector/summary">} Summary */
/** @typedef {import("../wire").Answer<"inspector/recent">["samples"][number]} Sample */
/** @typedef {import("../wire").Answer<"sessions">["sessions"][number]} Session */

/** Shown for an empty window. */
const noSamples = () =>
  nothing(
    "No samples yet",
    "Samples come from live peer sessions and viewers of the live screen, and from other programs through ",
    el("code", {}, "POST /inspector/samples"),
    ".",
  );

const LINES = /** @type {const} */ ([
  { label: "measured", colour: "--accent", filled: true },
  { label: "p95", colour: "--warn", dashed: true },
]);

/** @param {import("../view.js").View} view */
export function open(view) {
  const { root, api, may, signal, poll } = view;
  const overall = el("p", { class: "hint" }, "–");
  const session = el("select", { "aria-label": "Session" }, el("option", { value: "" }, "all sessions"));
  session.addEventListener("change", () => void polled.now());
  const link = panel("Link", {
    tools: [
      session,
      legend(LINES),
      may("operate") && actionButton([icon("remove"), "Reset"], reset, (error) => link.tell(error)),
    ],
  });
  const plots = METRICS.map((metric) => metricPlot(metric, signal));
  const grid = el("div", { class: "plots" }, ...plots.map((made) => made.root));
  const samples = panel("Samples", { tools: [el("span", { class: "hint" }, `newest ${LISTED}`)] });
  const listed = table({
    label: "Samples, newest first",
    columns: [
      {
        label: "Age",
        kind: "number",
        cell: (/** @type {Sample} */ { age_seconds }) => `${age_seconds.toFixed(1)} s`,
      },
      ...METRICS.map(({ field, name, unit }) => ({
        label: `${name} (${unit})`,
        kind: /** @type {const} */ ("number"),
        cell: (/** @type {Sample} */ sample) => measure(sample[field]),
      })),
    ],
    key: ({ age_seconds }) => age_seconds,
    empty: noSamples,
  });
  link.body.append(overall, grid);
  samples.body.append(
    el("div", { class: "tall bleed", tabindex: 0, role: "group", "aria-label": "Samples" }, listed.root),
  );
  root.append(link.root, samples.root, sessionsPanel(view));

  const polled = poll({
    path: () =>
      `inspector/recent?${new URLSearchParams({ n: String(PLOTTED), summary: "true", ...(session.value && { session: session.value }) })}`,
    on: ["inspector.*"],
    every: 1,
    show({ samples: recent, summary, sessions = [] }) {
      link.fail(null);
      offer(session, "all sessions", sessions);
      if (!summary) return;
      const { sample_count, window_seconds } = summary;
      setText(
        overall,
        sample_count === 0
          ? "No samples in the window."
          : `${counted(sample_count, "sample")} over ${duration(window_seconds)}, all of them in the statistics.`,
      );
      for (const made of plots) made.show(recent, summary);
      listed.show(recent.slice(-LISTED).reverse());
    },
    fail(error) {
      link.fail(error);
      samples.stopLoading();
    },
  });

  async function reset() {
    if (
      !(await ask("Delete all samples?", "Reset", "The window is emptied for everyone who uses this server."))
    )
      return;
    await api.post("inspector/reset", {});
    polled.now();
  }
}

/**
 * The sessions after one changed; null where the event does not say enough.
 *
 * @param {import("../wire").Answer<"sessions">} answer
 * @param {import("../events.js").Happening} happened
 */
function afterSession(answer, { type, data: { at: _, ...data } }) {
  const session = /** @type {Session} */ (data);
  const place = answer.sessions.findIndex(({ id }) => id === session.id);
  if (type !== "session.changed" || place === -1) return null;
  return { ...answer, sessions: answer.sessions.with(place, session) };
}

/** The sessions with peers. @param {import("../view.js").View} view */
function sessionsPanel({ poll }) {
  const about = el("span", { class: "hint" });
  const made = panel("Sessions", { tools: [about] });
  const listed = table({
    label: "Peer sessions",
    columns: [
      { label: "Peer", kind: "wide", cell: (/** @type {Session} */ { peer }) => el("strong", {}, peer) },
      { label: "For", cell: ({ kind }) => (kind === "screen" ? "the screen" : "files") },
      { label: "State", kind: "tight", cell: ({ state }) => badge(state === "open" ? "ok" : "warn", state) },
      { label: "Sent", kind: "number", cell: ({ bytes_sent }) => bytes(bytes_sent) },
      { label: "Received", kind: "number", cell: ({ bytes_received }) => bytes(bytes_received) },
    ],
    key: ({ id }) => id,
    empty: () =>
      nothing("No peer sessions", "A session opens when a folder is synced to or from another host."),
  });
  made.body.append(listed.root);
  poll({
    path: "sessions",
    on: ["session.*"],
    every: 10,
    apply: afterSession,
    show({ host, sessions }) {
      made.fail(null);
      setText(about, host.host_id ? `this host is ${host.host_id}` : "");
      listed.show(sessions);
    },
    fail: made.fail,
  });
  return made.root;
}

/**
 * @param {typeof METRICS[number]} metric
 * @param {AbortSignal} signal
 */
function metricPlot({ field, name, unit, least }, signal) {
  const last = el("span", { class: "now" }, "–");
  const rest = el("span", { class: "hint" });
  const drawn = plot({
    label: `${name}: nothing measured`,
    lines: LINES,
    signal,
    least,
    span: 60,
    bridged: BRIDGED_S,
    value: measure,
    moment: (x) => (x === 0 ? "now" : `−${duration(-x)}`),
  });
  return {
    root: el(
      "figure",
      { class: "metric" },
      el(
        "figcaption",
        {},
        el("span", {}, name),
        el("span", {}, last, el("span", { class: "faint" }, ` ${unit}`)),
      ),
      drawn.root,
      rest,
    ),
    /**
     * @param {readonly Sample[]} samples
     * @param {Summary} summary
     */
    show(samples, summary) {
      const statistics = summary.metrics[field];
      const p95 = statistics?.p95 ?? null;
      setText(last, measure(statistics?.last));
      const text = `min ${measure(statistics?.min)} · avg ${measure(statistics?.avg)} · p95 ${measure(p95)} · max ${measure(statistics?.max)}`;
      setText(rest, text);
      drawn.describe(`${name} in ${unit}: last ${measure(statistics?.last)}, ${text}`);
      drawn.show(
        samples.map(({ age_seconds }) => -age_seconds),
        samples.map((sample) => sample[field]),
        samples.map(() => p95),
      );
    },
  };
}
