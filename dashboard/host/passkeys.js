/**
 * The passkeys of whoever is signed in, and of all for who may do anything: making one, and removing one's own.
 */
import { ask, fill } from "../dialog.js";
import { button, el, labelled } from "../dom.js";
import { actionButton, badge, nothing, panel, time } from "../parts.js";
import { createPasskey, signed } from "../passkey.js";
import { table } from "../table.js";

/** @typedef {import("../wire").Answer<"passkeys">["passkeys"][number]} Passkey */

/** @param {import("../view.js").View} view */
export function passkeysPanel({ api, may, signal, poll }) {
  const add = button("Register…", () => register(), { class: "primary" });
  const made = panel("Passkeys", { tools: [add] });
  async function register() {
    const label = el("input", { required: true, maxlength: 64, value: "security key", spellcheck: "false" });
    const code = el("input", { maxlength: 100, spellcheck: "false", autocomplete: "off" });
    const send = async () => {
      const wanted = { label: label.value, ...(code.value.trim() && { code: code.value }) };
      const begun = await signed((headers) =>
        api.post("passkeys/begin", wanted, { headers, changes: false }),
      );
      await api.post("passkeys/add", await createPasskey(begun));
    };
    const hint =
      "Your browser asks for a security key, a phone, or what unlocks this device. Who has a passkey touches it first.";
    const hintOfCode = "Where the owner of the host has given you one for your first passkey.";
    const fields = [labelled("Name", label, hint), labelled("Code", code, hintOfCode)];
    if (await fill("Register a passkey", "Register", send, ...fields)) await polled.now();
  }

  /** @param {Passkey} passkey */
  async function remove({ id, label }) {
    const consequence = el(
      "p",
      { class: "prose" },
      "It allows nothing any more. You touch one of yours first.",
    );
    if (!(await ask(`Remove ${label}?`, "Remove", consequence))) return;
    await signed((headers) => api.post("passkeys/remove", { id }, { headers }));
    await polled.now();
  }

  const listed = table({
    label: "Passkeys",
    columns: [
      {
        label: "Name",
        cell: (/** @type {Passkey & { isOwn: boolean }} */ { label, rp_id, synced }) =>
          el(
            "div",
            {},
            el("strong", {}, label),
            synced && " ",
            synced && badge("info", "synced"),
            el("div", { class: "hint" }, `for ${rp_id}`),
          ),
      },
      { label: "Whose", hidden: !may("admin"), cell: ({ holder }) => holder ?? "the host’s own token" },
      { label: "Registered", cell: ({ created }) => time(created) },
      {
        label: "Last used",
        cell: ({ last_used }) =>
          last_used === null ? el("span", { class: "faint" }, "never") : time(last_used),
      },
      {
        label: "Actions",
        kind: "actions",
        cell: (passkey) =>
          passkey.isOwn
            ? actionButton("Remove…", () => remove(passkey), made.tell, {
                "aria-label": `Remove… ${passkey.label}`,
              })
            : el("span", { class: "hint" }, "its holder removes it, or the owner on the host"),
      },
    ],
    key: ({ id }) => id,
    empty: () =>
      nothing(
        "No passkeys",
        "With ",
        el("code", { class: "flag" }, "--passkey-for"),
        " the server wants one for what a person allows.",
      ),
  });
  made.body.append(listed.root);

  /** @param {readonly Passkey[]} passkeys */
  async function show(passkeys) {
    const rights = await api.rights();
    if (signal.aborted) return;
    // The sessions of a person are one holder; nobody is while that is not known.
    const own = rights === null ? undefined : (rights.name?.replace(/\/.*/s, "") ?? null);
    listed.show(passkeys.map((passkey) => ({ ...passkey, isOwn: passkey.holder === own })));
  }

  const polled = poll({
    path: "passkeys",
    on: [],
    every: 0,
    show(answer) {
      made.fail(null);
      void show(answer.passkeys);
    },
    fail: made.fail,
  });
  return made;
}
