/**
 * The reference of the commands of scripts: what each does and takes.
 */
import { addressIn } from "../address.js";
import { button, el, labelled, setText } from "../dom.js";
import { counted } from "../format.js";
import { icon } from "../icons.js";
import { badge, loading, panel } from "../parts.js";

/** @typedef {import("../wire").Answer<"commands/reference">["commands"][number]} Command */

/**
 * All commands, with a search.
 *
 * @param {import("../view.js").View} view
 * @param {(action: readonly unknown[]) => void} insert is called with an example action
 * @param {(commands: readonly Command[]) => void} known is called with all of them
 */
export function referencePanel({ poll }, insert, known) {
  const search = el("input", { type: "search", placeholder: "name or summary", spellcheck: "false" });
  // The palette names one.
  search.value = addressIn(location.hash).query.get("command") ?? "";
  const about = el("span", { class: "hint", role: "status" });
  const made = panel("Commands", { tools: [about] });
  const list = el("ul", { class: "commands" }, el("li", {}, loading()));
  made.body.append(
    labelled("Find", search),
    el("div", { class: "tall long", tabindex: 0, role: "group", "aria-label": "Commands" }, list),
  );
  /** @type {Array<{ text: string, allowed: boolean, item: HTMLElement }>} */
  let entries = [];
  let shown = "";

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const { text, item } of entries) {
      item.hidden = !words.every((word) => text.includes(word));
      if (!item.hidden) found += 1;
    }
    const allowed = entries.filter((entry) => entry.allowed).length;
    const more = entries.length - allowed;
    const all = `${counted(allowed, "command")}${more > 0 ? `, ${more} more not allowed here` : ""}`;
    setText(about, found === entries.length ? all : `${found} of ${entries.length} found`);
  };
  search.addEventListener("input", filter);

  poll({
    path: "commands/reference",
    on: [],
    every: 300,
    show({ commands }) {
      made.fail(null);
      // Unfolded entries stay unfolded.
      const next = JSON.stringify(commands);
      if (next === shown) return;
      shown = next;
      known(commands);
      entries = commands.map((command) => ({
        text: `${command.command} ${command.summary}`.toLowerCase(),
        allowed: command.allowed,
        item: commandItem(command, insert),
      }));
      list.replaceChildren(...entries.map(({ item }) => item));
      filter();
    },
    fail: made.fail,
  });
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
  // Built when unfolded: there are many.
  details.addEventListener("toggle", () => body.replaceChildren(...commandDetails(command, insert)), {
    once: true,
  });
  return el("li", {}, details);
}

/**
 * What the reference says of a command, below its name and its summary.
 *
 * @param {Command} command
 * @param {(action: readonly unknown[]) => void} [insert] leaves out the button without it
 */
export function commandDetails({ command, needs, within, allowed, changes, example, parameters }, insert) {
  return [
    el(
      "div",
      { class: "buttons" },
      changes ? badge("warn", "makes changes") : badge("none", "read-only"),
      needs.includes("input") && badge("info", "uses pointer and keyboard, one run at a time"),
      within && badge("info", `only inside ${within}`),
      !allowed && badge("error", "not allowed by this server"),
    ),
    parameters.length > 0 &&
      el(
        "dl",
        { class: "arguments" },
        ...parameters.flatMap(({ name, type, required, default: fallback, secret, description }) => [
          el(
            "dt",
            {},
            el("code", {}, name),
            " ",
            el("span", { class: "faint" }, secret ? `${type}, secret` : type),
            required ? badge("none", "required") : "",
          ),
          el(
            "dd",
            {},
            description,
            fallback !== null &&
              el("span", { class: "faint" }, " Default: ", el("code", {}, JSON.stringify(fallback))),
          ),
        ]),
      ),
    parameters.length === 0 && el("p", { class: "hint" }, "Takes no arguments."),
    el("pre", { class: "json", tabindex: 0 }, JSON.stringify(example)),
    insert !== undefined &&
      el(
        "div",
        {},
        button([icon("add"), "Insert"], () => insert(example), {
          "aria-label": `Insert ${command} into the script`,
        }),
      ),
  ].filter((part) => part !== false);
}
