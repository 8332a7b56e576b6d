/**
 * Diagnostics: whether this host is ready for its work, and what to do about each problem.
 */
import { el, setText } from "../dom.js";
import { counted, milliseconds } from "../format.js";
import { icon } from "../icons.js";
import { actionButton, badge, json, loading, notice, panel, time } from "../parts.js";

/** Seconds between reports; each starts programs and opens devices. */
const EVERY_S = 60;

/** @typedef {import("../wire").Answer<"diagnose">} Report */
/** @typedef {Report["checks"][number]} Check */

/** Whether a check says that there is no screen here, rather than that it does not work. @param {Check} check */
export const isScreenless = ({ ok, extra }) => !ok && extra.screen === "undecided";

/** The colour of what a check found. @param {Check} check */
export const toneOf = (check) => {
  const { ok, severity } = check;
  if (isScreenless(check)) return "warn";
  return ok && severity === "info" ? "ok" : ok ? severity : "error";
};

const WORDS = { ok: "ok", info: "note", warn: "warning", error: "failed" };

/** @param {Check} check */
export const checkBadge = (check) => badge(toneOf(check), WORDS[toneOf(check)]);

/** The worst checks first, otherwise in the order of the report. @param {Report} report */
export function worstFirst({ checks }) {
  const rank = { error: 0, warn: 1, info: 2, ok: 3 };
  return [...checks].sort((a, b) => rank[toneOf(a)] - rank[toneOf(b)]);
}

/** @param {Report} report */
export function verdictOf({ checks, count, skipped = [] }) {
  const failed = checks.filter((check) => toneOf(check) === "error").length;
  const warned = checks.filter((check) => toneOf(check) === "warn").length;
  const of = ` of ${counted(count, "check")}`;
  const without = skipped.length > 0 ? ` Left out on this host: ${skipped.map(titleOf).join(", ")}.` : "";
  if (failed > 0)
    return notice(
      "error",
      `${failed}${of} failed${warned > 0 ? `, ${counted(warned, "warning")}` : ""}.${without}`,
    );
  if (warned > 0)
    return notice("warn", `${warned}${of} ${warned === 1 ? "has a warning" : "have warnings"}.${without}`);
  return notice("ok", `All ${counted(count, "check")} passed.${without}`);
}

/** `audit_chain` as `Audit chain`, `rest_api` as `REST API`. @param {string} name */
export const titleOf = (name) =>
  name
    .replaceAll("_", " ")
    .replace(/\bdeps\b/, "dependencies")
    .replace(/\b(rest|api|tls|nats)\b|^./g, (found) => found.toUpperCase());

/**
 * The report after a check found something else, which whoever asks for a report brings about. The advice comes with the next.
 *
 * @param {Report} report
 * @param {import("../events.js").Happening} happened
 */
export function afterCheck(report, { data }) {
  const { name, ok, severity, detail, screen } = /** @type {Check & { screen?: string }} */ (data);
  const checks = report.checks.map((check) => {
    if (check.name !== name) return check;
    const same = check.ok === ok && check.severity === severity;
    const extra = screen === undefined ? {} : { screen };
    return { ...check, ok, severity, detail, ...(!same && { advice: [], extra }) };
  });
  return { ...report, checks, failed: checks.filter((check) => !check.ok).length };
}

/**
 * Asks once whether this host is meant to have a screen, where it has none and nobody has said.
 *
 * @param {import("../view.js").View} view
 * @param {(error: Error | null) => void} tell
 * @param {() => Promise<void>} answered
 */
export function screenQuestion({ api, may }, tell, answered) {
  const root = el("div", { hidden: true });
  /** @param {"none" | "expected"} answer */
  const say = (answer) => async () => {
    await api.post("config/set", { name: "desktop.screen", value: [answer] });
    root.hidden = true;
    await answered();
  };
  root.append(
    notice(
      "info",
      "There is no screen here. Is this host meant to have one?",
      el(
        "span",
        { class: "buttons" },
        actionButton("No, it has none", say("none"), tell),
        actionButton("Yes, it is missing", say("expected"), tell),
      ),
    ),
  );
  return {
    root,
    /** @param {Report} report */
    show({ checks }) {
      root.hidden = !may("admin") || !checks.some(isScreenless);
    },
  };
}

/**
 * Follows the checks of this host: a panel gets the question about the screen, and what came of all of them.
 *
 * @param {import("../view.js").View} view
 * @param {ReturnType<typeof panel>} made
 * @param {(report: Report, at: Date) => void} show gets each report
 */
export function followChecks(view, made, show) {
  // Until the first report, what the panel has below it says that it is loading.
  const verdict = el("div", { role: "status" });
  const question = screenQuestion(view, made.tell, () => polled.now());
  made.body.append(question.root, verdict);
  const polled = view.poll({
    path: "diagnose",
    on: ["diagnosis.changed"],
    every: EVERY_S,
    rest: EVERY_S,
    apply: afterCheck,
    show(report, at) {
      made.fail(null);
      question.show(report);
      verdict.replaceChildren(verdictOf(report));
      show(report, at);
    },
    fail: made.fail,
  });
  return polled;
}

/** @param {import("../view.js").View} view */
export function open(view) {
  const { root } = view;
  const when = el("span", { class: "hint" });
  const made = panel("Checks", {
    tools: [when, actionButton([icon("refresh"), "Run again"], again, (error) => made.tell(error))],
  });
  const list = el("ul", { class: "checks" }, el("li", {}, loading()));
  const polled = followChecks(view, made, (report, at) => {
    when.replaceChildren("checked ", time(at.toISOString()));
    show(report);
  });
  made.body.append(list);
  root.append(made.root);

  /** Keeps unfolded details unfolded. @param {Report} report */
  function show(report) {
    const details = [...list.querySelectorAll("details")];
    const open = new Set(details.filter((one) => one.open).map(({ id }) => id));
    const focused = details.find((one) => one.contains(document.activeElement))?.id;
    list.replaceChildren(...worstFirst(report).map((check) => item(check, open)));
    if (focused) document.getElementById(focused)?.querySelector("summary")?.focus();
  }

  async function again() {
    const before = [...when.childNodes];
    setText(when, "checking…");
    await polled.now();
    // No newer report came.
    if (when.textContent === "checking…") when.replaceChildren(...before);
  }
}

/** The checks of a report, the worst first. @param {Report} report */
export const checkItems = (report) =>
  el("ul", { class: "checks" }, ...worstFirst(report).map((check) => item(check, new Set())));

/**
 * @param {Check} check
 * @param {ReadonlySet<string>} open ids of the details that are open
 */
function item(check, open) {
  const { name, detail, advice = [], extra, duration_ms } = check;
  const id = `check-${name}`;
  const more = Object.keys(extra).length > 0;
  return el(
    "li",
    {},
    el(
      "div",
      { class: "check-head" },
      checkBadge(check),
      el("strong", {}, titleOf(name)),
      el("span", { class: "hint" }, milliseconds(duration_ms ?? null)),
    ),
    el("p", { class: "prose" }, detail),
    advice.length > 0 &&
      el("ul", { class: "advice" }, ...advice.map((line) => el("li", { class: "prose" }, line))),
    more && el("details", { id, open: open.has(id) }, el("summary", {}, "Details"), json(extra)),
  );
}
