/**
 * Making a plan: its limits are filled in, then all that it does is shown, and then it is applied.
 */
import { fill } from "../dialog.js";
import { el, labelled } from "../dom.js";
import { askToApply } from "./plan.js";
import { SHOWN_KEY } from "./plans.js";

/**
 * @param {import("../api.js").Api} api
 * @param {readonly string[]} labels
 * @param {readonly unknown[]} actions
 * @param {boolean | "focus"} stop_on_error
 */
export async function makePlan(api, labels, actions, stop_on_error) {
  const waves = el("input", { value: "1, 10%, 100%", required: true, spellcheck: "false" });
  const pause = el("input", { type: "number", min: 0, value: "60", required: true });
  const failures = el("input", { pattern: "\\d+%?" });
  const hours = el("input", {
    type: "number",
    min: 0.01,
    max: 720,
    step: "any",
    value: "24",
    required: true,
  });
  const queue = el("input", { type: "checkbox", checked: true });
  let plan = /** @type {import("../wire").Answer<"plans/new"> | null} */ (null);
  const post = async () => {
    plan = await api.post("plans/new", {
      actions: [...actions],
      on: labels.join(","),
      waves: waves.value.split(/[\s,]+/).filter(Boolean),
      pause_s: pause.valueAsNumber,
      ...(failures.value.trim() !== "" && { max_failures: failures.value.trim() }),
      expires_s: hours.valueAsNumber * 3_600,
      queue: queue.checked,
      stop_on_error,
    });
  };
  const filled = await fill(
    "Make a plan",
    "Next",
    post,
    labelled("Waves", waves, "How many hosts have begun with each: numbers, or shares of all."),
    labelled("Pause between two waves, in seconds", pause),
    labelled(
      "Max. failures",
      failures,
      "After more, the plan is paused: a number of hosts or a percentage. Empty: none in a wave smaller than the hosts after it.",
    ),
    labelled("Expires after, in hours", hours, "Nothing of it begins later."),
    el("label", { class: "check" }, queue, "Hosts that are off get it when they are back"),
  );
  if (!filled || !plan) return;
  sessionStorage.setItem(SHOWN_KEY, plan.id);
  // A plan that is not applied is kept, and can be applied on its page.
  await askToApply(api, plan);
  location.hash = "#plans";
}
