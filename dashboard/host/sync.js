/**
 * Folder sync: folders of this host whose new and changed files are sent to other hosts.
 */
import { ask, fill } from "../dialog.js";
import { el, labelled } from "../dom.js";
import { bytes, count, counted } from "../format.js";
import { icon } from "../icons.js";
import { actionButton, badge, nothing, notice, panel, prose } from "../parts.js";
import { table } from "../table.js";

/** Files of each kind that are named; the others are counted. */
const NAMED = 20;

/** @typedef {import("../wire").Answer<"sync/status">["syncs"][number]} Sync */

/** @param {import("../view.js").View} view */
export function open({ root, api, may, poll }) {
  const made = panel("Folders", {
    tools: [may("operate") && actionButton([icon("add"), "Start…"], start, (error) => made.tell(error))],
  });
  const listed = table({
    label: "Synced folders",
    columns: [
      {
        label: "Folder",
        kind: "wide",
        cell: (/** @type {Sync} */ { watch_dir }) => el("code", {}, watch_dir),
      },
      { label: "To", cell: ({ to }) => el("strong", {}, to) },
      { label: "State", cell: state },
      { label: "Waiting", kind: "number", cell: ({ pending }) => count(pending) },
      {
        label: "Sent",
        kind: "number",
        cell: ({ sent_files, sent_bytes }) => `${counted(sent_files, "file")}, ${bytes(sent_bytes)}`,
      },
      { label: "Failures", kind: "number", cell: ({ failures }) => count(failures) },
      {
        label: "Actions",
        kind: "actions",
        hidden: !may("operate"),
        cell: ({ id, watch_dir, to }) =>
          actionButton("Stop", () => stop(id, watch_dir, to), made.tell, {
            "aria-label": `Stop the sync of ${watch_dir} to ${to}`,
          }),
      },
    ],
    key: ({ id }) => id,
    empty: () =>
      nothing(
        "No folder is synced",
        may("operate")
          ? "Start one to send its new and changed files to another host. Deletions are not sent."
          : "Folders that this host sends to other hosts are listed here.",
      ),
  });
  made.body.append(listed.root);
  const files = panel("Files");
  files.root.hidden = true;
  let shown = "";
  root.append(el("div", { class: "stack" }, made.root, files.root));

  const polled = poll({
    path: "sync/status",
    on: ["sync.*"],
    every: 5,
    show({ syncs }) {
      made.fail(null);
      listed.show(syncs);
      const next = JSON.stringify(syncs);
      if (next === shown) return;
      shown = next;
      files.root.hidden = syncs.length === 0;
      files.body.replaceChildren(...syncs.map(filesOf));
    },
    fail: made.fail,
  });

  async function start() {
    const hosts = await api.ask("admin/hosts");
    if (hosts.length === 0) throw new Error("There is no host to send to: add one on the page Hosts.");
    const folder = el("input", { required: true, placeholder: "/home/kiosk/reports", spellcheck: "false" });
    const to = el("select", {}, ...hosts.map(({ label }) => el("option", { value: label }, label)));
    const interval = el("input", {
      type: "number",
      min: 0.25,
      max: 86_400,
      step: "any",
      value: 3,
      required: true,
    });
    const below = el("input", { type: "checkbox" });
    const resume = el("input", { type: "checkbox" });
    const fields = [
      labelled("Folder on this host", folder),
      labelled("To", to),
      labelled("Interval in seconds", interval),
      el("label", { class: "check" }, below, "Include subfolders"),
      el("label", { class: "check" }, resume, "Start with what changed since the last sync"),
    ];
    const post = () =>
      api.post("sync/start", {
        dir: folder.value,
        to: to.value,
        interval_s: interval.valueAsNumber,
        include_subdirs: below.checked,
        resume: resume.checked,
      });
    if (await fill("Sync a folder to another host", "Start", post, ...fields)) await polled.now();
  }

  /**
   * @param {string} id
   * @param {string} folder
   * @param {string} to
   */
  async function stop(id, folder, to) {
    if (
      !(await ask(
        "Stop the sync?",
        "Stop",
        `${folder} is no longer sent to ${to}. Files in transit are dropped.`,
      ))
    )
      return;
    await api.post("sync/stop", { id });
    await polled.now();
  }
}

/** @param {Sync} sync */
function state({ running, connected, connection_error, error }) {
  if (error) return el("div", {}, badge("error", "failed"), el("div", { class: "hint prose" }, error));
  if (!running) return badge("none", "stopped");
  if (connected) return badge("ok", "connected");
  // It connects when there is a file to send.
  if (!connection_error) return badge("info", "watching");
  return el("div", {}, badge("warn", "not connected"), el("div", { class: "hint prose" }, connection_error));
}

/** The files being sent, failed and skipped. @param {Sync} sync */
function filesOf({ watch_dir, to, sending, errors, passed_over, tracked }) {
  return el(
    "section",
    { class: "changes", "aria-label": `${watch_dir} to ${to}` },
    el(
      "h3",
      {},
      el("code", {}, watch_dir),
      el("span", { class: "faint" }, ` to ${to}, ${counted(tracked, "file")} known`),
    ),
    ...named(sending, "info", (name) => `Sending ${name}`),
    ...named(
      errors,
      "error",
      ({ name, error, attempts }) => `${name}: ${error} (${counted(attempts, "attempt")})`,
    ),
    ...named(passed_over, "warn", ({ name, reason }) => `${name}: ${reason}`),
    sending.length + errors.length + passed_over.length === 0 &&
      el("p", { class: "hint" }, "No files in transit, no errors."),
  );
}

/**
 * @template Item
 * @param {readonly Item[]} items
 * @param {import("../parts.js").Tone} tone
 * @param {(item: Item) => string} text
 */
function named(items, tone, text) {
  const shown = items.slice(0, NAMED).map((item) => notice(tone, prose(text(item))));
  if (items.length > NAMED) shown.push(notice(tone, `and ${count(items.length - NAMED)} more`));
  return shown;
}
