/**
 * Admin console: the hosts of the address book, how they are, and one list of actions for many of them. This server asks
 * them; the browser asks nobody else.
 */
import { button, el, labelled, setText } from "./dom.js";
import { counted, milliseconds } from "./format.js";
import { icon } from "./icons.js";
import { actionButton, ask, badge, json, nothing, notice, panel, prose, table, time } from "./parts.js";

/** Seconds between polls of all hosts, each of which may take seconds. */
const POLL_EVERY_S = 15;

/** @typedef {{ label: string, base_url: string, tags: string[] }} Host */
/**
 * @typedef {object} Polled
 * @property {string} label
 * @property {boolean} healthy
 * @property {number | null} latency_ms
 * @property {string | null} error
 * @property {number | null} job_count
 * @property {{ host: { connected_clients: number } } | null} sessions
 */
/**
 * @typedef {object} Delivered
 * @property {string} label
 * @property {boolean} ok
 * @property {string} status
 * @property {number} duration_ms
 * @property {Array<import("./actions.js").Outcome>} [outcomes]
 * @property {string} [error]
 */

/** @param {import("./view.js").View} view */
export function open(view) {
  /** Labels of the hosts that a broadcast goes to. @type {Set<string>} */
  const selected = new Set();
  const broadcast = broadcastPanel(view, selected);
  const hosts = hostsPanel(view, selected, broadcast.tellSelection);
  view.root.append(el("div", { class: "stack" }, hosts, broadcast.root));
}

/**
 * @param {import("./view.js").View} view
 * @param {Set<string>} selected
 * @param {() => void} tellSelection
 */
function hostsPanel({ api, poll }, selected, tellSelection) {
  /** @type {Host[]} */
  let hosts = [];
  /** How they were found, by label. @type {Map<string, Polled>} */
  let found = new Map();

  const when = el("span", { class: "hint", role: "status" });
  const made = panel("Hosts", {
    tools: [
      when,
      actionButton([icon("refresh"), "Poll"], () => polled.now(), tell),
      button([icon("add"), "Add…"], () => void attempt(add)),
    ],
  });
  const picks = el("div", { class: "buttons small", role: "group", "aria-label": "Select hosts" });
  const listed = table({
    label: "Hosts",
    columns: [
      {
        label: "Select",
        kind: "tight",
        cell: (/** @type {Host & { polled: Polled | null }} */ { label }) => checkbox(label),
      },
      { label: "Host", cell: ({ label }) => el("strong", {}, label) },
      { label: "Address", kind: "wide", cell: ({ base_url }) => el("code", {}, base_url) },
      {
        label: "Tags",
        cell: ({ tags }) =>
          tags.length > 0
            ? el("div", { class: "tags" }, ...tags.map((tag) => el("span", { class: "tag" }, tag)))
            : "–",
      },
      { label: "Health", cell: ({ polled: state }) => health(state) },
      {
        label: "Latency",
        kind: "number",
        cell: ({ polled: state }) => milliseconds(state?.latency_ms ?? null),
      },
      {
        label: "Clients",
        kind: "number",
        cell: ({ polled: state }) => String(state?.sessions?.host.connected_clients ?? "–"),
      },
      { label: "Jobs", kind: "number", cell: ({ polled: state }) => String(state?.job_count ?? "–") },
      {
        label: "Actions",
        kind: "actions",
        cell: ({ label, tags }) =>
          el(
            "div",
            { class: "buttons" },
            button("Tags…", () => void attempt(() => changeTags(label, tags)), {
              "aria-label": `Tags… of ${label}`,
            }),
            button([icon("remove"), "Remove"], () => void attempt(() => remove(label)), {
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
        "Add the hosts that this one looks after: a name, where they answer, and their token.",
      ),
  });
  made.body.append(picks, listed.root);

  /** @param {Error | null} error */
  function tell(error) {
    made.fail(error);
  }

  /** @param {() => Promise<void>} act */
  async function attempt(act) {
    tell(null);
    try {
      await act();
    } catch (error) {
      tell(error instanceof Error ? error : new Error(String(error)));
    }
  }

  function show() {
    listed.show(hosts.map((host) => ({ ...host, polled: found.get(host.label) ?? null })));
    const tags = [...new Set(hosts.flatMap((host) => host.tags))].sort();
    picks.replaceChildren(
      ...(hosts.length > 0
        ? [el("span", { class: "hint" }, "Select"), pick("all", hosts), pick("none", [])]
        : []),
      ...tags.map((tag) =>
        pick(
          tag,
          hosts.filter((host) => host.tags.includes(tag)),
        ),
      ),
    );
    tellSelection();
  }

  /**
   * @param {string} what
   * @param {readonly Host[]} wanted
   */
  function pick(what, wanted) {
    return button(what, () => {
      selected.clear();
      for (const { label } of wanted) selected.add(label);
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

  const list = poll(
    30,
    "admin/hosts",
    (/** @type {Host[]} */ answer) => {
      tell(null);
      hosts = answer;
      for (const label of selected) if (!hosts.some((host) => host.label === label)) selected.delete(label);
      show();
    },
    tell,
  );
  const polled = poll(
    POLL_EVERY_S,
    "admin/poll",
    (/** @type {Polled[]} */ answer) => {
      found = new Map(answer.map((one) => [one.label, one]));
      const well = answer.filter(({ healthy }) => healthy).length;
      when.replaceChildren(
        ...(answer.length > 0
          ? [`${well} of ${answer.length} healthy · polled `, time(new Date().toISOString())]
          : []),
      );
      show();
    },
    tell,
  );

  async function refresh() {
    await list.now();
    await polled.now();
  }

  async function add() {
    const label = el("input", { required: true, maxlength: 128, placeholder: "lab-01", spellcheck: "false" });
    const url = el("input", {
      type: "url",
      required: true,
      placeholder: "https://lab-01.example:9939",
      spellcheck: "false",
    });
    const token = el("input", { type: "password", required: true, autocomplete: "off" });
    const tags = el("input", { placeholder: "lab, floor-2", spellcheck: "false" });
    const fields = [
      labelled("Name", label),
      labelled("Address", url),
      labelled(
        "Token",
        token,
        "As svc token show prints it on that host. It is kept here, and never shown again.",
      ),
      labelled("Tags", tags, "Separated by commas or spaces."),
    ];
    if (!(await ask("Add a host", "Add", ...fields))) return;
    await api.post("admin/hosts/add", {
      label: label.value,
      base_url: url.value,
      token: token.value,
      tags: split(tags.value),
    });
    await refresh();
  }

  /**
   * @param {string} label
   * @param {readonly string[]} tags
   */
  async function changeTags(label, tags) {
    const field = el("input", { value: tags.join(", "), spellcheck: "false" });
    if (!(await ask(`Tags of ${label}`, "Save", labelled("Tags", field, "Separated by commas or spaces."))))
      return;
    await api.post("admin/hosts/tag", { label, tags: split(field.value) });
    await list.now();
  }

  /** @param {string} label */
  async function remove(label) {
    if (
      !(await ask(
        `Remove ${label}?`,
        "Remove",
        "It leaves the address book, with its token. Nothing happens on the host.",
      ))
    )
      return;
    await api.post("admin/hosts/remove", { label });
    await list.now();
  }
  return made.root;
}

/** @param {string} text */
const split = (text) => text.split(/[\s,]+/).filter(Boolean);

/** @param {Polled | null} polled */
function health(polled) {
  if (!polled) return badge("none", "not polled yet");
  if (polled.healthy) return badge("ok", "healthy");
  return el("div", {}, badge("error", "not healthy"), el("div", { class: "hint prose" }, polled.error ?? ""));
}

/** @type {Record<string, import("./parts.js").Tone>} */
const TONES = {
  ok: "ok",
  failed: "error",
  unreachable: "error",
  unauthorized: "error",
  timeout: "warn",
  cancelled: "none",
};

/**
 * @param {import("./view.js").View} view
 * @param {Set<string>} selected
 */
function broadcastPanel({ api, signal }, selected) {
  const text = el("textarea", {
    spellcheck: "false",
    rows: 6,
    "aria-label": "Actions for the hosts, as JSON",
  });
  text.value = '[["AC_get_mouse_position"]]';
  const canary = el("input", { type: "number", min: 0, value: 0 });
  const failures = el("input", { value: "100%", pattern: "\\d+%?" });
  const parallel = el("input", { value: "64", pattern: "\\d+%?" });
  const stop = el("input", { type: "checkbox" });
  const go = actionButton("Broadcast…", start, (error) => made.fail(error), { class: "primary" });
  const cancel = button("Cancel", () => running?.abort());
  cancel.hidden = true;
  const summary = el("div", { role: "status" });
  const made = panel("Broadcast", { tools: [cancel, go] });
  const results = table({
    label: "Results, as they came",
    columns: [
      { label: "Host", cell: (/** @type {Delivered} */ { label }) => el("strong", {}, label) },
      { label: "Status", kind: "tight", cell: ({ status }) => badge(TONES[status] ?? "none", status) },
      {
        label: "Result",
        kind: "wide",
        cell: ({ error, outcomes = [] }) =>
          el("div", {}, error && prose(error), outcomes.length > 0 && outcomesList(outcomes)),
      },
      { label: "Took", kind: "number", cell: ({ duration_ms }) => milliseconds(duration_ms) },
    ],
    key: ({ label }) => label,
    empty: () =>
      nothing("Nothing has been sent", "Select hosts above, write a list of actions, and broadcast it."),
  });
  made.body.append(
    text,
    el(
      "div",
      { class: "fields" },
      labelled("Canaries", canary, "How many go first."),
      labelled("Failures at most", failures, "A number, or a share of them."),
      labelled("At once", parallel, "A number, or a share of them."),
      el("label", { class: "check" }, stop, "Stop a host at its first failure"),
    ),
    summary,
    results.root,
  );
  results.show([]);

  /** @type {AbortController | null} */
  let running = null;
  signal.addEventListener("abort", () => running?.abort());

  function tellSelection() {
    setText(go, selected.size === 0 ? "Broadcast…" : `Broadcast to ${counted(selected.size, "host")}…`);
  }

  async function start() {
    if (selected.size === 0) throw new Error("Select the hosts that it goes to, above.");
    const actions = parse(text.value);
    const labels = [...selected];
    const question = [
      el("p", {}, labels.join(", ")),
      el("pre", { class: "json", tabindex: 0 }, JSON.stringify(actions, null, 2)),
    ];
    if (!(await ask(`Run this on ${counted(labels.length, "host")}?`, "Broadcast", ...question))) return;
    running = new AbortController();
    cancel.hidden = false;
    /** @type {Delivered[]} */
    const done = [];
    results.show([]);
    const tell = () => tellSummary(done, labels.length, running === null);
    tell();
    try {
      const body = {
        actions,
        on: labels.join(","),
        canary: canary.valueAsNumber || 0,
        max_failures: share(failures.value),
        max_parallel: share(parallel.value),
        stop_on_error: stop.checked,
      };
      for await (const result of api.lines("admin/broadcast", body, running.signal)) {
        if (signal.aborted) return;
        done.push(/** @type {Delivered} */ (result));
        results.show(done);
        tell();
      }
    } finally {
      running = null;
      cancel.hidden = true;
      tell();
    }
  }

  /**
   * @param {readonly Delivered[]} done
   * @param {number} all
   * @param {boolean} ended
   */
  function tellSummary(done, all, ended) {
    const good = done.filter(({ ok }) => ok).length;
    const bad = done.length - good;
    const text = `${good} ok, ${bad} not ok, ${all - done.length} ${ended ? "without a result" : "to come"}`;
    summary.replaceChildren(notice(ended ? (good === all ? "ok" : "error") : "info", text));
  }

  return { root: made.root, tellSelection };
}

/**
 * What became of each action at a host; open where one failed.
 *
 * @param {ReadonlyArray<import("./actions.js").Outcome>} outcomes
 */
function outcomesList(outcomes) {
  const bad = outcomes.filter(({ ok }) => !ok).length;
  const item = (/** @type {import("./actions.js").Outcome} */ { command, ok, result, error }) =>
    el("li", {}, badge(ok ? "ok" : "error", String(command)), ok ? json(result) : prose(String(error ?? "")));
  return el(
    "details",
    { open: bad > 0 },
    el("summary", {}, `${counted(outcomes.length, "action")}, ${bad === 0 ? "all ok" : `${bad} failed`}`),
    el("ul", { class: "outcomes" }, ...outcomes.map(item)),
  );
}

/** @param {string} text a number, or a share such as 25% */
const share = (text) => (text.trim().endsWith("%") ? text.trim() : Number(text));

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`Not JSON: ${error instanceof Error ? error.message : error}`);
  }
}
