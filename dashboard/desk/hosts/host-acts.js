/**
 * What can be done to hosts of the address book, each in a dialog: add, edit, rotate the token, remove, tag.
 */
import { TAKES_LONG } from "../../api.js";
import { ask, fill } from "../../dialog.js";
import { el, labelled } from "../../dom.js";
import { count, moment } from "../../format.js";
import { hostForm, tagsForm } from "../host-form.js";
import { hostsOf } from "./host-words.js";

/** @typedef {import("../../wire").Answer<"admin/hosts">[number]} Entry */
/** @typedef {import("../../parts.js").Trouble} Trouble */

/** More hosts than this are removed only once their number was typed. */
const TYPED_ABOVE = 10;

/** Hosts that are asked for a new token at once. */
const ROTATED_AT_ONCE = 4;

/**
 * @param {import("../../view.js").View} view
 * @param {(trouble: Trouble | null) => void} tell
 * @param {(labels: readonly string[]) => Promise<void>} done asks for the rows anew, and polls those whose entry is another
 * @param {(from: string, to: string) => void} [renamed]
 */
export function hostActs({ api, signal }, tell, done, renamed = () => {}) {
  /** The entries of the address book, which the list does not have whole. */
  const entries = () => api.ask("admin/hosts");
  /** @param {string} label */
  async function entryOf(label) {
    const found = (await entries()).find((one) => one.label === label);
    if (!found) throw new Error(`${label} is no longer in the address book.`);
    return found;
  }

  /**
   * Says which key was pinned, where nobody has compared it yet.
   *
   * @param {{ trust_first?: boolean }} asked
   * @param {Entry} host
   */
  function tellPin({ trust_first }, { label, pin }) {
    if (!trust_first) return;
    const message = `${label}: pinned ${pin}. Compare it with what svc pin prints on that host.`;
    tell({ tone: "warn", message });
  }

  return {
    async add() {
      const label = el("input", {
        required: true,
        maxlength: 128,
        placeholder: "lab-01",
        spellcheck: "false",
      });
      const form = hostForm();
      form.token.required = true;
      const post = async () => {
        const host = { label: label.value, ...form.host(), token: form.token.value.trim() };
        tellPin(host, await api.post("admin/hosts/add", host));
      };
      if (await fill("Add a host", "Add", post, labelled("Name", label), ...form.fields))
        await done([label.value]);
    },

    /** @param {string} label @returns {Promise<string>} the label that it has now */
    async edit(label) {
      const form = hostForm(await entryOf(label));
      const name = el("input", { required: true, maxlength: 128, spellcheck: "false", value: label });
      const clear = el("input", { type: "checkbox" });
      let now = label;
      const post = async () => {
        const token = form.token.value.trim();
        const changed = { ...form.host(), ...(token && { token }), clear_trust: clear.checked };
        tellPin(changed, await api.post("admin/hosts/set", { label: now, ...changed }));
        const to = name.value.trim();
        if (to === now) return;
        await api.post("admin/hosts/rename", { label: now, to });
        renamed(now, to);
        now = to;
      };
      const named = labelled("Name", name, "Token, pin, tags, log and plans go along with a new name.");
      const forget = el(
        "label",
        { class: "check" },
        clear,
        "Forget pin and certificate: trust the usual authorities",
      );
      if (await fill(`Edit ${label}`, "Save", post, named, ...form.fields, forget)) await done([now]);
      return now;
    },

    /** Adds and removes tags of hosts; their other tags stay. @param {readonly string[]} labels */
    async tag(labels) {
      const wanted = new Set(labels);
      const form = tagsForm((await entries()).filter(({ label }) => wanted.has(label)));
      const post = async () => {
        await api.post("admin/hosts/tags", { on: labels.join(","), ...form.change() });
      };
      if (await fill(`Tags of ${hostsOf(labels.length)}`, "Save", post, ...form.fields)) await done([]);
    },

    /** @param {readonly string[]} labels */
    async rotate(labels) {
      const [only = ""] = labels;
      let message = "";
      /** @type {string[]} */
      let problems = [];
      const post = async () => {
        if (labels.length > 1) {
          const left = await rotateAll(labels);
          problems = left;
          message = `${count(labels.length - left.length)} of ${hostsOf(labels.length)} have a new token; old ones work for another day.`;
          return;
        }
        const { name, old_until, problem } = await api.post("admin/hosts/rotate", { label: only });
        const which = name === null ? "the host’s own token" : `the token ${name}`;
        const rest = problem === null ? "" : ` The host does not know that it is stored here: ${problem}.`;
        message = `${only}: ${which} is replaced. Old ones work until ${moment(old_until)}.${rest}`;
      };
      const words =
        "The host makes a new token in place of the one that is stored here. For other programs that use it, the old one works for another day.";
      const title =
        labels.length === 1
          ? `Rotate the token of ${only}?`
          : `Rotate the tokens of ${hostsOf(labels.length)}?`;
      if (!(await fill(title, "Rotate", post, words))) return;
      const failed = problems.length === 0 ? "" : ` ${problems.slice(0, 5).join("; ")}`;
      tell({ tone: problems.length === 0 ? "ok" : "warn", message: `${message}${failed}` });
      await done(labels);
    },

    /** @param {readonly string[]} labels @returns {Promise<boolean>} whether they were removed */
    async remove(labels) {
      const [only = ""] = labels;
      const title = labels.length === 1 ? `Remove ${only}?` : `Remove ${hostsOf(labels.length)}?`;
      const words =
        "The host and its token are removed from the address book. A host that has joined this desk ends that token.";
      const typed = el("input", { inputmode: "numeric", autocomplete: "off", required: true });
      const isMany = labels.length > TYPED_ABOVE;
      const check = async () => {
        if (isMany && typed.value.trim() !== `${labels.length}`)
          throw new Error(`Type ${labels.length}, the number of hosts, to remove them.`);
      };
      const named =
        labels.length > 1 && el("p", {}, labels.slice(0, 20).join(", "), labels.length > 20 && " …");
      const confirmed = isMany
        ? await fill(title, "Remove", check, words, named, labelled("Number of hosts", typed))
        : await ask(title, "Remove", words, named);
      if (!confirmed) return false;
      const { problem, hosts } = await api.post(
        "admin/hosts/remove",
        labels.length === 1 ? { label: only } : { on: labels.join(",") },
        // Each that is switched off has some seconds to answer.
        TAKES_LONG,
      );
      if (problem !== null) {
        const [first] = hosts.filter((host) => host.problem !== null);
        const message = `${first?.label ?? only} was not notified: ${problem}. Its token works until svc leave runs there.`;
        tell({ tone: "warn", message });
      }
      await done([]);
      return true;
    },
  };

  /** @param {readonly string[]} labels @returns {Promise<string[]>} what went wrong, by host */
  async function rotateAll(labels) {
    /** @type {string[]} */
    const problems = [];
    const left = [...labels];
    const next = async () => {
      for (let label = left.shift(); label !== undefined && !signal.aborted; label = left.shift()) {
        const answer = await api
          .post("admin/hosts/rotate", { label })
          .catch((error) => ({ problem: error.message }));
        if (answer.problem !== null) problems.push(`${label}: ${answer.problem}`);
      }
    };
    await Promise.all(Array.from({ length: ROTATED_AT_ONCE }, next));
    return problems;
  }
}

/** @typedef {ReturnType<typeof hostActs>} HostActs */
