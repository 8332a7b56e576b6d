/**
 * What is done to the hosts that are selected, all at once.
 */
import { button, el, setText } from "../../dom.js";
import { count } from "../../format.js";
import { actionButton, asError, copyButton } from "../../parts.js";
import { makePlan } from "../plan-form.js";
import { makeUpgrade } from "../upgrade-form.js";
import { hostsOf } from "./host-words.js";

/**
 * @param {import("../../view.js").View} view
 * @param {{
 *   selected: ReadonlySet<string>,
 *   clear: () => void,
 *   acts: import("./host-acts.js").HostActs,
 *   rows: import("./host-rows.js").HostRows,
 *   send: () => void,
 *   screens: () => void,
 *   tell: (trouble: import("../../parts.js").Trouble | null) => void,
 * }} of `send` goes to the list of actions that is sent to them, `screens` shows their screens
 */
export function hostBulk({ api, may }, { selected, clear, acts, rows, send, screens, tell }) {
  const labels = () => [...selected];
  const says = el("strong", { role: "status" });
  const onHosts = () => labels().join(",");
  const tags = actionButton("Tags…", () => acts.tag(labels()), tell);
  const root = el(
    "div",
    { class: "hosts-bulk", role: "group", "aria-label": "Selected hosts", hidden: true },
    says,
    el(
      "div",
      { class: "buttons small" },
      may("operate") &&
        actionButton("Poll", () => rows.ask(labels()), tell, { "aria-label": "Poll the selected hosts" }),
      may("operate") && actionButton("Plan…", () => makePlan(api, labels()), tell),
      may("operate") && button("Send actions…", send),
      may("screen") && button("Screens", screens),
      may("admin") && tags,
      may("admin") && actionButton("Tokens…", () => acts.rotate(withToken()), tell),
      may("admin") &&
        actionButton("Upgrade…", () => makeUpgrade(api, labels(), hostsOf(selected.size)), tell),
      may("admin") &&
        actionButton("Remove…", () => removeAll(), tell, { "aria-label": "Remove the selected hosts" }),
      copyButton("Copy as --on", onHosts),
      button("Clear", clear, { "aria-label": "Clear the selection" }),
    ),
  );

  async function removeAll() {
    if (await acts.remove(labels())) clear();
  }

  /** Neither a link nor NATS needs a token. */
  function withToken() {
    const some = labels().filter((label) => {
      const { trust } = rows.of(label) ?? {};
      return trust !== "identity" && trust !== "server";
    });
    if (some.length === 0) throw new Error("None of these hosts has a token here: links and NATS need none.");
    return some;
  }

  return {
    root,
    /** Makes a plan for the selected hosts, or for this one where none is. @param {string} label */
    async plan(label) {
      tell(null);
      await makePlan(api, selected.size > 0 ? labels() : [label]).catch((error) => tell(asError(error)));
    },
    /** @param {number} hidden how many of those selected are not listed */
    show(hidden) {
      root.hidden = selected.size === 0;
      const rest = hidden === 0 ? "" : `, ${count(hidden)} not listed`;
      setText(says, selected.size === 0 ? "" : `${hostsOf(selected.size)} selected${rest}`);
      tags.setAttribute("aria-label", `Tags of ${hostsOf(selected.size)}…`);
    },
  };
}
