/**
 * What is done to the hosts that are selected, all at once.
 */
import { fill } from "../../dialog.js";
import { button, el, labelled, setText } from "../../dom.js";
import { count } from "../../format.js";
import { actionButton, copyButton } from "../../parts.js";
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
export function hostBulk({ may }, { selected, clear, acts, rows, send, screens, tell }) {
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
      may("operate") && button("Send actions…", send),
      may("screen") && button("Screens", screens),
      may("admin") && tags,
      may("admin") && actionButton("Tokens…", () => acts.rotate(withToken()), tell),
      may("admin") && button("Upgrade…", upgrade),
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

  /** Its files are on the machine of who upgrades. */
  function upgrade() {
    const command = `svc admin upgrade ./release --on '${onHosts().replaceAll("'", "'\\''")}'`;
    const text = el("textarea", { rows: 4, readonly: true, spellcheck: "false" }, command);
    const words =
      "The binaries of a release are files on the machine of who sends them. This makes the plan, which is applied on the page Plans:";
    const copy = copyButton("Copy", () => command);
    void fill(
      `Upgrade ${hostsOf(selected.size)}`,
      "Close",
      async () => {},
      words,
      labelled("Command", text),
      copy,
    );
  }

  return {
    root,
    /** @param {number} hidden how many of those selected are not listed */
    show(hidden) {
      root.hidden = selected.size === 0;
      const rest = hidden === 0 ? "" : `, ${count(hidden)} not listed`;
      setText(says, selected.size === 0 ? "" : `${hostsOf(selected.size)} selected${rest}`);
      tags.setAttribute("aria-label", `Tags of ${hostsOf(selected.size)}…`);
    },
  };
}
