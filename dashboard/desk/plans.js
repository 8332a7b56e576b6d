/**
 * Plans: what runs, ran and can run on many hosts, and one of them with its waves as they go.
 */
import { addressIn, keepInAddress, planAddress } from "../address.js";
import { button, el, labelled } from "../dom.js";
import { counted } from "../format.js";
import { badge, nothing, notice, panel, prose, time } from "../parts.js";
import { table } from "../table.js";
import { planPanel } from "./plan.js";
import { afterPlan, countsOf, planTone, planWords } from "./plan-parts.js";

/** @typedef {import("../wire").Answer<"plans">} PlanList */
/** @typedef {PlanList["plans"][number]} Summary */

/** The id of the plan that was shown last, where the address names none: it goes with the tab. */
const SHOWN_KEY = "svc-plan";

/**
 * The list of plans.
 *
 * @param {{ isShown: (id: string) => boolean, go: (id: string) => void, empty: () => Node }} page `go` shows a plan
 */
function plansTable({ isShown, go, empty }) {
  return table({
    label: "Plans, the newest first",
    columns: [
      { label: "Made", cell: (/** @type {Summary} */ { created }) => time(created) },
      {
        label: "State",
        cell: ({ state, reason, counts, total }) =>
          el(
            "div",
            {},
            badge(planTone({ state, counts }), planWords({ state, counts, total })),
            reason !== null && el("div", { class: "hint prose" }, reason),
          ),
      },
      {
        label: "What and where",
        kind: "wide",
        cell: ({ kind, on, commands, owner }) =>
          el(
            "div",
            {},
            prose(on),
            owner && el("div", { class: "hint" }, `of the desk ${owner.desk}, heard `, time(owner.heard)),
            el(
              "div",
              { class: "hint" },
              `${kind === "broadcast" ? "broadcast: " : ""}${commands.join(", ")}`,
            ),
          ),
      },
      { label: "Wave", kind: "number", cell: ({ wave, waves }) => `${wave} of ${waves.length}` },
      {
        label: "Hosts",
        cell: ({ counts, total }) => el("div", {}, counted(total, "host"), countsOf(counts)),
      },
      {
        label: "Actions",
        kind: "actions",
        cell: ({ id }) => button("Show", () => go(id), { "aria-label": `Show the plan ${id.slice(0, 8)}` }),
      },
    ],
    key: ({ id }) => id,
    rowClass: ({ id }) => (isShown(id) ? "selected" : ""),
    empty,
  });
}

/** @param {import("../view.js").View} view */
export function open(view) {
  const made = panel("All plans");
  const { path, query } = addressIn(location.hash);
  const filter = el("input", { type: "search", spellcheck: "false", placeholder: "failed tag:lab anna" });
  filter.value = query.get("q") ?? "";
  filter.addEventListener("input", () => plans.length > 0 && show());
  /** The state of the hosts that are listed. */
  let listedState = "";
  const keep = () => {
    // The filter tells of a change as it goes away with the page; the address is that of the next one by then.
    if (view.signal.aborted) return;
    keepInAddress(shown === "" ? "plans" : `plans/${shown}`, { q: filter.value.trim(), state: listedState });
  };
  filter.addEventListener("change", keep);
  const plan = planPanel(view, (state) => {
    listedState = state;
    keep();
  });
  /** The plan of the address, of which the beginning of its id is enough; empty where that names none, and once it is shown. */
  let asked = path[0] ?? "";
  /** What is looked for in the list, and the plan that is shown. */
  let wanted = asked || (sessionStorage.getItem(SHOWN_KEY) ?? "");
  let shown = "";
  /** Those that are listed. @type {readonly Summary[]} */
  let plans = [];

  /** @param {string} id */
  function choose(id) {
    if (id === shown) return;
    listedState = asked === "" ? "" : (query.get("state") ?? "");
    asked = "";
    wanted = id;
    shown = id;
    sessionStorage.setItem(SHOWN_KEY, id);
    keep();
    plan.show(id, listedState);
  }

  /** Shows a plan; a step back leads to the one before. @param {string} id */
  function go(id) {
    if (id !== shown) history.pushState(null, "", planAddress(id));
    asked = "";
    wanted = id;
    show();
  }

  function show() {
    const found = plans.find(({ id }) => wanted !== "" && id.startsWith(wanted));
    const isMissing = asked !== "" && !found;
    const here = found ?? (isMissing ? undefined : plans[0]);
    if (here) choose(here.id);
    const missing = isMissing && el("div", { role: "status" }, notice("warn", missingWords(asked)));
    // A screen reader would read the same text again.
    if (made.notes.textContent !== (missing ? missing.textContent : ""))
      made.notes.replaceChildren(...(missing ? [missing] : []));
    plan.root.hidden = !here;
    listed.show(plans.filter(fits(filter.value)));
  }

  const listed = plansTable({
    isShown: (id) => id === shown,
    go,
    empty: () =>
      plans.length > 0
        ? nothing("No plan fits that", filter.value)
        : nothing(
            "No plans",
            "Select hosts on the page Hosts and press Plan…, or make one with svc plan new. Broadcasts are listed here too.",
          ),
  });
  made.body.append(
    labelled("Filter", filter, "Words of a state, of who made it, of hosts or of commands: all have to fit."),
    el("div", { class: "tall bleed", tabindex: 0, role: "group", "aria-label": "Plans" }, listed.root),
  );
  // Until it is known that there is one.
  plan.root.hidden = true;
  view.root.append(el("div", { class: "stack" }, made.root, plan.root));

  const polled = view.poll({
    path: "plans",
    on: ["plan.*"],
    every: 5,
    apply: afterPlan,
    show(answer) {
      made.fail(null);
      plans = answer.plans;
      show();
    },
    fail: made.fail,
  });
  plan.changed = polled.now;
}

/** Whether a plan has all of these words. @param {string} text @returns {(plan: Summary) => boolean} */
function fits(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (plan) => {
    const { id, kind, on, commands, maker, reason } = plan;
    const parts = [
      id,
      kind,
      plan.state,
      planWords(plan),
      on,
      ...commands,
      maker ?? "the owner",
      reason ?? "",
    ];
    const all = parts.join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  };
}

/** That no plan has the id of the address. @param {string} id */
const missingWords = (id) =>
  `There is no plan ${id.slice(0, 40)} here: it was removed, or it is one of another token.`;
