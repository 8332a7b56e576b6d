/**
 * Admin console: the hosts of the address book, their health, and broadcasts to many of them. This server asks the hosts;
 * the browser asks only this server.
 */

import { ask, fill } from "../dialog.js";
import { button, el, labelled, setText } from "../dom.js";
import { count, milliseconds, moment } from "../format.js";
import { icon } from "../icons.js";
import { actionButton, badge, nothing, panel, time } from "../parts.js";
import { table } from "../table.js";
import { broadcastPanel } from "./broadcast.js";
import { hostForm, tagsForm } from "./host-form.js";
import { joinPanel } from "./join.js";
import { wallPanel } from "./live-wall.js";

/** Seconds between polls of all hosts, each of which may take seconds. */
const POLL_EVERY_S = 15;

/** The same where events come. */
const POLL_REST_S = 30;

/** @typedef {import("../wire").Answer<"admin/hosts">[number]} Host */
/** @typedef {import("../wire").Answer<"admin/poll">[number]} Polled */
/** @typedef {import("../wire").Answer<"links">["links"][number]} Link */
/** @typedef {import("../wire").Answer<"admin/witness">["hosts"][number]} WitnessedLog */

/** What makes sure that it is the host which answers. */
const TRUST = {
  key: "pinned key",
  certificate: "pinned certificate",
  ca: "authority of its own",
  authorities: "usual authorities",
  server: "the NATS server",
  identity: "its identity key",
  loopback: "this machine",
};

/**
 * The last poll that found something else than the one before, of which there is an event.
 *
 * @param {Polled[]} found
 * @param {import("../events.js").Happening} happened
 */
function afterPoll(found, { type, data }) {
  const { label, error = null } = /** @type {{ label: string, error?: string }} */ (data);
  if (type === "host.added") return null;
  if (type === "host.removed") return found.filter((one) => one.label !== label);
  const healthy = type === "host.up";
  return found.map((one) => (one.label === label ? { ...one, healthy, error } : one));
}

/** @param {import("../view.js").View} view */
export function open(view) {
  /** Labels of the hosts that a broadcast is sent to. @type {Set<string>} */
  const selected = new Set();
  const broadcast = broadcastPanel(view, selected);
  const wall = wallPanel(view, selected);
  const hosts = hostsPanel(view, selected, () => {
    broadcast.tellSelection();
    wall.show();
  });
  view.root.append(
    el(
      "div",
      { class: "stack" },
      hosts,
      view.may("screen") && wall.root,
      view.may("admin") && joinPanel(view),
      view.may("operate") && broadcast.root,
    ),
  );
}

/**
 * @param {import("../view.js").View} view
 * @param {Set<string>} selected
 * @param {() => void} tellSelection
 */
function hostsPanel({ api, may, poll }, selected, tellSelection) {
  /** @type {Host[]} */
  let hosts = [];
  /** The last poll of each host, by label. @type {Map<string, Polled>} */
  let found = new Map();
  /** The links of this desk, by label: null before a host is there that dials it. @type {Map<string, Link> | null} */
  let links = null;
  /** Audit logs that are broken, by the label of their hosts. @type {Map<string, WitnessedLog>} */
  let broken = new Map();
  let offered = "";
  /** Whether a person asked for the next poll: it also asks the hosts that refused their token. */
  let askAgain = false;

  const when = el("span", { class: "hint", role: "status" });
  const retag = actionButton("Tags…", changeTags, (error) => made.tell(error), { hidden: true });
  const made = panel("Hosts", {
    tools: [
      when,
      may("operate") &&
        actionButton(
          [icon("refresh"), "Poll"],
          () => pollAll(),
          (error) => made.tell(error),
        ),
      retag,
      may("admin") && actionButton([icon("add"), "Add…"], add, (error) => made.tell(error)),
    ],
  });
  const picks = el("div", {
    class: "buttons small",
    role: "group",
    "aria-label": "Select hosts",
    hidden: !may("operate"),
  });
  const listed = table({
    label: "Hosts",
    columns: [
      {
        label: "Select",
        kind: "tight",
        hidden: !may("operate"),
        cell: (
          /** @type {Host & { polled: Polled | null, link: Link | null, log: WitnessedLog | null }} */ {
            label,
          },
        ) => checkbox(label),
      },
      {
        label: "Host",
        kind: "wide",
        cell: ({ label, base_url, trust, next_pin, link, allows, log }) =>
          el(
            "div",
            {},
            el(
              "strong",
              {},
              may("screen")
                ? el("a", { href: `#live:${encodeURIComponent(label)}`, title: "Show its screen" }, label)
                : label,
            ),
            // The id of a host has room in one line, however wide the other columns are.
            el(
              "div",
              { class: "hint" },
              el("code", { class: /^(link|nats):/.test(base_url) && "flag" }, base_url),
            ),
            trust === "nothing"
              ? badge("error", "not encrypted")
              : el(
                  "div",
                  { class: "hint" },
                  `${wayTo(base_url)}, ${TRUST[trust]}${next_pin === null ? "" : "; another announced"}`,
                ),
            allows && el("div", { class: "hint" }, `this desk may use there: ${rightsOf(allows)}`),
            link && linkOf(link),
            log && brokenLog(log),
          ),
      },
      {
        label: "Tags",
        cell: ({ tags }) =>
          tags.length > 0
            ? el("div", { class: "tags" }, ...tags.map((tag) => el("span", { class: "tag" }, tag)))
            : "–",
      },
      { label: "Health", hidden: !may("operate"), cell: ({ polled: state }) => health(state) },
      {
        label: "Latency",
        kind: "number",
        hidden: !may("operate"),
        // Of a host that is down, it is the time until the desk gave up.
        cell: ({ polled: state }) => milliseconds(state?.healthy ? state.latency_ms : null),
      },
      {
        label: "Clients",
        kind: "number",
        hidden: !may("operate"),
        cell: ({ polled: state }) => number(state?.sessions?.host.connected_clients),
      },
      {
        label: "Jobs",
        kind: "number",
        hidden: !may("operate"),
        cell: ({ polled: state }) => number(state?.job_count),
      },
      {
        label: "Actions",
        kind: "actions",
        hidden: !may("admin"),
        cell: ({ label, trust }) =>
          el(
            "div",
            { class: "buttons" },
            actionButton("Edit…", () => change(label), made.tell, { "aria-label": `Edit… ${label}` }),
            // Neither a link nor NATS needs a token.
            trust !== "identity" &&
              trust !== "server" &&
              actionButton("Rotate…", () => rotate(label), made.tell, {
                "aria-label": `Rotate… the token of ${label}`,
              }),
            actionButton([icon("remove"), "Remove"], () => remove(label), made.tell, {
              "aria-label": `Remove ${label}`,
            }),
          ),
      },
    ],
    key: ({ label }) => label,
    rowClass: ({ label }) => (selected.has(label) ? "selected" : ""),
    empty: () =>
      nothing(
        "No hosts",
        may("admin")
          ? "Let hosts join with a string, or add them: name, address and token of each."
          : "The hosts that are managed from here are listed here.",
      ),
  });
  made.body.append(picks, listed.root);

  function show() {
    listed.show(
      hosts.map((host) => ({
        ...host,
        polled: found.get(host.label) ?? null,
        link: links?.get(host.label) ?? null,
        log: broken.get(host.label) ?? null,
      })),
    );
    offer(hosts.length > 0 ? [...new Set(hosts.flatMap((host) => host.tags))].sort() : null);
    retag.hidden = selected.size === 0 || !may("admin");
    setText(retag, `Tags of ${hostsOf(selected.size)}…`);
    tellSelection();
  }

  /** Offers to select hosts by their tags. @param {string[] | null} tags null while there are no hosts */
  function offer(tags) {
    const next = JSON.stringify(tags);
    if (next === offered) return;
    offered = next;
    picks.replaceChildren(
      ...(tags
        ? [
            el("span", { class: "hint" }, "Select"),
            pick("all", () => true),
            pick("none", () => false),
            ...tags.map((tag) => pick(tag, (host) => host.tags.includes(tag))),
          ]
        : []),
    );
  }

  /**
   * @param {string} what
   * @param {(host: Host) => boolean} wanted
   */
  function pick(what, wanted) {
    return button(what, () => {
      selected.clear();
      for (const host of hosts.filter(wanted)) selected.add(host.label);
      for (const box of listed.root.querySelectorAll("input")) box.checked = selected.has(box.value);
      show();
    });
  }

  /** @param {string} label */
  function checkbox(label) {
    const box = el("input", { type: "checkbox", value: label, "aria-label": `Select ${label}` });
    box.checked = selected.has(label);
    box.addEventListener("change", () => {
      if (box.checked) selected.add(label);
      else selected.delete(label);
      show();
    });
    return box;
  }

  /** New names of hosts, by the old ones: a list of before has the latter, and what is selected stays so. @type {Map<string, string>} */
  const renamed = new Map();
  /** Why there is no poll: it stands also where the list of hosts is here. @type {import("../api.js").ApiError | null} */
  let refusal = null;
  const list = poll({
    path: "admin/hosts",
    on: ["host.added", "host.changed", "host.removed"],
    every: 30,
    show(answer) {
      made.fail(refusal);
      hosts = answer;
      for (const label of [...selected].filter((one) => !hosts.some((host) => host.label === one))) {
        selected.delete(label);
        const to = renamed.get(label);
        if (to !== undefined) selected.add(to);
      }
      show();
      if (links === null && hosts.some(({ trust }) => trust === "identity")) followLinks();
    },
    fail: made.fail,
  });

  function followLinks() {
    links = new Map();
    poll({
      path: "links",
      on: ["host.up", "host.down", "link.*"],
      every: 15,
      rest: 60,
      show(answer) {
        links = new Map(answer.links.map((link) => [link.label, link]));
        show();
      },
      // A desk without links: the poll says that of each host.
      fail() {},
    });
  }

  poll({
    path: "admin/witness",
    on: ["witness.*"],
    every: 30,
    rest: 120,
    show(answer) {
      const logs = answer.hosts.filter(({ standing }) => standing === "broken");
      broken = new Map(logs.map((log) => [log.label, log]));
      show();
    },
    // The list stands without it.
    fail() {},
  });

  const polled = may("operate")
    ? poll({
        path() {
          const path = askAgain ? "admin/poll?ask_again=true" : "admin/poll";
          askAgain = false;
          return path;
        },
        on: ["host.added", "host.up", "host.down", "host.removed"],
        every: POLL_EVERY_S,
        rest: POLL_REST_S,
        apply: afterPoll,
        show(answer, at) {
          if (refusal) made.fail(null);
          refusal = null;
          found = new Map(answer.map((one) => [one.label, one]));
          const well = answer.filter(({ healthy }) => healthy).length;
          when.replaceChildren(
            ...(answer.length > 0
              ? [`${well} of ${answer.length} healthy · polled `, time(at.toISOString())]
              : []),
          );
          show();
        },
        fail(error) {
          refusal = error;
          made.fail(error);
        },
      })
    : { now: async () => {} };
  if (!may("operate")) setText(when, "not polled: that needs a token for operate");

  function pollAll() {
    askAgain = true;
    return polled.now();
  }

  /**
   * Says which key was pinned, where nobody has compared it yet.
   *
   * @param {{ trust_first?: boolean }} asked
   * @param {Host} host
   */
  function tellPin({ trust_first }, { label, pin }) {
    if (!trust_first) return;
    const message = `${label}: pinned ${pin}. Compare it with what svc pin prints on that host.`;
    made.tell({ tone: "warn", message });
  }

  async function add() {
    const label = el("input", { required: true, maxlength: 128, placeholder: "lab-01", spellcheck: "false" });
    const form = hostForm();
    form.token.required = true;
    const post = async () => {
      const host = { label: label.value, ...form.host(), token: form.token.value.trim() };
      tellPin(host, await api.post("admin/hosts/add", host));
    };
    if (!(await fill("Add a host", "Add", post, labelled("Name", label), ...form.fields))) return;
    await list.now();
    await polled.now();
  }

  /** @param {string} label */
  async function change(label) {
    const form = hostForm(hosts.find((host) => host.label === label));
    const name = el("input", { required: true, maxlength: 128, spellcheck: "false", value: label });
    const clear = el("input", { type: "checkbox" });
    const post = async () => {
      const token = form.token.value.trim();
      const changed = { ...form.host(), ...(token && { token }), clear_trust: clear.checked };
      tellPin(changed, await api.post("admin/hosts/set", { label, ...changed }));
      const to = name.value.trim();
      if (to === label) return;
      renamed.set(label, to);
      await api.post("admin/hosts/rename", { label, to });
    };
    const named = labelled("Name", name, "Token, pin, tags, log and plans go along with a new name.");
    const forget = el(
      "label",
      { class: "check" },
      clear,
      "Forget pin and certificate: trust the usual authorities",
    );
    if (!(await fill(`Edit ${label}`, "Save", post, named, ...form.fields, forget))) return;
    await list.now();
    await polled.now();
  }

  /** Adds and removes tags of the selected hosts; their other tags stay. */
  async function changeTags() {
    const on = [...selected];
    const form = tagsForm(hosts.filter(({ label }) => selected.has(label)));
    const post = async () => {
      await api.post("admin/hosts/tags", { on: on.join(","), ...form.change() });
    };
    if (!(await fill(`Tags of ${hostsOf(on.length)}`, "Save", post, ...form.fields))) return;
    await list.now();
  }

  /** @param {string} label */
  async function rotate(label) {
    let done = "";
    const post = async () => {
      const { name, old_until, problem } = await api.post("admin/hosts/rotate", { label });
      const which = name === null ? "the host’s own token" : `the token ${name}`;
      const rest = problem === null ? "" : ` The host does not know that it is stored here: ${problem}.`;
      done = `${label}: ${which} is replaced. Old ones work until ${moment(old_until)}.${rest}`;
    };
    const text =
      "The host makes a new token in place of the one that is stored here. For other programs that use it, the old one works for another day.";
    if (!(await fill(`Rotate the token of ${label}?`, "Rotate", post, text))) return;
    made.tell({ tone: "ok", message: done });
    await polled.now();
  }

  /** @param {string} label */
  async function remove(label) {
    if (
      !(await ask(
        `Remove ${label}?`,
        "Remove",
        "The host and its token are removed from the address book. A host that has joined this desk ends that token.",
      ))
    )
      return;
    const { problem } = await api.post("admin/hosts/remove", { label });
    if (problem !== null) {
      const message = `${label} was not notified: ${problem}. Its token works until svc leave runs there.`;
      made.tell({ tone: "warn", message });
    }
    await list.now();
  }
  return made.root;
}

/** An audit log that is not what its desk has seen before: it says nothing about how the host answers. @param {WitnessedLog} log */
const brokenLog = ({ state, since, reason }) =>
  el(
    "div",
    {},
    badge("error", `audit log ${state.replaceAll("_", " ")}`),
    el("span", { class: "hint prose" }, " ", time(since), reason && `: ${reason}`),
  );

/** @param {number | null | undefined} value */
const number = (value) => (value === null || value === undefined ? "–" : count(value));

/** @param {number} hosts */
const hostsOf = (hosts) => (hosts === 1 ? "1 host" : `${count(hosts)} hosts`);

/** How a host is reached. @param {string} url */
const wayTo = (url) => ({ link: "link", nats: "NATS", http: "HTTP" })[url.split(":")[0] ?? ""] ?? "HTTPS";

/** The scopes of a desk, in the words of `svc desk set --allow`. @param {string[]} allows */
function rightsOf(allows) {
  if (allows.includes("admin")) return "everything";
  const all = ["metrics", "read", "screen", "audit", "sync", "operate"];
  return all.every((one) => allows.includes(one)) ? "all but admin" : allows.join(", ");
}

/** How the link of a host is. @param {Link} link */
function linkOf({ linked, since, last_seen, rtt_ms, address, twin }) {
  const state = linked
    ? ["linked ", time(since), ` from ${address}${rtt_ms === null ? "" : `, ${milliseconds(rtt_ms)}`}`]
    : ["not linked, last seen ", time(last_seen)];
  return el(
    "div",
    {},
    el("div", { class: "hint" }, ...state),
    twin && badge("warn", "two hosts with this identity"),
    twin && el("div", { class: "hint" }, `another one at ${twin.address}, `, time(twin.at)),
  );
}

/** @param {Polled | null} polled */
function health(polled) {
  if (!polled) return badge("none", "not polled yet");
  if (polled.healthy) return badge("ok", "healthy");
  const state = polled.error?.startsWith("HTTP 429") ? badge("warn", "busy") : badge("error", "unhealthy");
  return el("div", {}, state, el("div", { class: "hint prose" }, polled.error ?? ""));
}
