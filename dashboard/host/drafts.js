/**
 * Scripts that wait for a person, each as what differs from the stored one, and what agents did in their sessions.
 */
import { ask, fill } from "../dialog.js";
import { el, labelled, setText } from "../dom.js";
import { counted } from "../format.js";
import { actionButton, nothing, panel, time } from "../parts.js";
import { table } from "../table.js";

/** @typedef {import("../wire").Answer<"scripts/drafts">["drafts"][number]} Draft */
/** @typedef {import("../wire").Answer<"mcp/sessions">["sessions"][number]} Session */

/** The name of a token for a person. @param {string | null} name */
const tokenName = (name) => name ?? "the host’s own token";

/** Its lines wrap: nobody stores what is beyond the edge. @param {readonly string[]} diff */
const diffText = (diff) => el("pre", { class: "diff json", tabindex: 0 }, ...diff.map(diffLine));

/** @param {string} line */
function diffLine(line) {
  const kind = line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : "";
  return el("span", { class: kind }, `${line}\n`);
}

/** @param {import("../view.js").View} view */
export function draftPanels({ root, api, poll, may }) {
  const isAdmin = may("admin");
  const about = el("span", { class: "hint", role: "status" });
  const made = panel("Scripts that wait for a person", { tools: [about] });

  /** @param {Draft} draft */
  async function store({ draft, name, diff, sha256, replaces }) {
    const title = replaces ? `Store ${name} in place of the script of that name?` : `Store ${name}?`;
    if (!(await ask(title, "Store", diffText(diff)))) return;
    await api.post("scripts/store", { draft, sha256 });
    await polled.now();
  }

  /** @param {Draft} draft */
  async function drop({ draft, name }) {
    if (
      !(await ask(
        `Forget the draft of ${name}?`,
        "Forget",
        el("p", { class: "prose" }, "Nothing is stored."),
      ))
    )
      return;
    await api.post("scripts/drop", { draft });
    await polled.now();
  }

  const drafts = table({
    label: "Drafts, the newest first",
    columns: [
      {
        label: "Script",
        cell: (/** @type {Draft} */ { name, replaces }) =>
          el("div", {}, el("strong", {}, name), el("div", { class: "hint" }, replaces ? "changed" : "new")),
      },
      {
        label: "Made of",
        cell: ({ source, token, made: at }) =>
          el("div", {}, source, el("div", { class: "hint" }, `by ${tokenName(token)}, `, time(at))),
      },
      { label: "What differs", kind: "wide", cell: ({ diff }) => diffText(diff) },
      {
        label: "Actions",
        kind: "actions",
        cell: (draft) =>
          el(
            "div",
            { class: "buttons" },
            isAdmin
              ? actionButton("Store…", () => store(draft), made.tell, {
                  "aria-label": `Store… ${draft.name}`,
                })
              : el("span", { class: "hint" }, "a token with admin stores it"),
            actionButton("Forget…", () => drop(draft), made.tell, { "aria-label": `Forget… ${draft.name}` }),
          ),
      },
    ],
    key: ({ draft }) => draft,
    empty: () =>
      nothing(
        "No script waits",
        "What an agent did, kept as a script, waits here until a person stores it: ",
        el("code", {}, "svc mcp keep last NAME"),
        ".",
      ),
  });
  made.body.append(drafts.root);

  const did = panel("What agents did");
  /** @param {Session} session */
  async function keep({ session }) {
    const name = el("input", { required: true, maxlength: 64, spellcheck: "false", autocomplete: "off" });
    const send = () => api.post("mcp/keep", { session, name: name.value });
    if (await fill("Keep it as a script", "Make a draft", send, labelled("Name of the script", name)))
      await polled.now();
  }
  const sessions = table({
    label: "Sessions of agents, the newest first",
    columns: [
      {
        label: "Agent",
        cell: (/** @type {Session} */ { agent, token, session }) =>
          el("div", {}, agent, el("div", { class: "hint" }, tokenName(token), " ", el("code", {}, session))),
      },
      { label: "Last act", cell: ({ last }) => time(last) },
      {
        label: "Did",
        kind: "wide",
        cell: ({ did: words, acts }) =>
          el(
            "div",
            {},
            ...words.map((one) => el("div", {}, one)),
            acts > words.length && el("div", { class: "hint" }, `and ${acts - words.length} before`),
          ),
      },
      {
        label: "Actions",
        kind: "actions",
        cell: (session) =>
          actionButton("Keep…", () => keep(session), did.tell, { "aria-label": `Keep… ${session.session}` }),
      },
    ],
    key: ({ session }) => session,
    empty: () => nothing("No agent has acted", "What agents did on the desktop in the last 7 days is here."),
  });
  did.body.append(sessions.root);
  root.append(made.root, did.root);

  const polled = poll({
    path: "scripts/drafts",
    on: [],
    every: 10,
    rest: 150,
    show({ drafts: all }) {
      made.fail(null);
      setText(about, all.length === 0 ? "" : counted(all.length, "draft"));
      drafts.show(all);
    },
    fail: made.fail,
  });
  poll({
    path: "mcp/sessions",
    on: [],
    every: 10,
    rest: 150,
    show({ sessions: all }) {
      did.fail(null);
      sessions.show(all);
    },
    fail: did.fail,
  });
}
