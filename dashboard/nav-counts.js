/**
 * Counts beside pages in the navigation: hosts that need somebody, plans that run, and what waits for a person.
 */
import { el, setText } from "./dom.js";
import { count } from "./format.js";
import { downKind } from "./query.js";
import { createView } from "./view.js";

/** Seconds between requests, and where events come: for what has none, as a host that was lost a day ago. */
const EVERY_S = 60;
const REST_S = 600;

/** What is counted, by the page: in which colour, and what the number is for who hears it. */
const COUNTED = /** @type {const} */ ({
  hosts: ["error", "need attention"],
  plans: ["info", "running"],
  approvals: ["warn", "waiting"],
});

/** @typedef {keyof typeof COUNTED} Counted */
/** @typedef {import("./wire").Answer<"admin/fleet">} Hosts */

/** Where the hosts are that need somebody, and the events that concern them. */
export const TROUBLED = /** @type {const} */ ("admin/fleet?q=failing,lost,broken,twin");
export const TROUBLING = ["host.up", "host.down", "host.removed", "witness.changed", "link.replaced"];

/**
 * The hosts that need somebody, after an event; null where that does not say enough. Thousands may go at once: none of them leads to a
 * request.
 *
 * @param {Hosts} hosts
 * @param {import("./events.js").Happening} happened
 */
export function afterHost(hosts, { type, data }) {
  const place = hosts.findIndex(({ label }) => label === data.label);
  const known = hosts[place];
  const others = () => hosts.toSpliced(place, 1);
  switch (type) {
    case "host.down": {
      // Desks of before do not say when it was there last.
      const seen = data.seen === undefined ? String(data.at) : /** @type {string | null} */ (data.seen);
      const down = { state: "down", why: String(data.error ?? ""), since: data.at, seen };
      const isOff = downKind(down, Date.now()) === "off";
      if (isOff && !known?.broken && !known?.twin) return known ? others() : hosts;
      const row = rowOf({ ...known, label: data.label, ...down });
      return known ? hosts.with(place, row) : [...hosts, row];
    }
    case "host.up":
      return known && !known.broken && !known.twin ? others() : hosts;
    case "host.removed":
      return known ? others() : hosts;
    default:
      return null;
  }
}

/** A host that was lost, as far as an event says it: no more of its row is looked at. @param {object} known */
const rowOf = (known) =>
  /** @type {Hosts[number]} */ (
    /** @type {unknown} */ ({ tags: [], base_url: "", broken: false, twin: false, ...known })
  );

/**
 * @param {import("./api.js").Api} api
 * @param {import("./events.js").Events} events
 * @param {(page: string) => HTMLElement | undefined} linkOf the link to a page in the navigation
 */
export function navCounts(api, events, linkOf) {
  /** Of whom it counts. @type {string | null} */
  let counted = null;
  let ends = new AbortController();

  /** @param {Counted} page */
  function markFor(page) {
    const [tone, words] = COUNTED[page];
    const number = el("span", {});
    const root = el(
      "span",
      { class: `badge nav-count ${tone}` },
      number,
      el("span", { class: "unseen" }, ` ${words}`),
    );
    return {
      /** @param {number} many nothing stands there for none */
      show(many) {
        setText(number, count(many));
        if (many === 0) root.remove();
        else if (!root.isConnected) linkOf(page)?.append(root);
      },
    };
  }
  const marks = { hosts: markFor("hosts"), plans: markFor("plans"), approvals: markFor("approvals") };

  function stop() {
    ends.abort();
    counted = null;
    for (const mark of Object.values(marks)) mark.show(0);
  }
  api.session.addEventListener("signout", stop);

  return {
    /** Counts for who is signed in, until they sign out. @param {import("./view.js").May} may */
    follow(may) {
      const { token } = api.session;
      if (token === null || token === counted) return;
      stop();
      counted = token;
      ends = new AbortController();
      const { poll } = createView(document.body, api, events, may, ends.signal);
      const seldom = { every: EVERY_S, rest: REST_S };
      if (may("read"))
        poll({
          ...seldom,
          path: TROUBLED,
          on: TROUBLING,
          apply: afterHost,
          show: (hosts) => marks.hosts.show(hosts.length),
        });
      if (!may("operate")) return;
      poll({
        ...seldom,
        path: "plans?state=running",
        on: ["plan.started", "plan.paused", "plan.ended", "plan.removed"],
        show: ({ plans }) => marks.plans.show(plans.length),
      });
      poll({
        ...seldom,
        path: "approvals",
        on: ["approval.*"],
        show: ({ waiting }) => marks.approvals.show(waiting),
      });
    },
  };
}
