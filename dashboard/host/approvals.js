/**
 * Approvals: what waits for the yes of a person with another token, and what was decided lately.
 */
import { ask } from "../dialog.js";
import { el, setText } from "../dom.js";
import { counted } from "../format.js";
import { actionButton, badge, nothing, panel, prose, time } from "../parts.js";
import { signed } from "../passkey.js";
import { table } from "../table.js";
import { draftPanels } from "./drafts.js";
import { leasesPanel } from "./leases.js";
import { passkeysPanel } from "./passkeys.js";

/** @typedef {import("../wire").Answer<"approvals">["approvals"][number]} Approval */

/** @satisfies {Record<Approval["state"], import("../parts.js").Tone>} */
const TONES = /** @type {const} */ ({
  waiting: "warn",
  allowed: "ok",
  denied: "error",
  expired: "none",
  withdrawn: "none",
});

/** The name of a token for a person. @param {string | null} name */
const tokenName = (name) => name ?? "the host’s own token";

/** @param {import("../view.js").View} view */
export function open(view) {
  const { root, api, poll } = view;
  const about = el("span", { class: "hint", role: "status" });
  const made = panel("What waits for a person", { tools: [about] });

  /**
   * @param {"allow" | "deny"} verb
   * @param {Approval} approval
   */
  async function decide(verb, { id, what, detail, digest, asked_by, client }) {
    const title = verb === "allow" ? `Allow: ${what}?` : `Deny: ${what}?`;
    const who = `Asked by ${tokenName(asked_by)}${client === null ? "" : ` from ${client}`}.`;
    const content = [
      el("p", { class: "prose" }, detail),
      el("p", { class: "hint" }, who),
      digest !== null && el("p", { class: "hint" }, "Of exactly this: ", el("code", {}, digest)),
    ];
    if (!(await ask(title, verb === "allow" ? "Allow" : "Deny", ...content))) return;
    await signed((headers) => api.post(`approvals/${verb}`, { id }, { headers }));
    await polled.now();
  }

  const listed = table({
    label: "Approvals, the newest first",
    columns: [
      {
        label: "What",
        kind: "wide",
        cell: (/** @type {Approval} */ { what, detail }) =>
          el("div", {}, el("strong", {}, what), el("div", { class: "hint" }, prose(detail))),
      },
      {
        label: "Asked by",
        cell: ({ asked_by, client }) =>
          el("div", {}, tokenName(asked_by), client !== null && el("div", { class: "hint" }, client)),
      },
      { label: "Asked", cell: ({ asked_at }) => time(asked_at) },
      {
        label: "State",
        cell: ({ state, expires_at, decided_by, decided_at }) =>
          el(
            "div",
            {},
            badge(TONES[state], state),
            state === "waiting" && el("div", { class: "hint" }, "expires ", time(expires_at)),
            decided_at !== null &&
              el("div", { class: "hint" }, `by ${tokenName(decided_by)}, `, time(decided_at)),
          ),
      },
      {
        label: "Actions",
        kind: "actions",
        cell: (approval) => {
          const { id, state, may_decide, needs } = approval;
          if (state !== "waiting") return el("span", { class: "faint" }, "–");
          if (!may_decide) return el("span", { class: "hint" }, `another token with ${needs} decides`);
          return el(
            "div",
            { class: "buttons" },
            actionButton("Allow…", () => decide("allow", approval), made.tell, {
              "aria-label": `Allow… ${id}`,
            }),
            actionButton("Deny…", () => decide("deny", approval), made.tell, { "aria-label": `Deny… ${id}` }),
          );
        },
      },
    ],
    key: ({ id }) => id,
    empty: () =>
      nothing(
        "Nothing waits",
        "What needs the yes of a person with another token waits here for ten minutes, as viewers of the screen do under ",
        el("code", { class: "flag" }, "--screen-approval"),
        ".",
      ),
  });
  made.body.append(listed.root);
  root.append(made.root, leasesPanel(view).root);
  draftPanels(view);
  root.append(passkeysPanel(view).root);

  const polled = poll({
    path: "approvals",
    on: ["approval.*"],
    every: 3,
    rest: 150,
    show({ approvals, waiting }) {
      made.fail(null);
      setText(about, waiting === 0 ? "" : `${counted(waiting, "approval")} waiting`);
      listed.show(approvals.toSorted((a, b) => b.asked_at.localeCompare(a.asked_at)));
    },
    fail: made.fail,
  });
}
