/**
 * Upgrading hosts that are selected to a release that this desk keeps. A page cannot send the files of another one: they are on the
 * machine of who has them, and `svc admin upgrade` there hands them to the desk.
 */
import { TAKES_LONG } from "../api.js";
import { fill } from "../dialog.js";
import { el, labelled } from "../dom.js";
import { errorOnPage } from "../page-words.js";
import { copyButton } from "../parts.js";
import { limitFields, madeIn, reviewed } from "./plan-form.js";
import { leftOutOf } from "./plan-review.js";

/**
 * @param {import("../api.js").Api} api
 * @param {readonly string[]} labels
 * @param {string} what the hosts in words
 */
export async function makeUpgrade(api, labels, what) {
  const title = `Upgrade ${what}`;
  const on = labels.join(",");
  const from = location.hash;
  const { releases } = await api.ask("admin/releases");
  // The question is for the page where it was asked.
  if (location.hash !== from) return;
  if (releases.length === 0) {
    await fill(
      title,
      "Close",
      async () => {},
      "This desk keeps no release yet. The files of one are on the machine of who has them, and no page can send them. This hands them to the desk, and makes the plan, which is applied on the page Plans:",
      ...commandParts(on),
    );
    return;
  }
  const release = el(
    "select",
    {},
    ...releases.map(({ version, targets }) =>
      el("option", { value: version }, `${version} (${targets.join(", ")})`),
    ),
  );
  const skip = el("input", { type: "checkbox" });
  const limits = limitFields({ failures: "the first pauses it" });
  const post = () => {
    const wanted = { version: release.value, on, ...limits.values(), skip: skip.checked };
    return api.post("admin/upgrade", wanted, TAKES_LONG).catch((error) => {
      throw errorOnPage(error);
    });
  };
  const made = await madeIn(
    title,
    post,
    labelled("Release", release, "Those whose files this desk keeps of an earlier upgrade."),
    ...limits.fields,
    el("label", { class: "check" }, skip, "Leave out hosts that cannot be upgraded"),
    el(
      "details",
      {},
      el("summary", {}, "Another release"),
      el("p", {}, "Its files are on the machine of who has them. This hands them to the desk:"),
      ...commandParts(on),
    ),
  );
  if (!made) return;
  const { id, digest, left_out } = made;
  if (id !== null && digest !== null) return reviewed(api, { id, digest, left_out });
  await fill(title, "Close", async () => {}, "Nothing to do: no plan was made.", ...leftOutOf(left_out));
}

/** The command that upgrades to files of who types it. @param {string} on */
function commandParts(on) {
  const command = `svc admin upgrade ./release --on '${on.replaceAll("'", "'\\''")}'`;
  const text = el("textarea", { rows: 4, readonly: true, spellcheck: "false" }, command);
  return [labelled("Command", text), copyButton("Copy", () => command)];
}
