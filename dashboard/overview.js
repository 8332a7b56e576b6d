/**
 * Overview: which server this is, what it has answered, what it can do.
 */
import { button, el, setText } from "./dom.js";
import { count, duration, moment } from "./format.js";

/**
 * The body of `GET /server`.
 *
 * @typedef {object} Server
 * @property {string} url
 * @property {string} version
 * @property {string} commit
 * @property {string} platform
 * @property {string} arch
 * @property {string} started_at
 * @property {number} uptime_seconds
 * @property {{ total: number, client_errors: number, server_errors: number, failed_auth: number }} requests
 */

/** @type {import("./view.js").Page} */
export const overview = {
  name: "overview",
  title: "Overview",
  open({ root, api, every }) {
    const server = serverCard();
    const requests = requestsCard();
    const commands = commandsCard();
    root.append(el("div", { class: "cards" }, server.card, requests.card, commands.card));
    every(
      5,
      async () => /** @type {Server} */ (await api.get("server")),
      (told) => {
        server.show(told);
        requests.show(told);
      },
    );
    every(
      300,
      async () => /** @type {{ commands: string[] }} */ (await api.get("commands", { maxAge: 60_000 })),
      (told) => commands.show(told.commands),
    );
  },
};

function serverCard() {
  const address = el("code", {}, "…");
  const copied = el("span", { class: "hint", role: "status" });
  const copy = button("Copy", async () => {
    await navigator.clipboard.writeText(address.textContent);
    setText(copied, "Copied");
    setTimeout(() => setText(copied, ""), 2_000);
  });
  // Without HTTPS or loopback there is no clipboard.
  const clipboard = navigator.clipboard ? [" ", copy, " ", copied] : [];
  const version = el("dd", {}, "…");
  const platform = el("dd", {}, "…");
  const started = el("time", {}, "…");
  const card = el(
    "section",
    { class: "card", "aria-labelledby": "server" },
    el("h2", { id: "server" }, "Server"),
    el(
      "dl",
      {},
      el("dt", {}, "Address"),
      el("dd", {}, address, ...clipboard),
      el("dt", {}, "Version"),
      version,
      el("dt", {}, "Platform"),
      platform,
      el("dt", {}, "Up for"),
      el("dd", {}, started),
    ),
  );
  return {
    card,
    /** @param {Server} server */
    show(server) {
      setText(address, server.url);
      setText(version, `${server.version} (${server.commit})`);
      setText(platform, `${server.platform} ${server.arch}`);
      setText(started, duration(server.uptime_seconds));
      started.dateTime = server.started_at;
      started.title = `since ${moment(server.started_at)}`;
    },
  };
}

function requestsCard() {
  const figures = {
    total: figure("Answered"),
    client_errors: figure("Refused (4xx)"),
    server_errors: figure("Failed (5xx)"),
    failed_auth: figure("Wrong tokens"),
  };
  const card = el(
    "section",
    { class: "card", "aria-labelledby": "requests" },
    el("h2", { id: "requests" }, "Requests"),
    el("dl", { class: "figures" }, ...Object.values(figures).map(({ box }) => box)),
  );
  return {
    card,
    /** @param {Server} server */
    show({ requests }) {
      figures.total.show(requests.total);
      figures.client_errors.show(requests.client_errors);
      figures.server_errors.show(requests.server_errors, "bad");
      figures.failed_auth.show(requests.failed_auth, "warn");
    },
  };
}

/** @param {string} label */
function figure(label) {
  const value = el("dd", {}, "…");
  return {
    box: el("div", {}, el("dt", {}, label), value),
    /**
     * @param {number} found
     * @param {string} [colour] class of a value that is not zero
     */
    show(found, colour = "") {
      setText(value, count(found));
      value.className = found === 0 ? "" : colour;
    },
  };
}

function commandsCard() {
  const heading = el("h2", { id: "commands" }, "Commands");
  const filter = el("input", { id: "filter", type: "search", placeholder: "AC_…", spellcheck: "false" });
  const list = el("ul", { class: "names", tabindex: 0, "aria-labelledby": "commands" });
  const none = el("p", { class: "hint", role: "status" });
  /** @type {readonly string[]} */
  let names = [];
  const render = () => {
    const wanted = filter.value.trim().toLowerCase();
    const found = names.filter((name) => name.toLowerCase().includes(wanted));
    list.replaceChildren(...found.map((name) => el("li", {}, el("code", {}, name))));
    setText(none, names.length > 0 && found.length === 0 ? "No command has that in its name." : "");
  };
  filter.addEventListener("input", render);
  const card = el(
    "section",
    { class: "card wide", "aria-labelledby": "commands" },
    heading,
    el("label", { for: "filter" }, "Find"),
    filter,
    list,
    none,
  );
  return {
    card,
    /** @param {readonly string[]} found */
    show(found) {
      names = found;
      setText(heading, `${count(found.length)} commands`);
      render();
    },
  };
}
