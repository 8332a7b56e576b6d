/**
 * What the page of a live screen says of it, and what it asks before it takes control.
 */
import { ask } from "../dialog.js";
import { el } from "../dom.js";

/** @typedef {import("../wire").Answer<"screen/state">} ScreenState */
/** @typedef {ScreenState["viewers"][number]} Viewer */

/**
 * Asks what becomes of who uses pointer and keyboard; null to leave it.
 *
 * @param {ScreenState["input"] | undefined} user
 * @param {boolean} isAgent whether that is an agent, by its lease
 * @returns {Promise<"wait" | "cancel" | null>}
 */
export async function howToTake(user, isAgent) {
  if (!user) return "wait";
  if (isAgent) {
    const words = `${user.who} uses them. Its lease ends at once when you take control.`;
    return (await ask("An agent uses pointer and keyboard", "Take control", el("p", {}, words)))
      ? "wait"
      : null;
  }
  const wait = el("input", { type: "radio", name: "run", value: "wait", checked: true });
  const cancel = el("input", { type: "radio", name: "run", value: "cancel" });
  const ends = user.kind === "viewer" ? "Take it away from the viewer" : "Cancel the run";
  const chosen = await ask(
    "Pointer and keyboard are in use",
    "Take control",
    el("p", {}, `${user.who} uses them.`),
    el("label", { class: "check" }, wait, "Wait until they are free"),
    user.kind !== "program" && el("label", { class: "check" }, cancel, ends),
  );
  if (!chosen) return null;
  return cancel.checked ? "cancel" : "wait";
}

/**
 * What a person should know about the screen now.
 *
 * @param {Viewer | undefined} own this page among the viewers
 * @param {ScreenState | null} state
 * @param {import("./live-watch.js").Watch} watch
 * @returns {Array<[import("../parts.js").Tone, (string | Node)[]]>}
 */
export function notesOf(own, state, watch) {
  /** @type {Array<[import("../parts.js").Tone, (string | Node)[]]>} */
  const found = [];
  if (own?.approval_id) {
    const what = own.state === "waiting" ? "look" : "control";
    const allow = el("code", {}, `svc approvals allow ${own.approval_id}`);
    found.push([
      "warn",
      [
        `A person with another token has to allow this viewer to ${what}: `,
        allow,
        ", or the page Approvals.",
      ],
    ]);
  }
  if (watch.state === "cut")
    found.push(["warn", [`The stream was cut. ${sentence(watch.reason)} Connecting again…`]]);
  if (watch.state === "opening" && watch.reason)
    found.push(["warn", [`${sentence(watch.reason)} Trying again…`]]);
  if (watch.state === "ended") found.push(["error", [sentence(watch.reason)]]);
  if (state?.black_box === "on")
    found.push(["info", ["What this screen shows is kept by the black box of its host."]]);
  const user = state?.input;
  if (user && !(user.kind === "viewer" && user.id === watch.viewer)) {
    const waiting = own?.wants_control ? " This viewer waits for them." : "";
    found.push(["info", [`${user.who} uses pointer and keyboard.${waiting}`]]);
  }
  return found;
}

/** What an error says, which has no full stop, before another sentence. @param {string} text */
const sentence = (text) => (text === "" || /[.!?…]$/.test(text) ? text : `${text}.`);
