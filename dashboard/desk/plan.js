/**
 * One plan: its waves and hosts as they go, and what can be done with it.
 */
import { keptAddress, planAddress } from "../address.js";
import { ask, fill } from "../dialog.js";
import { el, labelled, setText } from "../dom.js";
import { count, counted } from "../format.js";
import { icon } from "../icons.js";
import { onPage } from "../page-words.js";
import { actionButton, badge, copyButton, nothing, offer, panel, prose, time } from "../parts.js";
import { table } from "../table.js";
import { aboutOf, barOf, countsOf, reviewOf, STATES, TONES, wavesOf } from "./plan-parts.js";
import { askToApply, LISTED, pathOf } from "./plan-review.js";

/** @typedef {import("./plan-parts.js").Plan} Plan */
/** @typedef {import("./plan-parts.js").Target} Target */
/** @typedef {import("./plan-parts.js").Wave} Wave */

/** What can run again, and whether it is proposed: where it may have run already, a person decides. */
const RETRIABLE = /** @type {const} */ ([
  ["failed", true],
  ["unreachable", true],
  ["refused", true],
  ["cancelled", true],
  ["expired", true],
  ["timeout", false],
  ["unknown", false],
]);

/**
 * The plan that was chosen last; `changed` is called when something was done with it.
 *
 * @param {import("../view.js").View} view
 * @param {(state: string) => void} listing is called with the state of the hosts that somebody wants listed; empty for any
 */
export function planPanel({ api, may, poll }, listing) {
  let chosen = "";
  /** @type {Plan | null} */
  let plan = null;
  /** @type {import("../view.js").Poll | null} */
  let polled = null;

  /**
   * @param {import("../icons.js").IconName} shape
   * @param {string} label
   * @param {() => Promise<void>} act
   */
  const tool = (shape, label, act) => actionButton([icon(shape), label], act, (error) => made.tell(error));
  const buttons = {
    apply: tool("play", "Apply…", apply),
    pause: tool("pause", "Pause", () => post("/pause")),
    resume: tool("play", "Resume", () => post("/resume")),
    retry: tool("refresh", "Retry…", retry),
    cancel: tool("remove", "Cancel…", cancel),
    remove: tool("remove", "Remove…", remove),
  };
  const copy = copyButton("Copy link", () => new URL(planAddress(chosen), location.href).href, "to the plan");
  const made = panel("Plan", { tools: [...Object.values(buttons), copy] });
  const about = el("div", {});
  const which = el("select", {});
  which.addEventListener("change", () => {
    listing(which.value);
    void polled?.now();
  });
  const more = el("p", { class: "hint" });

  const waves = table({
    label: "Waves",
    columns: [
      { label: "Wave", kind: "number", cell: (/** @type {Wave} */ { nth }) => `${nth}` },
      { label: "Hosts", kind: "number", cell: ({ hosts }) => count(hosts) },
      { label: "Begun", kind: "tight", cell: ({ begun }) => (begun ? badge("info", "begun") : "–") },
      { label: "States", kind: "wide", cell: ({ counts }) => el("div", {}, barOf(counts), countsOf(counts)) },
    ],
    key: ({ nth }) => nth,
    empty: () => nothing("No waves", "The plan has no hosts."),
  });
  const targets = table({
    label: "Hosts of the plan",
    columns: [
      { label: "Host", cell: (/** @type {Target} */ { label }) => el("strong", {}, label) },
      { label: "Wave", kind: "number", cell: ({ wave }) => `${wave}` },
      { label: "State", kind: "tight", cell: ({ state }) => badge(TONES[state], state) },
      {
        label: "What happened",
        kind: "wide",
        cell: ({ error, waits_for, run_id }) =>
          error !== null || waits_for !== null
            ? prose(onPage(error ?? `waits: ${waits_for}`))
            : el("span", { class: "faint" }, run_id ? `run ${run_id.slice(0, 8)}` : "–"),
      },
      { label: "Sent", cell: ({ sent }) => time(sent) },
      { label: "Ended", cell: ({ ended }) => time(ended) },
      {
        label: "Screen",
        kind: "actions",
        hidden: !may("screen"),
        cell: ({ label, state, run_id }) =>
          (state === "failed" || state === "timeout") &&
          run_id !== null &&
          actionButton(
            "Before it failed",
            () => showBefore(label),
            (error) => made.tell(error),
            {
              "aria-label": `The screen of ${label} before it failed`,
            },
          ),
      },
    ],
    key: ({ label }) => label,
    empty: () => nothing("No hosts", "No host is in this state."),
  });
  made.body.append(
    about,
    waves.root,
    el("div", { class: "fields" }, labelled("Hosts in the state", which)),
    el("div", { class: "tall bleed", tabindex: 0, role: "group", "aria-label": "Hosts" }, targets.root, more),
  );

  /** Goes to what the black box of a host keeps of the minutes before its run failed. @param {string} label */
  async function showBefore(label) {
    const target = plan?.targets.find((one) => one.label === label);
    const kept = /** @type {"black-box/kept"} */ (`admin/hosts/${encodeURIComponent(label)}/black-box/kept`);
    const { runs } = await api.ask(kept);
    const found = runs.find(({ run_id }) => run_id === target?.run_id);
    if (!found)
      throw new Error(
        `${label} keeps nothing of it: its black box is off (svc serve --black-box), or was then.`,
      );
    location.assign(keptAddress(label, found));
  }

  /** @param {Plan} answer */
  function show(answer) {
    made.fail(null);
    const isSame = plan?.id === answer.id;
    plan = answer;
    const { id, kind, state, counts, total, owner } = answer;
    // Another desk runs it, and changes it.
    const here = owner === null;
    const own = kind === "plan" && here;
    buttons.apply.hidden = !own || state !== "new";
    buttons.pause.hidden = !own || state !== "running";
    buttons.resume.hidden = !own || state !== "paused";
    buttons.retry.hidden = !own || state === "new" || !RETRIABLE.some(([one]) => counts[one]);
    buttons.remove.hidden = !here || answer.ended === null;
    buttons.cancel.hidden = !here || !["new", "running", "paused"].includes(state);
    // What has begun was looked at before: it folds away, unless somebody unfolds it.
    const isOpen = isSame ? about.querySelector("details[open]") !== null : state === "new";
    const review = el(
      "details",
      { open: isOpen },
      el("summary", {}, "What it does, and its limits"),
      ...reviewOf(answer),
    );
    const next = el("div", { class: "stack" }, ...aboutOf(answer), review);
    // What is selected in it stays so.
    if (!about.firstElementChild?.isEqualNode(next)) about.replaceChildren(next);
    waves.show(wavesOf(answer));
    offer(
      which,
      `any: ${counted(total, "host")}`,
      STATES.filter((one) => counts[one]),
    );
    targets.show(answer.targets.toSorted((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state)));
    const listed = which.value === "" ? total : (counts[which.value] ?? 0);
    setText(
      more,
      owner
        ? "Its hosts are listed at that desk."
        : listed > LISTED
          ? `The first ${count(LISTED)} of ${counted(listed, "host")}. svc plan show ${id.slice(0, 8)} --json lists all.`
          : "",
    );
  }

  /** @param {"/pause" | "/resume" | "/cancel"} change */
  async function post(change) {
    await api.post(pathOf(chosen, change), {});
    await refresh();
  }

  async function refresh() {
    await Promise.all([polled?.now(), self.changed()]);
  }

  async function apply() {
    if (plan && (await askToApply(api, plan))) await refresh();
  }

  async function cancel() {
    const text = "Nothing more begins, and hosts are asked to end what runs. What has run stays as it is.";
    if (await ask("Cancel this plan?", "Cancel the plan", text)) await post("/cancel");
  }

  async function remove() {
    const text =
      "This desk forgets what became of it at each host. Its runs stay in the history of their hosts.";
    if (!(await ask("Remove this plan?", "Remove the plan", text))) return;
    await api.post(pathOf(chosen, "/remove"), {});
    await self.changed();
  }

  async function retry() {
    const boxes = RETRIABLE.flatMap(([state, proposed]) => {
      const hosts = plan?.counts[state];
      if (!hosts) return [];
      const box = el("input", { type: "checkbox", checked: proposed, defaultChecked: proposed });
      return [
        {
          state,
          box,
          root: el(
            "label",
            { class: "check" },
            box,
            `${state}: ${counted(hosts, "host")}${proposed ? "" : " (it may have run there)"}`,
          ),
        },
      ];
    });
    const again = () =>
      api.post(
        pathOf(chosen, "/retry"),
        // As proposed, it leaves out what was cancelled after it had begun.
        boxes.every(({ box }) => box.checked === box.defaultChecked)
          ? {}
          : { state: boxes.filter(({ box }) => box.checked).map(({ state }) => state) },
      );
    if (await fill("Run the plan again?", "Retry", again, ...boxes.map(({ root }) => root))) await refresh();
  }

  const self = {
    root: made.root,
    /** @type {() => Promise<void>} */
    changed: async () => {},
    /** @param {string} id @param {string} [state] of the hosts that are listed; empty for any */
    show(id, state = "") {
      if (id === chosen) return;
      chosen = id;
      const known = STATES.some((one) => one === state);
      which.replaceChildren(...(known ? [el("option", { value: state }, state)] : []));
      which.value = known ? state : "";
      if (polled) return void polled.now();
      polled = poll({
        path: () =>
          pathOf(chosen, /** @type {""} */ (`?limit=${LISTED}${which.value && `&only=${which.value}`}`)),
        on: ["plan.*"],
        every: 5,
        apply: (answer, { data }) => (data.id === chosen ? null : answer),
        show,
        fail: made.fail,
      });
    },
  };
  return self;
}
