/**
 * The panels of the overview of a desk: what needs somebody, and what runs.
 */
import { planAddress } from "../address.js";
import { el } from "../dom.js";
import { count } from "../format.js";
import { runName } from "../host/run-state.js";
import { badge, panel, time } from "../parts.js";
import { table } from "../table.js";
import { failuresIn } from "./plan-parts.js";

/** @typedef {import("./needs.js").Need} Need */
/** @typedef {import("../wire").Answer<"plans">["plans"][number]} Plan */
/** @typedef {import("../host/run-state.js").ActiveRun} Run */

/** Lines that are shown; pages of their own have all. */
const NAMED = 8;

/** Says below a table how many more there are. @param {HTMLElement} body */
function restLine(body) {
  const said = el("p", { class: "hint" });
  return (/** @type {number} */ more) => {
    said.textContent = `and ${count(more)} more`;
    if (more > 0) body.append(said);
    else said.remove();
  };
}

/** What needs somebody; not there where nothing does. */
export function needsPanel() {
  const made = panel("Needs you");
  const listed = table({
    label: "What needs you, the worst first",
    compact: true,
    columns: [
      {
        label: "State",
        kind: "tight",
        cell: (/** @type {Need} */ { tone, sign, state }) =>
          el("span", { class: `badge host-state ${tone}`, "data-sign": sign }, state),
      },
      {
        label: "What",
        kind: "wide",
        cell: ({ who, what, since }) =>
          el(
            "div",
            {},
            el("strong", {}, who),
            " ",
            el("span", { class: "prose" }, what),
            since !== null && el("div", { class: "hint" }, time(since)),
          ),
      },
      {
        label: "Go there",
        kind: "actions",
        cell: ({ href, act, who }) => el("a", { class: "more", href, "aria-label": `${act} ${who}` }, act),
      },
    ],
    key: ({ key }) => key,
    empty: () => el("span", {}),
  });
  const rest = restLine(made.body);
  made.root.hidden = true;
  made.body.append(listed.root);
  return {
    root: made.root,
    /** @param {readonly Need[]} needs */
    show(needs) {
      made.root.hidden = needs.length === 0;
      listed.show(needs.slice(0, NAMED));
      rest(needs.length - NAMED);
    },
  };
}

/** What runs: where it is shown, what it is, and how far it is. @typedef {{ href: string, name: string, about: string, wave: string, failed: number, ok: number, total: number, since: string | null }} Work */

/** @param {Plan} plan @returns {Work} */
const planWork = ({ id, commands, on, wave, waves, counts, total, applied }) => ({
  ...{ href: planAddress(id), name: `Plan ${id.slice(0, 8)}`, about: `${commands.join(", ")} on ${on}` },
  ...{ wave: `wave ${wave} of ${waves.length}`, failed: failuresIn(counts), ok: counts.ok ?? 0 },
  ...{ total, since: applied },
});

/** @param {Run} run @returns {Work} */
const runWork = (run) => ({
  ...{ href: "#jobs", name: runName(run), about: run.waiting_for ? `waiting for ${run.waiting_for}` : "" },
  ...{ wave: "", failed: 0, ok: 0, total: 0, since: run.started_at },
});

/** What runs; not there where nothing does. */
export function runningPanel() {
  const made = panel("Running");
  const listed = table({
    label: "What runs",
    compact: true,
    columns: [
      {
        label: "What",
        kind: "wide",
        cell: (/** @type {Work} */ { href, name, about }) =>
          el("div", {}, el("a", { href, class: "prose" }, name), el("div", { class: "hint prose" }, about)),
      },
      {
        label: "How far",
        cell: ({ wave, failed, ok, total, since }) =>
          el(
            "div",
            { class: "tags" },
            wave !== "" && el("span", {}, wave),
            failed > 0 && badge("error", `${count(failed)} failed`),
            total > 0 && badge("ok", `${count(ok)} ok of ${count(total)}`),
            el("span", { class: "hint" }, time(since)),
          ),
      },
    ],
    key: ({ href, name, since }) => `${href} ${name} ${since}`,
    empty: () => el("span", {}),
  });
  const rest = restLine(made.body);
  made.root.hidden = true;
  made.body.append(listed.root);
  return {
    root: made.root,
    /** @param {readonly Plan[]} plans @param {readonly Run[]} runs */
    show(plans, runs) {
      const works = [...plans.map(planWork), ...runs.map(runWork)];
      made.root.hidden = works.length === 0;
      listed.show(works.slice(0, NAMED));
      rest(works.length - NAMED);
    },
  };
}
