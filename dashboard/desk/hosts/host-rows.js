/**
 * The hosts of the desk as they are now, by label. What many events change is told at most a few times a second.
 */
import { atMostEvery } from "../../view.js";

/** @typedef {import("./host-words.js").Row} Row */
/** @typedef {import("../../wire").Answer<"admin/poll">[number]} PollResult */

/** Milliseconds between two times that changes are told. */
const TOLD_EVERY_MS = 250;

/** Seconds between requests for all rows, and where events come: for what has none, as versions. */
const ROWS_EVERY_S = 30;
const ROWS_REST_S = 300;

/** Seconds between polls of the hosts, each of which may take seconds; and where events come: for few hosts, and for many. */
const POLL_EVERY_S = 15;
const POLL_REST_S = 40;
const POLL_MANY_S = 600;

/** With more hosts than this, they are polled seldom: links say by themselves whether they are there. */
const MANY = 1_000;

/** The longest list of labels that a request names in its address; for more, there are several. */
const MOST_IN_ADDRESS = 6_000;

/** Events after which a row is as they say, or all rows are asked for. */
const EVENTS = ["host.*", "plan.started", "plan.wave", "plan.target", "plan.ended", "witness.*", "link.*"];

/**
 * @typedef {object} HostRows
 * @property {() => readonly Row[]} all in the order of the address book; another array where there are others
 * @property {(label: string) => Row | undefined} of
 * @property {() => Promise<void>} again asks for all rows
 * @property {() => Promise<void>} poll asks all hosts, also those that have refused their token
 * @property {(labels: readonly string[]) => Promise<void>} ask polls these hosts, also those that have refused their token
 * @property {(labels: readonly string[]) => Promise<void>} changed asks for all rows, and then polls these hosts where that is allowed
 */

/**
 * @param {import("../../view.js").View} view
 * @param {{ changed: () => void, polled?: (found: readonly PollResult[], at: Date) => void, fail: (error: import("../../api-error.js").ApiError | null) => void }} tells
 *   `changed` is called when rows are others
 * @param {{ polls?: boolean }} [options] whether hosts are asked again and again
 * @returns {HostRows}
 */
export function hostRows(view, { changed, polled = () => {}, fail }, { polls = true } = {}) {
  const { api, may, poll, signal } = view;
  /** @type {Row[]} */
  let rows = [];
  /** @type {Map<string, number>} */
  const places = new Map();
  const tell = atMostEvery(TOLD_EVERY_MS, changed, signal);

  /** @param {readonly Row[]} next */
  function take(next) {
    if (next !== rows) rows = [...next];
    places.clear();
    for (const [at, { label }] of rows.entries()) places.set(label, at);
  }

  /** @param {string} label @param {Partial<Row>} change */
  function change(label, change) {
    const at = places.get(label);
    const row = at === undefined ? undefined : rows[at];
    if (at === undefined || row === undefined) return false;
    rows[at] = { ...row, ...change };
    return true;
  }

  /** Takes in what an event says. @param {import("../../events.js").Happening} happened @returns {boolean} whether it says enough */
  function happened({ type, data }) {
    const label = String(data.label ?? "");
    const now = new Date().toISOString();
    switch (type) {
      case "host.up":
        return change(label, { state: "up", why: null, since: now, seen: now });
      case "host.down":
        return change(label, {
          ...{ state: "down", why: String(data.error ?? ""), since: now },
          ...(typeof data.seen === "string" && { seen: data.seen }),
        });
      case "host.changed": {
        const { base_url, tags } = /** @type {Row} */ (/** @type {unknown} */ (data));
        const row = rows[places.get(label) ?? -1];
        // How it is trusted follows from its address.
        return row?.base_url === base_url && change(label, { tags });
      }
      case "host.removed":
        take(rows.filter((row) => row.label !== label));
        return true;
      case "plan.target":
        for (const one of /** @type {Array<{ label: string }>} */ (data.targets ?? []))
          if (rows[places.get(one.label) ?? -1]?.plan === data.id) change(one.label, { plan: null });
        return true;
      case "plan.ended":
        for (const row of rows) if (row.plan === data.id) change(row.label, { plan: null });
        return true;
      default:
        return false;
    }
  }

  /** @param {readonly PollResult[]} found @param {Date} at */
  function fold(found, at) {
    const now = at.toISOString();
    for (const { label, healthy, error, latency_ms, sessions, job_count, version } of found) {
      const row = rows[places.get(label) ?? -1];
      if (!row) continue;
      const state = healthy ? "up" : error?.startsWith("HTTP 429") ? "busy" : "down";
      change(label, {
        ...{ state, why: error },
        ...(state !== row.state && { since: now }),
        ...(state !== "down" && { seen: now }),
        ...(healthy && {
          rtt_ms: row.way === "link" ? row.rtt_ms : latency_ms,
          clients: sessions?.host.connected_clients ?? null,
          jobs: job_count,
          version: version ?? row.version,
        }),
      });
    }
    tell();
  }

  /** Why there is no poll: it stands also where the rows are here. @type {import("../../api-error.js").ApiError | null} */
  let refusal = null;
  let isFirst = true;
  /** Whether a person asked for the next poll: it also asks the hosts that refused their token. */
  let askAgain = false;
  /** @type {import("../../view.js").Poll | null} */
  let polling = null;

  const list = poll({
    path: "admin/fleet",
    on: EVENTS,
    every: ROWS_EVERY_S,
    rest: ROWS_REST_S,
    apply(found, one) {
      if (!happened(one)) return null;
      tell();
      return found;
    },
    show(answer) {
      fail(refusal);
      take(answer);
      if (isFirst) changed();
      else tell();
      isFirst = false;
      if (polls && may("operate") && rows.length > 0) startPolls();
    },
    fail,
  });

  function startPolls() {
    polling ??= poll({
      path() {
        const path = askAgain ? "admin/poll?ask_again=true" : "admin/poll";
        askAgain = false;
        return path;
      },
      on: ["host.added"],
      every: rows.length > MANY ? POLL_MANY_S : POLL_EVERY_S,
      rest: rows.length > MANY ? POLL_MANY_S : POLL_REST_S,
      show(found, at) {
        if (refusal) fail(null);
        refusal = null;
        fold(found, at);
        polled(found, at);
      },
      fail(error) {
        refusal = error;
        fail(error);
      },
    });
  }

  /** @param {readonly string[]} labels */
  async function ask(labels) {
    for (const query of inAddresses(labels)) {
      const at = new Date();
      fold(await api.ask(`admin/poll?ask_again=true&labels=${query}`), at);
    }
  }

  return {
    all: () => rows,
    of: (label) => rows[places.get(label) ?? -1],
    again: list.now,
    async poll() {
      if (rows.length === 0) return;
      askAgain = true;
      startPolls();
      await polling?.now();
    },
    ask,
    async changed(labels) {
      await list.now();
      if (labels.length > 0 && may("operate")) await ask(labels);
    },
  };
}

/** The labels, in lists that an address holds. @param {readonly string[]} labels @returns {string[]} */
function inAddresses(labels) {
  /** @type {string[]} */
  const lists = [];
  for (const label of labels.map(encodeURIComponent)) {
    const last = lists.at(-1);
    if (last === undefined || last.length + label.length > MOST_IN_ADDRESS) lists.push(label);
    else lists.splice(-1, 1, `${last},${label}`);
  }
  return lists;
}
