/**
 * What people have changed lately, by the audit log: neither what programs do by themselves, nor what was only looked at.
 */
import { personIn } from "../credentials.js";
import { el } from "../dom.js";
import { afterRows } from "../host/audit.js";
import { panel, time } from "../parts.js";
import { table } from "../table.js";

/** @typedef {import("../wire").Answer<"audit/list">["rows"][number]} Row */

/** Rows that are kept, and changes of them that are shown. */
const KEPT_ROWS = 200;
const SHOWN = 6;

/** What a person changed: who, what, and whether it was done. @typedef {{ id: number, at: string, who: string, what: string, isDone: boolean }} Change */

/** A request that changes something, once it was answered: `POST /jobs/remove -> ok:200 jobs.remove … token=anna`. */
const ANSWERED = /^(?:POST|PUT|PATCH|DELETE) (\S+) -> (ok|failed|error)(?::\d+)?( .+)$/s;

/** Who asked, at the end of a row. What stands before it may be of whoever asked, and look the same. */
const ASKED_BY = /(?: token=(\S+))?( agent=\S+ via=mcp)?(?: via=\S+)?(?: trace=\S+)?$/;

/** Paths that hosts and desks ask with keys of their own, and who signs in: no token is behind them. */
const UNNAMED = /^\/(?:join|leave|standby|oidc|sign-in)\b/;

/** Operations that show something: they are on record, as what they show may be secret. */
const LOOKS =
  /^[\w.]*\.(?:show|list|export|find\w*|verify|status|credentials|screenshot|windows|read|state)\b/;

/**
 * The change that a row is about; undefined where it is about none, or none of a person.
 *
 * @param {Row} row
 * @returns {Change | undefined}
 */
export function changeIn({ id, ts, event_type, detail }) {
  const text = detail ?? "";
  if (event_type === "cli") {
    const isDone = !/ -> (?:failed:\d+|error)$/.test(text);
    return LOOKS.test(text) ? undefined : { id, at: ts, who: "the owner", what: text, isDone };
  }
  const [, path = "", outcome, rest = ""] = (event_type === "rest_api" && ANSWERED.exec(text)) || [];
  const [asked = "", token = null, agent] = ASKED_BY.exec(rest) ?? [];
  const what = rest.slice(0, rest.length - asked.length).trim();
  // An agent is no person.
  if (what === "" || LOOKS.test(what) || UNNAMED.test(path) || agent !== undefined) return undefined;
  const who = personIn(token) ?? token ?? "the owner";
  return { id, at: ts, who, what, isDone: outcome === "ok" };
}

/**
 * @param {import("../view.js").View} view
 * @param {import("../host/overview-line.js").StateLine} line
 */
export function changesPanel({ poll }, line) {
  const made = panel("Changes by people", {
    tools: [el("a", { class: "more", href: "#audit", "aria-label": "Open audit log" }, "Open")],
  });
  const listed = table({
    label: "Changes by people, the newest first",
    compact: true,
    columns: [
      {
        label: "Who and what",
        kind: "wide",
        cell: (/** @type {Change} */ { who, at, what, isDone }) =>
          el(
            "div",
            {},
            el("div", {}, el("strong", {}, who), " ", el("span", { class: "hint" }, time(at))),
            !isDone && el("span", { class: "badge none" }, "not done"),
            el("div", { class: "prose" }, what),
          ),
      },
    ],
    key: ({ id }) => id,
    empty: () => el("span", {}),
  });
  listed.root.classList.add("glance");
  made.root.hidden = true;
  made.body.append(listed.root);
  poll({
    path: `audit/list?limit=${KEPT_ROWS}`,
    on: ["audit.appended", "audit.removed"],
    every: 30,
    apply: (answer, happened) => afterRows(answer, happened, KEPT_ROWS),
    show({ rows }) {
      line.fail("audit", null);
      const changes = rows.flatMap((row) => changeIn(row) ?? []).slice(0, SHOWN);
      made.root.hidden = changes.length === 0;
      listed.show(changes);
    },
    fail: (error) => line.fail("audit", error),
  });
  return made.root;
}
