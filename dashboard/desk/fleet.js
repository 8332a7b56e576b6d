/**
 * The fleet of a desk at a glance: hosts that answer and that do not, plans that fail, logs that are broken. Hidden where no host is
 * in the address book.
 */
import { hostAddress, planAddress } from "../address.js";
import { el } from "../dom.js";
import { count, counted } from "../format.js";
import { figure, nothing, panel } from "../parts.js";
import { table } from "../table.js";
import { failuresIn } from "./plan-parts.js";

/** Hosts, plans and logs that are named; their own pages show all. */
const NAMED = 8;

/** Seconds between requests, and where events come. */
const EVERY_S = 30;
const REST_S = 120;

/** What is wrong: where, what, and the address that has more. @typedef {{ page: "hosts" | "plans", href: string, where: string, what: string }} Trouble */

/** Where something is wrong with a host. @param {string} label */
const atHost = (label) => ({ page: /** @type {const} */ ("hosts"), href: hostAddress(label), where: label });

/** @param {import("../view.js").View} view */
export function fleetPanel({ may, poll }) {
  const made = panel("Fleet", {
    class: "fleet",
    tools: [el("a", { class: "more", href: "#hosts", "aria-label": "Open the hosts" }, "Open")],
  });
  // Not on the page where there is no fleet.
  const place = el("div", { class: "fleet-place" });
  const figures = {
    hosts: figure("Hosts"),
    up: figure("Up"),
    down: figure("Down"),
    plans: figure("Failing plans"),
    logs: figure("Broken logs"),
  };
  const listed = table({
    label: "What is wrong in the fleet",
    compact: true,
    columns: [
      {
        label: "Where",
        kind: "wide",
        cell: (/** @type {Trouble} */ { page, href, where }) =>
          el("a", { href, ...(page === "plans" && { class: "whole" }) }, where),
      },
      { label: "What", kind: "wide", cell: ({ what }) => el("span", { class: "prose" }, what) },
    ],
    key: ({ page, where, what }) => `${page} ${where} ${what}`,
    empty: () => nothing("Nothing is wrong", "Every host answers, no plan fails, and no log is broken."),
  });
  const rest = el("p", { class: "hint" });
  made.body.append(
    el("dl", { class: "figures five" }, ...Object.values(figures).map(({ root }) => root)),
    listed.root,
    rest,
  );

  /** What each answer says is wrong; null before it is here. @type {Record<"hosts" | "plans" | "logs", Trouble[] | null>} */
  const found = { hosts: may("operate") ? null : [], plans: may("operate") ? null : [], logs: null };
  /** Why there is no answer to a question. @type {Partial<Record<keyof typeof found, import("../api-error.js").ApiError | null>>} */
  const faults = {};
  /** @param {keyof typeof found} of @param {import("../api-error.js").ApiError | null} error null after a good answer */
  function fail(of, error) {
    faults[of] = error;
    made.fail(faults.hosts ?? faults.plans ?? faults.logs ?? null);
  }

  /** @param {keyof typeof found} of @param {Trouble[]} troubles */
  function show(of, troubles) {
    fail(of, null);
    found[of] = troubles;
    const all = [found.logs, found.hosts, found.plans];
    if (all.includes(null)) return;
    const wrong = all.flatMap((some) => some ?? []);
    listed.show(wrong.slice(0, NAMED));
    rest.textContent = wrong.length > NAMED ? `and ${count(wrong.length - NAMED)} more` : "";
  }

  let isFollowed = false;
  poll({
    path: "admin/hosts",
    on: ["host.added", "host.removed"],
    every: EVERY_S,
    rest: REST_S,
    show(hosts) {
      if (hosts.length === 0) place.replaceChildren();
      else if (!made.root.isConnected) place.append(made.root);
      figures.hosts.show(count(hosts.length));
      // A host without a fleet is asked for nothing else.
      if (isFollowed || hosts.length === 0) return;
      isFollowed = true;
      followLogs();
      if (may("operate")) followHosts();
    },
    fail() {},
  });

  function followHosts() {
    poll({
      path: "admin/poll",
      on: ["host.up", "host.down", "host.added", "host.removed"],
      every: EVERY_S,
      rest: REST_S,
      show(hosts) {
        const down = hosts.filter(({ healthy }) => !healthy);
        figures.up.show(count(hosts.length - down.length));
        figures.down.show(count(down.length), down.length > 0 ? "error" : "none");
        show(
          "hosts",
          down.map(({ label, error }) => ({ ...atHost(label), what: error ?? "down" })),
        );
      },
      fail: (error) => fail("hosts", error),
    });
    poll({
      path: "plans",
      on: ["plan.*"],
      every: EVERY_S,
      rest: REST_S,
      show({ plans }) {
        const isOpen = (/** @type {string} */ state) => state === "running" || state === "paused";
        const [newest] = plans;
        const failing = plans.filter(
          (plan) => failuresIn(plan.counts) > 0 && (isOpen(plan.state) || plan === newest),
        );
        figures.plans.show(count(failing.length), failing.length > 0 ? "error" : "none");
        show(
          "plans",
          failing.map(({ id, state, counts, total, commands }) => ({
            ...{ page: /** @type {const} */ ("plans"), href: planAddress(id) },
            where: `Plan ${id.slice(0, 8)}`,
            what: `${state}: ${count(failuresIn(counts))} of ${counted(total, "host")} failed (${commands.join(", ")})`,
          })),
        );
      },
      fail: (error) => fail("plans", error),
    });
  }

  function followLogs() {
    poll({
      path: "admin/witness",
      on: ["witness.*"],
      every: EVERY_S,
      rest: REST_S,
      show({ hosts }) {
        const broken = hosts.filter(({ standing }) => standing === "broken");
        figures.logs.show(count(broken.length), broken.length > 0 ? "error" : "none");
        show(
          "logs",
          broken.map(({ label, state, reason }) => ({
            ...atHost(label),
            what: `its audit log: ${state}${reason === null ? "" : `, ${reason}`}`,
          })),
        );
      },
      fail: (error) => fail("logs", error),
    });
  }
  return place;
}
