/**
 * Actions: a list of actions to write, check and run, and what each command takes.
 */
import { button, el, labelled, setText } from "./dom.js";
import { counted, milliseconds } from "./format.js";
import { icon } from "./icons.js";
import { actionButton, badge, json, loading, nothing, notice, panel, prose, table } from "./parts.js";

/** The draft goes with the tab, like the token. */
const DRAFT_KEY = "svc-draft";

const EXAMPLE = `[
  ["AC_screen_size"],
  ["AC_sleep", {"seconds": 1}]
]
`;

/**
 * @typedef {object} JsonSchema
 * @property {string} [type]
 * @property {string} [description]
 * @property {unknown} [default]
 * @property {unknown[]} [enum]
 * @property {JsonSchema} [items]
 * @property {JsonSchema[]} [anyOf]
 * @property {Record<string, JsonSchema>} [properties]
 * @property {string[]} [required]
 * @property {number} [minimum]
 * @property {number} [maximum]
 * @property {boolean} [secret]
 * @property {boolean} [actions]
 */
/**
 * @typedef {object} Command
 * @property {string} command
 * @property {string} summary
 * @property {boolean} changes
 * @property {Array<"input" | "shell">} needs
 * @property {string | null} within
 * @property {boolean} allowed
 * @property {Record<string, unknown> | null} example
 * @property {JsonSchema} input
 */
/** @typedef {{ command: string, ok: boolean, result?: unknown, error?: string, detail?: unknown, duration_ms: number }} Outcome */
/** @typedef {{ run_id: string, ok: boolean, error_text?: string | null, outcomes: Outcome[] }} Report */

/** @param {import("./view.js").View} view */
export function open(view) {
  const editor = editorPanel(view);
  const reference = referencePanel(view, editor.insert);
  view.root.append(
    el("div", { class: "beside" }, el("div", { class: "stack" }, editor.root, editor.outcomes), reference),
  );
}

/** @param {import("./view.js").View} view */
function editorPanel({ api, signal }) {
  const text = el("textarea", { spellcheck: "false", rows: 14, "aria-label": "Actions, as JSON" });
  text.value = sessionStorage.getItem(DRAFT_KEY) ?? EXAMPLE;
  text.addEventListener("input", () => {
    sessionStorage.setItem(DRAFT_KEY, text.value);
    verdict.replaceChildren();
  });
  const stop = el("input", { type: "checkbox" });
  const verdict = el("div", { role: "status" });
  const made = panel("Script", {
    tools: [
      actionButton([icon("ok"), "Check"], check, told),
      actionButton([icon("play"), "Run"], run, told, { class: "primary" }),
    ],
  });
  made.body.append(
    text,
    el("label", { class: "check" }, stop, "Stop at the first action that fails"),
    verdict,
  );

  const outcome = el("span", { class: "hint", role: "status" });
  const outcomes = panel("Outcomes", { tools: [outcome] });
  const listed = table({
    label: "Outcomes, in the order of the actions",
    columns: [
      { label: "#", kind: "number", cell: (/** @type {Outcome & { nth: number }} */ { nth }) => String(nth) },
      { label: "Command", kind: "tight", cell: ({ command }) => el("code", {}, command) },
      { label: "State", kind: "tight", cell: ({ ok }) => badge(ok ? "ok" : "error", ok ? "ok" : "failed") },
      {
        label: "Result",
        kind: "wide",
        cell: ({ ok, result, error, detail }) =>
          ok ? json(result) : el("div", {}, prose(error), detail !== undefined && json(detail)),
      },
      { label: "Took", kind: "number", cell: ({ duration_ms }) => milliseconds(duration_ms) },
    ],
    key: ({ nth }) => nth,
    empty: () =>
      nothing("Nothing has run yet", "What becomes of each action is told here, with what it returned."),
  });
  outcomes.body.append(listed.root);
  listed.show([]);

  /** @param {Error | null} error */
  function told(error) {
    if (!error) return verdict.replaceChildren();
    const problems =
      "body" in error ? problemsOf(/** @type {{ body: Record<string, unknown> }} */ (error).body) : [];
    verdict.replaceChildren(
      notice(
        "error",
        el("div", {}, error.message),
        problems.length > 0 &&
          el("ul", { class: "advice" }, ...problems.map((problem) => el("li", { class: "prose" }, problem))),
      ),
    );
  }

  async function check() {
    const actions = parse(text.value);
    const found = /** @type {{ count: number, commands: string[] }} */ (
      await api.post("execute/check", { actions })
    );
    verdict.replaceChildren(
      notice(
        "ok",
        `${counted(found.count, "action")}, nothing wrong with ${found.count === 1 ? "it" : "them"}. Nothing has run.`,
      ),
    );
  }

  async function run() {
    const actions = parse(text.value);
    await api.post("execute/check", { actions });
    setText(outcome, "running…");
    try {
      const report = /** @type {Report} */ (
        await api.post("execute", { actions, stop_on_error: stop.checked })
      );
      if (signal.aborted) return;
      listed.show([]);
      listed.show(report.outcomes.map((one, at) => ({ ...one, nth: at + 1 })));
      const left = actions.length - report.outcomes.length;
      outcome.replaceChildren(
        badge(report.ok ? "ok" : "error", report.ok ? "all ok" : "not ok"),
        left > 0 ? ` ${counted(left, "action")} did not run` : "",
        el("span", { class: "faint" }, ` run ${report.run_id.slice(0, 8)}`),
      );
    } catch (error) {
      setText(outcome, "");
      throw error;
    }
  }

  return {
    root: made.root,
    outcomes: outcomes.root,
    /** Puts an action at the end of the list. @param {readonly unknown[]} action */
    insert(action) {
      let actions;
      try {
        actions = parse(text.value);
      } catch (error) {
        told(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      text.value = `[\n${[...actions, action].map((one) => `  ${JSON.stringify(one)}`).join(",\n")}\n]\n`;
      text.dispatchEvent(new Event("input"));
      verdict.replaceChildren(notice("info", `${String(action[0])} is at the end of the script.`));
    },
  };
}

/**
 * The list in a script; `{"auto_control": […]}` around it is taken off.
 *
 * @param {string} text
 * @returns {unknown[]}
 */
function parse(text) {
  let script;
  try {
    script = JSON.parse(text.trim() || "[]");
  } catch (error) {
    throw new Error(`Not JSON: ${error instanceof Error ? error.message : error}`);
  }
  const list = script?.auto_control ?? script;
  if (!Array.isArray(list)) throw new Error('A script is a list of actions: [["NAME", {…}], …]');
  return list;
}

/**
 * What is wrong, a line each, as far as the server says so.
 *
 * @param {Record<string, unknown>} body
 */
function problemsOf({ problems }) {
  if (!Array.isArray(problems)) return [];
  return problems.map((problem) =>
    typeof problem === "string" ? problem : `${problem.action ?? ""}: ${problem.message ?? ""}`,
  );
}

/**
 * @param {import("./view.js").View} view
 * @param {(action: readonly unknown[]) => void} insert
 */
function referencePanel({ poll }, insert) {
  const search = el("input", { type: "search", placeholder: "name or what it does", spellcheck: "false" });
  const about = el("span", { class: "hint", role: "status" });
  const made = panel("Commands", { tools: [about] });
  const list = el("ul", { class: "commands" }, el("li", {}, loading()));
  made.body.append(
    labelled("Find", search),
    el("div", { class: "tall long", tabindex: 0, role: "group", "aria-label": "Commands" }, list),
  );
  /** @type {Array<{ text: string, item: HTMLElement }>} */
  let entries = [];

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { text, item } of entries) {
      item.hidden = !words.every((word) => text.includes(word));
      if (!item.hidden) shown += 1;
    }
    setText(
      about,
      shown === entries.length
        ? counted(shown, "command")
        : `${shown} of ${counted(entries.length, "command")}`,
    );
  };
  search.addEventListener("input", filter);

  poll(
    300,
    "commands/reference",
    (/** @type {{ commands: Command[] }} */ { commands }) => {
      made.fail(null);
      entries = commands.map((command) => ({
        text: `${command.command} ${command.summary}`.toLowerCase(),
        item: commandItem(command, insert),
      }));
      list.replaceChildren(...entries.map(({ item }) => item));
      filter();
    },
    (error) => made.fail(error),
  );
  return made.root;
}

/**
 * @param {Command} command
 * @param {(action: readonly unknown[]) => void} insert
 */
function commandItem(command, insert) {
  const body = el("div", { class: "command" });
  const details = el(
    "details",
    {},
    el("summary", {}, el("code", {}, command.command), el("span", { class: "hint" }, command.summary)),
    body,
  );
  // Built when somebody looks: there are many.
  details.addEventListener("toggle", () => body.replaceChildren(...commandDetails(command, insert)), {
    once: true,
  });
  return el("li", {}, details);
}

/**
 * @param {Command} command
 * @param {(action: readonly unknown[]) => void} insert
 */
function commandDetails({ command, needs, within, allowed, changes, example, input }, insert) {
  const action = exampleOf(command, input, example);
  const fields = Object.entries(input.properties ?? {});
  return [
    el(
      "div",
      { class: "buttons" },
      changes ? badge("warn", "changes something") : badge("none", "only looks"),
      needs.includes("input") && badge("info", "takes its turn at pointer and keyboard"),
      within && badge("info", `only inside ${within}`),
      !allowed && badge("error", "not allowed on this server"),
    ),
    fields.length > 0 &&
      el(
        "dl",
        { class: "arguments" },
        ...fields.flatMap(([name, schema]) => [
          el(
            "dt",
            {},
            el("code", {}, name),
            " ",
            el("span", { class: "faint" }, typeOf(schema)),
            input.required?.includes(name) ? badge("none", "required") : "",
          ),
          el(
            "dd",
            {},
            schema.description ?? "",
            schema.default !== undefined &&
              el("span", { class: "faint" }, " Default: ", el("code", {}, JSON.stringify(schema.default))),
          ),
        ]),
      ),
    fields.length === 0 && el("p", { class: "hint" }, "Takes no arguments."),
    el("pre", { class: "json", tabindex: 0 }, JSON.stringify(action)),
    el(
      "div",
      {},
      button([icon("add"), "Insert"], () => insert(action), {
        "aria-label": `Insert ${command} into the script`,
      }),
    ),
  ].filter((part) => part !== false);
}

/**
 * An action to start from: the given example, else the arguments that have to be there.
 *
 * @param {string} command
 * @param {JsonSchema} input
 * @param {Record<string, unknown> | null} example
 */
function exampleOf(command, { properties = {}, required = [] }, example) {
  if (example) return [command, example];
  const args = required.map((name) => [name, sampleOf(properties[name] ?? {})]);
  return args.length > 0 ? [command, Object.fromEntries(args)] : [command];
}

/** @param {JsonSchema} schema */
function sampleOf({ type, enum: choices, minimum = 1, anyOf }) {
  if (choices) return choices[0];
  if (anyOf) return null;
  if (type === "string") return "…";
  if (type === "boolean") return true;
  if (type === "array") return [];
  return type === "object" ? {} : Math.max(minimum, 1);
}

/**
 * @param {JsonSchema} schema
 * @returns {string}
 */
function typeOf({ type, enum: choices, items, actions, secret, anyOf, minimum, maximum }) {
  const also = secret ? ", secret" : "";
  if (actions) return "list of actions";
  if (choices) return choices.map((choice) => JSON.stringify(choice)).join(" | ");
  if (anyOf) return anyOf.map(typeOf).join(" or ") + also;
  if (type === "array") return `list of ${items ? typeOf(items) : "anything"}`;
  const range =
    minimum !== undefined && maximum !== undefined && Math.abs(maximum) < 1e9
      ? ` ${minimum} to ${maximum}`
      : "";
  return `${type ?? "anything"}${range}${also}`;
}
