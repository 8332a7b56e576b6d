/**
 * Making a plan for hosts that are selected: what it does and its limits are filled in, then all of it is shown, and then it is applied.
 */
import { addressIn, planAddress } from "../address.js";
import { fill } from "../dialog.js";
import { el, labelled } from "../dom.js";
import { counted } from "../format.js";
import { draftField, readScript, stopChoice } from "../host/script.js";
import { json } from "../parts.js";
import { askToApply } from "./plan-review.js";

/** Where the tab keeps the list of actions for hosts: a broadcast and a plan have one. */
const DRAFT_KEY = "svc-broadcast";

/** A field for a list of actions for hosts. @param {import("../dom.js").Attributes} [attributes] */
export const hostActionsField = (attributes = {}) =>
  draftField(DRAFT_KEY, '[["AC_get_mouse_position"]]', { rows: 6, ...attributes });

/**
 * The list that hosts get.
 *
 * @param {import("../api.js").Api} api
 * @param {string} text
 */
export async function listFor(api, text) {
  const { actions, says } = await readScript(api, text);
  if (says) throw new Error("Hosts take the list alone: choose below when it stops.");
  return actions;
}

/**
 * Fields for how a plan goes: its waves, how many may fail, and until when.
 *
 * @param {{ failures: string }} words `failures`: what an empty field of failures means
 */
export function limitFields({ failures: unsaid }) {
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
  return {
    fields: [
      labelled("Waves", waves, "How many hosts have begun with each: numbers, or shares of all."),
      labelled("Pause between two waves, in seconds", pause),
      labelled(
        "Max. failures",
        failures,
        `After more, the plan is paused: a number of hosts or a percentage. Empty: ${unsaid}.`,
      ),
      labelled("Expires after, in hours", hours, "Nothing of it begins later."),
      el("label", { class: "check" }, queue, "Hosts that are off get it when they are back"),
    ],
    values: () => ({
      waves: waves.value.split(/[\s,]+/).filter(Boolean),
      pause_s: pause.valueAsNumber,
      ...(failures.value.trim() !== "" && { max_failures: failures.value.trim() }),
      expires_s: hours.valueAsNumber * 3_600,
      queue: queue.checked,
    }),
  };
}

/**
 * Shows all that a plan does, which is applied or not, and then goes to its page. One that is not applied is kept.
 *
 * @param {import("../api.js").Api} api
 * @param {Parameters<typeof askToApply>[1]} plan
 */
export async function reviewed(api, plan) {
  const from = location.hash;
  await askToApply(api, plan);
  // Who has left the page meanwhile, by a step back, stays there.
  if (location.hash === from) location.hash = planAddress(plan.id);
}

/** Who does a plan of which a form asks: labels, or a field. @param {readonly string[] | null} labels */
function hostChoice(labels) {
  if (labels === null) {
    const field = el("input", { required: true, spellcheck: "false", autocomplete: "off" });
    const hint = "Labels, tag:TAG or all, separated by commas; ! excludes.";
    return { root: labelled("Hosts", field, hint), title: "Make a plan", on: () => field.value.trim() };
  }
  const named = labels.length > 20 ? `${labels.slice(0, 20).join(", ")} …` : labels.join(", ");
  return {
    root: el("p", { class: "prose" }, named),
    title: `Make a plan for ${counted(labels.length, "host")}`,
    on: () => labels.join(","),
  };
}

/**
 * A form that makes a plan. Where it is closed while the desk makes the plan, there is one all the same: then that is said, with a link.
 *
 * @template {{ id: string | null }} Made
 * @param {string} title
 * @param {() => Promise<Made>} make
 * @param {...import("../dialog.js").Child} content
 * @returns {Promise<Made | null>} null where it was closed
 */
export async function madeIn(title, make, ...content) {
  const from = location.hash;
  let making = /** @type {Promise<Made> | null} */ (null);
  const post = () => {
    making = make();
    return making;
  };
  if (await fill(title, "Next", post, ...content)) return making;
  if (making !== null) void tellMade(making, from);
  return null;
}

/**
 * @param {Promise<{ id: string | null }>} making
 * @param {string} from the address of the page on which it was asked for
 */
async function tellMade(making, from) {
  const made = await making.catch(() => null);
  // Who has left the page finds the plan on the page Plans.
  if (!made || made.id === null || addressIn(location.hash).page !== addressIn(from).page) return;
  const link = el("a", { href: planAddress(made.id) }, `Plan ${made.id.slice(0, 8)}`);
  const words = " was made all the same: the desk had begun to. Nothing of it runs before it is applied.";
  await fill("It was too late to cancel", "Close", async () => {}, el("p", {}, link, words));
}

/**
 * Makes a plan, which is shown whole before it is applied.
 *
 * @param {import("../api.js").Api} api
 * @param {readonly string[] | null} labels of its hosts; null where the form asks for them
 * @param {{ list: string, says: Record<string, unknown> }} [script] what hosts are to do, as text, and what it says of its run; without it, the
 *   list that the tab keeps for hosts
 */
export async function makePlan(api, labels, script) {
  const { stop_on_error, ...says } = script?.says ?? /** @type {Record<string, unknown>} */ ({});
  const text = script ? el("textarea", { rows: 6, spellcheck: "false" }) : hostActionsField();
  if (script) text.value = script.list;
  const hosts = hostChoice(labels);
  const stop = stopChoice(stop_on_error);
  const limits = limitFields({ failures: "none in a wave smaller than the hosts after it" });
  const post = async () => {
    const actions = await listFor(api, text.value);
    return await api.post("plans/new", {
      ...says,
      actions,
      on: hosts.on(),
      ...limits.values(),
      stop_on_error: stop.value(),
    });
  };
  const plan = await madeIn(
    hosts.title,
    post,
    hosts.root,
    labelled("Actions for the hosts, as JSON", text),
    Object.keys(says).length > 0 && el("div", {}, "The script says of its run: ", json(says)),
    labelled("When an action fails on a host", stop.root, "Decides for that host only."),
    ...limits.fields,
  );
  if (plan) await reviewed(api, plan);
}
