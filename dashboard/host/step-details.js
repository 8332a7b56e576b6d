/**
 * The step of a script that is chosen: its arguments as they are written, and what the reference says of its action.
 */
import { el, setText } from "../dom.js";
import { counted } from "../format.js";
import { json, nothing, panel } from "../parts.js";
import { commandDetails } from "./reference.js";
import { argumentsOf } from "./script-steps.js";

/** @typedef {import("./script-steps.js").Step} Step */
/** @typedef {import("./reference.js").Command} Command */

/** The panel of the chosen step. */
export function stepDetails() {
  const about = el("span", { class: "hint" });
  const made = panel("Step", { tools: [about], class: "step-panel" });
  /** What is shown: it stays as it is, unfolded and scrolled, until that changes. @type {unknown[]} */
  let shown = [];

  return {
    root: made.root,
    /**
     * @param {Step | null} step
     * @param {Command | undefined} command what the reference says of its action; undefined for an unknown one
     */
    show(step, command) {
      const next = [step?.number, step?.command, step?.given, command];
      if (made.body.childElementCount > 0 && next.every((one, at) => one === shown[at])) return;
      shown = next;
      setText(about, step ? `${step.number} ${step.command}` : "");
      made.body.replaceChildren(
        ...(step
          ? partsOf(step, command)
          : [nothing("No step is chosen", "Choose one in the list, or put the caret into it.")]),
      );
    },
  };
}

/**
 * @param {Step} step
 * @param {Command | undefined} command
 */
function partsOf(step, command) {
  const parameters = command?.parameters.map(({ name }) => name) ?? [];
  const given = argumentsOf(step, parameters);
  return [
    el("h3", {}, "Arguments"),
    given.length === 0
      ? el("p", { class: "hint" }, "None are given.")
      : el(
          "dl",
          { class: "facts" },
          ...given.flatMap(({ name, value, steps }) => [
            el("dt", {}, el("code", {}, name)),
            el("dd", {}, steps > 0 ? counted(steps, "step") : json(value)),
          ]),
        ),
    el("h3", {}, "From the reference"),
    ...(command
      ? [el("p", {}, command.summary), el("div", { class: "command" }, ...commandDetails(command))]
      : [el("p", { class: "hint" }, "The reference does not have this action.")]),
  ];
}
