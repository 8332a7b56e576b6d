/**
 * Join strings: with one, a host joins this desk by itself. A string is shown once, when it is made.
 */
import { ApiError } from "../api-error.js";
import { ask, fill } from "../dialog.js";
import { button, el, labelled } from "../dom.js";
import { moment } from "../format.js";
import { icon } from "../icons.js";
import { actionButton, badge, copyButton, nothing, notice, panel } from "../parts.js";
import { table } from "../table.js";

/** Seconds between looks at the list. */
const EVERY_S = 15;

/** @typedef {import("../wire").Answer<"join-tokens">["join_tokens"][number]} JoinString */

/** How long a string can work, and its words. */
const LIVES = /** @type {const} */ ([
  [3_600, "an hour"],
  [28_800, "eight hours"],
  [86_400, "a day"],
  [604_800, "a week"],
]);

/** @param {import("../view.js").View} view */
export function joinPanel({ api, signal, poll }) {
  const made = panel("Joining", {
    tools: [actionButton([icon("add"), "Make a join string…"], add, (error) => made.tell(error))],
  });
  const shown = el("div", { class: "stack", hidden: true });
  const listed = table({
    label: "Join strings",
    columns: [
      { label: "Id", cell: (/** @type {JoinString} */ { id }) => el("code", {}, id) },
      { label: "State", cell: ({ state }) => stateOf(state) },
      { label: "Used", kind: "number", cell: ({ used, uses }) => `${used} of ${uses}` },
      { label: "Ends", cell: ({ expires }) => moment(expires) },
      { label: "Tags", cell: ({ tags }) => tags.join(", ") || "–" },
      {
        label: "Desk",
        kind: "wide",
        cell: ({ address, region }) => [
          el("code", {}, address),
          region !== null && el("div", { class: "hint" }, `region ${region}`),
        ],
      },
      {
        label: "Actions",
        kind: "actions",
        cell: ({ id }) =>
          actionButton([icon("remove"), "Remove"], () => remove(id), made.tell, {
            "aria-label": `Remove the join string ${id}`,
          }),
      },
    ],
    key: ({ id }) => id,
    empty: () => nothing("No join strings", "Make one, and run svc join with it on the host."),
  });
  made.body.append(shown, listed.root);

  const list = poll({
    path: "join-tokens",
    on: ["join.*"],
    every: EVERY_S,
    show({ join_tokens }) {
      made.fail(null);
      listed.show(join_tokens);
    },
    fail: made.fail,
  });

  async function add() {
    const { regions, why } = await regionsOf(api);
    // The dialog would open over another page.
    if (signal.aborted) return;
    const tags = el("input", { placeholder: "lab, floor-2", spellcheck: "false" });
    const uses = el("input", { type: "number", min: 1, max: 100_000, value: "1", required: true });
    const prefix = el("input", { maxlength: 64, placeholder: "lab-", spellcheck: "false" });
    const life = el("select", {}, ...LIVES.map(([s, words]) => el("option", { value: `${s}` }, words)));
    const advertise = el("input", { placeholder: "desk.example:9939", spellcheck: "false" });
    const region = el(
      "select",
      {},
      el("option", { value: "" }, "the first server"),
      ...regions.map(({ region: name }) => el("option", { value: name }, name)),
    );
    const post = async () => {
      const answer = await api.post("join-tokens/add", {
        tags: tags.value.split(/[\s,]+/).filter(Boolean),
        uses: Number(uses.value),
        expires_s: Number(life.value),
        label_prefix: prefix.value,
        ...(advertise.value && { advertise: advertise.value.trim() }),
        ...(region.value && { region: region.value }),
      });
      show(answer);
    };
    await fill(
      "Make a join string",
      "Make",
      post,
      labelled("Hosts", uses, "How many can join with it."),
      labelled("Works for", life),
      labelled("Tags", tags, "Separated by commas or spaces."),
      labelled("Prefix", prefix, "Stands before the name of each host in its label."),
      labelled("Address of this desk", advertise, "HOST:PORT, where it listens on several addresses."),
      regions.length > 0 && labelled("Region", region, "The NATS server that the hosts connect to."),
      why !== "" && notice("warn", `The regions of NATS are not known: ${why}`),
    );
    await list.now();
  }

  /** @param {{ join_string: string, expires: string, key_until: string | null }} answer */
  function show({ join_string, expires, key_until }) {
    const text = el("textarea", { rows: 4, readonly: true, spellcheck: "false" }, join_string);
    const done = () => {
      shown.hidden = true;
      shown.replaceChildren();
    };
    shown.replaceChildren(
      labelled(
        "Join string",
        text,
        `Run svc join on the host and give it this string, until ${moment(key_until ?? expires)}${key_until === null ? "" : ", when this desk gets another key"}. It is not shown again.`,
      ),
      el(
        "div",
        { class: "buttons" },
        copyButton("Copy", () => join_string),
        button("Done", done),
      ),
    );
    shown.hidden = false;
  }

  /** @param {string} id */
  async function remove(id) {
    if (!(await ask(`Remove the join string ${id}?`, "Remove", "No further host joins with it."))) return;
    await api.post("join-tokens/remove", { id });
    await list.now();
  }
  return made.root;
}

/**
 * The regions of NATS, or why the server does not say.
 *
 * @param {import("../api.js").Api} api
 */
async function regionsOf(api) {
  try {
    const { body } = await api.get("nats/state", { maxAge: 0 });
    return { regions: body.desk?.regions ?? [], why: "" };
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== "failed") throw error;
    return { regions: [], why: error.message };
  }
}

/** @param {JoinString["state"]} state */
function stateOf(state) {
  if (state === "open") return badge("ok", "open");
  if (state === "other_key") return badge("warn", "other key");
  return badge("none", state === "expired" ? "expired" : "used up");
}
