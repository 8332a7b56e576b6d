/**
 * Export of the configuration of this host as one file, and import of such a file.
 */
import { ask } from "./dialog.js";
import { el } from "./dom.js";
import { icon } from "./icons.js";
import { actionButton, badge, download, nothing, notice, panel } from "./parts.js";

/** @typedef {import("./wire").Answer<"config/import">} ImportReport */

/** @param {import("./view.js").View} view */
export function configurationPanel({ api }) {
  const made = panel("Configuration");
  const result = el("div", { role: "status" });
  const file = el("input", {
    type: "file",
    accept: ".json,application/json",
    hidden: true,
    "aria-label": "Bundle to import",
  });
  const merge = el("input", { type: "checkbox" });
  const { tell } = made;

  const exportIt = async () => {
    if (
      !(await ask(
        "Export the configuration?",
        "Export",
        "The file contains the tokens of the hosts that this one manages. Keep it secret.",
      ))
    )
      return;
    const bundle = await api.post("config/export", {}, { changes: false });
    download("svc-config.json", `${JSON.stringify(bundle, null, 2)}\n`);
    result.replaceChildren(notice("ok", "Exported to svc-config.json."));
  };

  const importIt = async () => {
    const [chosen] = file.files ?? [];
    file.value = "";
    if (!chosen) return;
    const bundle = await readBundle(chosen);
    const trial = /** @type {const} */ (`config/import?dry_run=true&merge=${merge.checked}`);
    const planned = await api.post(trial, bundle, { changes: false });
    if (planned.written.length === 0) {
      result.replaceChildren(
        notice(
          "info",
          planned.skipped.length > 0
            ? "Nothing to import: the bundle has no other file that can be read."
            : "Nothing to import: the host already has all of it.",
        ),
        changes(planned),
      );
      return;
    }
    if (
      !(await ask(
        `Import ${chosen.name}?`,
        `Write ${planned.written.length === 1 ? "1 file" : `${planned.written.length} files`}`,
        changes(planned),
      ))
    )
      return;
    const done = await api.post(`config/import?merge=${merge.checked}`, bundle);
    result.replaceChildren(
      notice("ok", `Imported: ${done.written.join(", ")}.`),
      ...Object.values(done.backups).map((backup) =>
        el("p", { class: "hint" }, "Old version kept as ", el("code", {}, backup)),
      ),
    );
  };
  file.addEventListener("change", () => {
    tell(null);
    result.replaceChildren();
    importIt().catch(tell);
  });

  made.body.append(
    el(
      "p",
      {},
      "Address book, trusted viewers and identity of this host in one file. An import first shows what would change, and keeps the old version of each file it replaces.",
    ),
    el(
      "div",
      { class: "buttons" },
      actionButton([icon("download"), "Export…"], exportIt, tell),
      actionButton([icon("upload"), "Import…"], async () => file.click(), tell),
      file,
    ),
    el(
      "label",
      { class: "check" },
      merge,
      "Add the hosts of an import to the address book here, instead of replacing it",
    ),
    result,
  );
  return made.root;
}

/**
 * @param {File} file
 * @returns {Promise<import("./wire").Body<"config/import">>} not checked: the server does that
 */
async function readBundle(file) {
  const text = await file.text();
  try {
    return JSON.parse(text);
  } catch {
    if (text.startsWith("age-encryption.org/") || text.startsWith("-----BEGIN AGE")) {
      throw new Error(`${file.name} is encrypted: import it on the host with "svc config import".`);
    }
    throw new Error(`${file.name} is not JSON.`);
  }
}

/** @param {ImportReport} report */
function changes({ files, warnings, skipped }) {
  const tones = /** @type {const} */ ({ new: "ok", changed: "warn", unchanged: "none" });
  return el(
    "div",
    { class: "changes" },
    ...warnings.map((warning) => notice("warn", warning)),
    ...files.map(({ name, change, diff, note }) =>
      el(
        "section",
        { "aria-label": name },
        el("h3", {}, el("code", {}, name), " ", badge(tones[change], change)),
        note !== null && el("p", { class: "hint" }, note),
        diff !== null && el("pre", { class: "diff", tabindex: 0 }, ...diff.split("\n").map(diffLine)),
      ),
    ),
    skipped.length > 0 && notice("warn", `Skipped because of a wrong format: ${skipped.join(", ")}`),
    files.length === 0 && nothing("The bundle is empty", "Export one on a host that has a configuration."),
  );
}

/** @param {string} line */
function diffLine(line) {
  const kind = line.startsWith("+")
    ? "plus"
    : line.startsWith("-")
      ? "minus"
      : line.startsWith("@@")
        ? "hunk"
        : "";
  return el("span", { class: kind }, `${line}\n`);
}
