/**
 * The parts of the page of a host. Each is loaded when it is opened; those that ask the host are in `host-asked.js`.
 */
import { planAddress } from "../../address.js";
import { el } from "../../dom.js";
import { count, counted, milliseconds } from "../../format.js";
import { actionButton, loading, nothing, notice, time } from "../../parts.js";
import { table } from "../../table.js";
import { wallPanel } from "../live-wall.js";
import { auditTab, checksTab, jobsTab, runsTab } from "./host-asked.js";
import { briefly, factsOf, linkOf, rightsOf, TRUST, WAYS } from "./host-words.js";

/** @typedef {import("./host-words.js").Row} Row */

/**
 * What a part gets; it returns what takes in a row that has changed.
 *
 * @typedef {object} Part
 * @property {import("../../view.js").View} view
 * @property {string} label
 * @property {Row} row
 * @property {HTMLElement} place
 * @property {import("./host-acts.js").HostActs} acts
 * @property {(trouble: import("../../parts.js").Trouble | null) => void} tell
 */

/** @typedef {(part: Part) => (row: Row) => void} Open */

/** @type {ReadonlyArray<{ name: string, title: string, scope: import("../../api.js").Scope, open: Open }>} */
export const TABS = [
  { name: "state", title: "State", scope: "read", open: stateTab },
  { name: "screen", title: "Screen", scope: "screen", open: screenTab },
  { name: "runs", title: "Runs", scope: "read", open: runsTab },
  { name: "jobs", title: "Jobs", scope: "read", open: jobsTab },
  { name: "diagnostics", title: "Diagnostics", scope: "read", open: checksTab },
  { name: "audit", title: "Audit", scope: "audit", open: auditTab },
  { name: "events", title: "Events", scope: "read", open: eventsTab },
  { name: "settings", title: "Settings", scope: "admin", open: settingsTab },
];

/** @type {Open} */
function stateTab({ view, label, row, place }) {
  const facts = el("div", {});
  /** @type {import("./host-words.js").Link | undefined} */
  let link;
  /** The states of files from which it differs, as the desk has found. */
  let drift = "";
  let last = row;
  /** @param {Row} now */
  const show = (now) => {
    last = now;
    facts.replaceChildren(
      factsOf([
        [
          "State",
          now.why === null
            ? now.state === "unknown"
              ? "nobody has asked it since this desk started"
              : now.state
            : briefly(now.why),
        ],
        ["Since", now.since === null ? "–" : time(now.since)],
        ["Way", `${WAYS[now.way]}${now.rtt_ms === null ? "" : `, ${milliseconds(now.rtt_ms)}`}`],
        ...(link ? [/** @type {const} */ (["Link", linkOf(link)])] : []),
        ["Version", now.version ?? "not known yet"],
        ["Viewers", now.clients === null ? "–" : count(now.clients)],
        ["Jobs", now.jobs === null ? "–" : count(now.jobs)],
        [
          "Plan",
          now.plan === null
            ? "none runs here"
            : el("a", { href: planAddress(now.plan) }, now.plan.slice(0, 8)),
        ],
        ...(drift === "" ? [] : [/** @type {const} */ (["Differs from", drift])]),
        ["Trusted by", TRUST[now.trust]],
      ]),
    );
  };
  show(row);
  place.append(facts);
  view.poll({
    path: "fleet/states",
    on: [],
    every: 0,
    show({ states }) {
      drift = driftOf(states, label);
      show(last);
    },
    // A desk of before knows no states.
    fail() {},
  });
  if (row.way === "link")
    view.poll({
      path: "links",
      on: ["host.up", "host.down", "link.*"],
      every: 30,
      rest: 120,
      show({ links }) {
        link = links.find((one) => one.label === label);
        show(last);
      },
      // A desk without links: the row says what is known.
      fail() {},
    });
  return show;
}

/**
 * The states from which a host differs, with how many differences each has.
 *
 * @param {import("../../wire").Answer<"fleet/states">["states"]} states
 * @param {string} label
 */
const driftOf = (states, label) =>
  states
    .flatMap(({ name, drifted }) => {
      const found = drifted.find((one) => one.label === label);
      return found ? [`${name} (${counted(found.differences, "difference")})`] : [];
    })
    .join(", ");

/** @type {Open} */
function screenTab({ view, label, place }) {
  const wall = wallPanel(view, new Set([label]));
  wall.open();
  place.append(wall.root);
  return () => {};
}

/** How many events of a host are kept while its page is open. */
const EVENTS_KEPT = 200;

/** What happens to a host while somebody looks, the newest first. @type {Open} */
function eventsTab({ view, row, place }) {
  /** @type {Array<{ at: string, what: string }>} */
  const events = [];
  const listed = table({
    label: "Events of the host",
    columns: [
      { label: "When", cell: (/** @type {typeof events[number]} */ { at }) => time(at) },
      { label: "What", kind: "wide", cell: ({ what }) => what },
    ],
    key: ({ at, what }) => `${at} ${what}`,
    empty: () =>
      nothing(
        "Nothing has happened since this page was opened",
        "What comes is listed here; svc events keeps all of it.",
      ),
  });
  let last = row;
  listed.show([]);
  place.append(listed.root);
  if (view.may("audit")) place.append(el("p", {}, el("a", { href: "#audit" }, "Audit log of this desk")));
  return (now) => {
    const changes = [
      now.state !== last.state && `${now.state}${now.why === null ? "" : `: ${now.why}`}`,
      now.plan !== last.plan &&
        (now.plan === null ? "its part of a plan has ended" : `works on plan ${now.plan.slice(0, 8)}`),
      now.version !== last.version && now.version !== null && `svc ${now.version}`,
      now.broken !== last.broken && (now.broken ? "its audit log is broken" : "its audit log is whole"),
      now.tags.join() !== last.tags.join() && `tags: ${now.tags.join(", ") || "none"}`,
    ];
    last = now;
    const at = new Date().toISOString();
    for (const what of changes) if (what) events.unshift({ at, what });
    events.splice(EVENTS_KEPT);
    listed.show(events);
  };
}

/** @type {Open} */
function settingsTab({ view, label, row, place, acts, tell }) {
  const facts = el("div", {}, loading());
  const hasToken = row.trust !== "identity" && row.trust !== "server";
  const remove = async () => {
    if (await acts.remove([label])) location.assign("#hosts");
  };
  place.append(
    facts,
    el(
      "div",
      { class: "buttons" },
      actionButton("Edit…", () => acts.edit(label).then(() => polled.now()), tell),
      actionButton("Tags…", () => acts.tag([label]).then(() => polled.now()), tell),
      ...(hasToken ? [actionButton("Rotate the token…", () => acts.rotate([label]), tell)] : []),
      actionButton("Remove…", remove, tell),
    ),
  );

  const polled = view.poll({
    path: "admin/hosts",
    on: [],
    every: 0,
    show(hosts) {
      const found = hosts.find((one) => one.label === label);
      if (!found) return;
      const { base_url, tags, trust, pin, next_pin, allows } = found;
      facts.replaceChildren(
        factsOf([
          ["Address", el("code", {}, base_url)],
          ["Tags", tags.join(", ") || "none"],
          ["Trusted by", TRUST[trust]],
          ["Pin", pin === null ? "none" : el("code", {}, pin)],
          ...(next_pin === null ? [] : [/** @type {const} */ (["Next pin", el("code", {}, next_pin)])]),
          ["This desk may use there", allows === null ? "not known yet" : rightsOf(allows)],
        ]),
      );
    },
    fail({ message }) {
      facts.replaceChildren(notice("warn", message));
    },
  });
  return () => {};
}
