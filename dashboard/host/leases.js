/**
 * The leases of agents: which desktop each has and for how long, a smaller lease for those that wait, and the end of those that go on.
 */
import { fill } from "../dialog.js";
import { el, labelled, setText } from "../dom.js";
import { counted } from "../format.js";
import { actionButton, badge, nothing, panel, time } from "../parts.js";
import { signed } from "../passkey.js";
import { table } from "../table.js";

/** @typedef {import("../wire").Answer<"leases">["leases"][number]} Lease */

/** @satisfies {Record<Lease["state"], import("../parts.js").Tone>} */
const TONES = /** @type {const} */ ({ waiting: "warn", starting: "info", active: "ok", ended: "none" });

/** @param {Lease} lease */
const placeOf = ({ desktop, desktop_name }) => {
  if (desktop === "session") return "the desktop of this session";
  return desktop === "new"
    ? `a desktop of its own${desktop_name ? ` (${desktop_name})` : ""}`
    : `desktop ${desktop}`;
};

/** What it may do besides. @param {Lease} lease */
const limitsOf = ({ windows, programs, secrets, start, toolsets, record }) =>
  [
    start.length > 0 && `starts ${start.map((words) => words.join(" ")).join(", ")}`,
    toolsets.includes("desktop") ? "pointer and keyboard" : "elements by name",
    windows.length > 0 && `windows ${windows.join(", ")}`,
    programs.length > 0 && `programs ${programs.join(", ")}`,
    secrets.length > 0 && `secrets ${secrets.join(", ")}`,
    record && "recorded",
  ]
    .filter(Boolean)
    .join("; ");

/** @param {Lease} lease */
const leftOf = ({ left_s, minutes }) =>
  left_s === null
    ? `${minutes} min`
    : `${Math.floor(left_s / 60)}:${String(left_s % 60).padStart(2, "0")} left`;

/** @param {import("../view.js").View} view */
export function leasesPanel({ api, poll }) {
  const about = el("span", { class: "hint", role: "status" });
  const made = panel("Agents with a desktop for a while", { tools: [about] });

  /** @param {Lease} lease */
  async function stop({ id }) {
    await api.post("leases/end", { id });
    await polled.now();
  }

  /** @param {Lease} lease */
  async function allowLess({ id, agent, minutes, actions, windows }) {
    const time = el("input", { type: "number", min: 1, max: minutes, value: minutes, required: true });
    const count = el("input", { type: "number", min: 1, max: actions, value: actions, required: true });
    const titles = el("input", { value: windows.join(", "), spellcheck: "false", maxlength: 2_000 });
    const asked = titles.value;
    const less = () => ({
      ...{ id, minutes: Number(time.value), actions: Number(count.value) },
      // A title may have a comma: what nobody has changed stays as it was asked for.
      ...(titles.value !== asked && {
        windows: titles.value.split(",").flatMap((one) => one.trim() || []),
      }),
    });
    const send = () => signed((headers) => api.post("leases/allow", less(), { headers }));
    const done = await fill(
      `Allow ${agent} less`,
      "Allow",
      send,
      labelled("Minutes", time),
      labelled("Actions", count),
      labelled(
        "Windows",
        titles,
        "Parts of titles, with commas between them; empty for all of that desktop.",
      ),
    );
    if (done) await polled.now();
  }

  const listed = table({
    label: "Leases of agents, the newest first",
    columns: [
      {
        label: "What",
        kind: "wide",
        cell: (/** @type {Lease} */ lease) =>
          el(
            "div",
            {},
            el("strong", {}, `${lease.agent}: ${lease.what}`),
            el("div", { class: "hint" }, `${placeOf(lease)}; ${limitsOf(lease)}`),
          ),
      },
      {
        label: "State",
        cell: (lease) =>
          el(
            "div",
            {},
            badge(TONES[lease.state], lease.state),
            el("div", { class: "hint" }, lease.state === "ended" ? lease.reason : leftOf(lease)),
          ),
      },
      { label: "Actions", cell: ({ used, actions }) => `${used} of ${actions}` },
      { label: "Asked", cell: ({ asked_at }) => time(asked_at) },
      {
        label: "Do",
        kind: "actions",
        cell: (lease) => {
          if (lease.state === "ended") return el("span", { class: "faint" }, "–");
          const less = actionButton("Allow less…", () => allowLess(lease), made.tell, {
            "aria-label": `Allow less… ${lease.id}`,
          });
          const end = actionButton("Stop", () => stop(lease), made.tell, {
            "aria-label": `Stop ${lease.id}`,
          });
          return el("div", { class: "buttons" }, lease.state === "waiting" && less, end);
        },
      },
    ],
    key: ({ id }) => id,
    empty: () =>
      nothing(
        "No agent has a desktop",
        "An agent under ",
        el("code", { class: "flag" }, "--mcp-write"),
        " may ask for one for a while, with its tool lease_request.",
      ),
  });
  made.body.append(listed.root);

  const polled = poll({
    path: "leases",
    on: ["lease.*", "approval.*"],
    every: 3,
    rest: 150,
    show({ leases, active }) {
      made.fail(null);
      setText(about, active === 0 ? "" : `${counted(active, "lease")} active`);
      listed.show(leases);
    },
    fail: made.fail,
  });
  return made;
}
