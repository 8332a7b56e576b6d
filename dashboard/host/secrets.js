/**
 * Secrets: what scripts name as ${secret:NAME}. A value goes from a password field to the server, and never comes back.
 */
import { ask, fill } from "../dialog.js";
import { button, el, labelled, setText } from "../dom.js";
import { counted } from "../format.js";
import { actionButton, badge, nothing, panel, time } from "../parts.js";
import { table } from "../table.js";

/** @typedef {import("../wire").Answer<"secrets">["secrets"][number]} Secret */

/** How a script has it. @param {string} name */
const reference = (name) => `\${secret:${name}}`;

/** @param {import("../view.js").View} view */
export function open({ root, api, poll, may }) {
  const isAdmin = may("admin");
  const about = el("span", { class: "hint", role: "status" });
  const add = isAdmin && button("Set…", () => set(), { class: "primary" });
  const made = panel("Secrets in scripts", { tools: [about, add] });

  /** Sets a value; without `known`, of a name that is typed too. @param {string} [known] */
  async function set(known) {
    const name = el("input", {
      required: true,
      maxlength: 64,
      pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*",
      title: "letters, digits, . _ and -, the first a letter or digit",
      placeholder: "crm_password",
      spellcheck: "false",
      autocomplete: "off",
    });
    const value = el("input", {
      type: "password",
      required: true,
      minlength: 4,
      maxlength: 4_096,
      autocomplete: "new-password",
    });
    const hint =
      "4 to 4,096 characters. It is encrypted on the host, and no page shows it again. For several lines: svc secret set NAME < file.";
    const send = () => api.post("secrets/set", { name: known ?? name.value, value: value.value });
    const fields = [known === undefined && labelled("Name", name), labelled("Value", value, hint)];
    const title = known === undefined ? "Set a secret" : `A new value of ${known}`;
    const done = await fill(title, "Set", send, ...fields);
    value.value = "";
    if (done) await polled.now();
  }

  /** @param {Secret} secret */
  async function remove({ name }) {
    const consequence = el("p", { class: "prose" }, "Scripts that name it do not run any more.");
    if (!(await ask(`Remove ${name}?`, "Remove", consequence))) return;
    await api.post("secrets/remove", { name });
    await polled.now();
  }

  const listed = table({
    label: "Secrets, by name",
    columns: [
      {
        label: "Name",
        cell: (/** @type {Secret} */ { name, source }) =>
          el(
            "div",
            {},
            el("strong", {}, name),
            source === "systemd" && " ",
            source === "systemd" && badge("info", "systemd"),
            el("div", { class: "hint" }, el("code", {}, reference(name))),
          ),
      },
      {
        label: "Set",
        cell: ({ set, by, source }) =>
          el("div", {}, time(set), source === "store" && el("div", { class: "hint" }, `by ${by}`)),
      },
      {
        label: "Last used",
        kind: "tight",
        cell: ({ last_used, source }) =>
          el(
            "span",
            { class: last_used === null ? "faint" : "" },
            last_used ?? (source === "store" ? "never" : "–"),
          ),
      },
      {
        label: "Who may use it",
        kind: "wide",
        hidden: !isAdmin,
        cell: ({ tokens }) => ["the owner of the host", ...(tokens ?? [])].join(", "),
      },
      {
        label: "Actions",
        kind: "actions",
        hidden: !isAdmin,
        cell: (secret) =>
          secret.source === "systemd"
            ? el("span", { class: "hint" }, "its unit sets it")
            : el(
                "div",
                { class: "buttons" },
                actionButton("New value…", () => set(secret.name), made.tell, {
                  "aria-label": `New value… ${secret.name}`,
                }),
                actionButton("Remove…", () => remove(secret), made.tell, {
                  "aria-label": `Remove… ${secret.name}`,
                }),
              ),
      },
    ],
    key: ({ name }) => name,
    empty: () =>
      isAdmin
        ? nothing(
            "No secrets",
            "A script names one as ",
            el("code", {}, reference("crm_password")),
            ", and never has its value.",
          )
        : nothing(
            "No secrets for this token",
            "It may use those that its scopes name, such as ",
            el("code", {}, "secret:crm_*"),
            ".",
          ),
  });
  made.body.append(listed.root);
  root.append(made.root);

  const polled = poll({
    path: "secrets",
    // There is no event of a secret; the end of a run may have used one.
    on: ["run.ended"],
    every: 10,
    rest: 30,
    show({ secrets }) {
      made.fail(null);
      setText(about, secrets.length === 0 ? "" : counted(secrets.length, "secret"));
      listed.show(secrets);
    },
    fail: made.fail,
  });
}
