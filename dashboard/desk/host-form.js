/**
 * The form of a host of the address book, to add it or to change it.
 */
import { el, labelled } from "../dom.js";

/** @typedef {import("../wire").Answer<"admin/hosts">[number]} Host */

/**
 * The fields of a host but its name, filled in with what is known of it: its token never is.
 *
 * @param {Host} [known]
 */
export function hostForm(known) {
  const url = el("input", {
    type: "url",
    required: true,
    placeholder: "https://lab-01.example:9939",
    spellcheck: "false",
    value: known?.base_url ?? "",
  });
  const token = el("input", { type: "password", autocomplete: "off" });
  const tags = el("input", {
    placeholder: "lab, floor-2",
    spellcheck: "false",
    value: known?.tags.join(", ") ?? "",
  });
  const pin = el("input", { placeholder: "spki:…", spellcheck: "false", autocomplete: "off" });
  const first = el("input", { type: "checkbox" });
  const unasked = el("input", { type: "checkbox" });
  const plain = el("input", { type: "checkbox" });
  const ca = el("textarea", { rows: 4, placeholder: "-----BEGIN CERTIFICATE-----", spellcheck: "false" });
  const present =
    known?.trust === "identity" || known?.trust === "server"
      ? " A link needs none."
      : " Leave it empty to keep the present one.";
  const kept = known ? present : "";
  const from =
    "On that host, svc token add desk --scope desk prints one. It is stored here and never shown again. Or let the host join: then it brings its own.";
  const trust = el(
    "div",
    { class: "stack" },
    labelled("Certificate of the authority", ca),
    el(
      "label",
      { class: "check" },
      plain,
      "Accept http, without encryption: others can read and change all of it",
    ),
  );
  return {
    token,
    fields: [
      labelled("Address", url),
      labelled("Token", token, `${from}${kept}`),
      labelled("Tags", tags, "Separated by commas or spaces."),
      labelled(
        "Pin",
        pin,
        known?.pin ? `Now ${known.pin}.${kept}` : `svc pin prints it on that host.${kept}`,
      ),
      el(
        "label",
        { class: "check" },
        first,
        "Pin the key that the host shows now, and compare it afterwards",
      ),
      !known && el("label", { class: "check" }, unasked, "Add it without asking it first: it is off now"),
      el("details", {}, el("summary", {}, "Without a pin"), trust),
    ],
    /** What was filled in, but for the token. */
    host: () => ({
      base_url: url.value.trim(),
      tags: split(tags.value),
      ...(pin.value && { pin: pin.value.trim() }),
      ...(first.checked && { trust_first: true }),
      ...(unasked.checked && { unchecked: true }),
      ...(plain.checked && { insecure_http: true }),
      ...(ca.value && { ca: ca.value }),
    }),
  };
}

/**
 * The fields that change the tags of several hosts.
 *
 * @param {readonly Pick<Host, "tags">[]} hosts
 */
export function tagsForm(hosts) {
  const present = [...new Set(hosts.flatMap(({ tags }) => tags))].sort();
  const add = el("input", { placeholder: "floor-9", spellcheck: "false" });
  const remove = el("input", { placeholder: "floor-8", spellcheck: "false" });
  const now = present.length > 0 ? `Tags now: ${present.join(", ")}.` : "No tags now.";
  return {
    fields: [
      labelled("Add", add, "Separated by commas or spaces. Other tags stay."),
      labelled("Remove", remove, now),
    ],
    change: () => ({ add: split(add.value), remove: split(remove.value) }),
  };
}

/** @param {string} text */
const split = (text) => text.split(/[\s,]+/).filter(Boolean);
