/**
 * Plans: what runs, ran and can run on many hosts, and one of them with its waves as they go.
 */
import { button, el } from "../dom.js";
import { counted } from "../format.js";
import { badge, nothing, panel, prose, time } from "../parts.js";
import { table } from "../table.js";
import { planPanel } from "./plan.js";
import { countsOf, planTone } from "./plan-parts.js";

/** @typedef {import("../wire").Answer<"plans">} PlanList */
/** @typedef {PlanList["plans"][number]} Summary */

/** The id of the plan that is shown: it goes with the tab. */
export const SHOWN_KEY = "svc-plan";

/**
 * The list after an event; null where that does not say enough.
 *
 * @param {PlanList} answer
 * @param {import("../events.js").Happening} happened
 */
function afterEvent(answer, { type, data }) {
  const place = answer.plans.findIndex(({ id }) => id === data.id);
  const plan = answer.plans[place];
  if (!plan) return type === "plan.created" ? null : answer;
  const counts = /** @type {Summary["counts"]} */ (data.counts);
  if (type === "plan.target") return { ...answer, plans: answer.plans.with(place, { ...plan, counts }) };
  if (type === "plan.wave") {
    const wave = Number(data.wave);
    return { ...answer, plans: answer.plans.with(place, { ...plan, wave }) };
  }
  return null;
}

/** @param {import("../view.js").View} view */
export function open(view) {
  const made = panel("All plans");
  const plan = planPanel(view);
  let shown = sessionStorage.getItem(SHOWN_KEY) ?? "";

  /** @param {string} id */
  function choose(id) {
    shown = id;
    sessionStorage.setItem(SHOWN_KEY, id);
    plan.show(id);
  }

  const listed = table({
    label: "Plans, the newest first",
    columns: [
      { label: "Made", cell: (/** @type {Summary} */ { created }) => time(created) },
      {
        label: "State",
        cell: ({ state, reason, counts }) =>
          el(
            "div",
            {},
            badge(planTone({ state, counts }), state),
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
        cell: ({ id }) =>
          button("Show", () => choose(id), { "aria-label": `Show the plan ${id.slice(0, 8)}` }),
      },
    ],
    key: ({ id }) => id,
    rowClass: ({ id }) => (id === shown ? "selected" : ""),
    empty: () =>
      nothing(
        "No plans",
        "Select hosts on the page Hosts and press Plan…, or make one with svc plan new. Broadcasts are listed here too.",
      ),
  });
  made.body.append(
    el("div", { class: "tall bleed", tabindex: 0, role: "group", "aria-label": "Plans" }, listed.root),
  );
  // Until it is known that there is one.
  plan.root.hidden = true;
  view.root.append(el("div", { class: "stack" }, made.root, plan.root));

  const polled = view.poll({
    path: "plans",
    on: ["plan.*"],
    every: 5,
    apply: afterEvent,
    show({ plans }) {
      made.fail(null);
      const [newest] = plans;
      if (newest && !plans.some(({ id }) => id === shown)) choose(newest.id);
      else if (newest) plan.show(shown);
      plan.root.hidden = !newest;
      listed.show(plans);
    },
    fail: made.fail,
  });
  plan.changed = polled.now;
}
