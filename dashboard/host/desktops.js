/**
 * Desktops on demand: which run beside that of the host, with a small picture of each.
 */
import { ask, fill } from "../dialog.js";
import { button, el, labelled, setText } from "../dom.js";
import { bytes, counted } from "../format.js";
import { actionButton, nothing, panel, time } from "../parts.js";
import { table } from "../table.js";

/** @typedef {import("../wire").Answer<"desktops">["desktops"][number]} Desktop */

/** The width of a picture, in pixels: twice that of its place. */
const PICTURE_WIDTH = 320;

/** Seconds between two looks where no events come. */
const LOOK_EVERY_S = 5;

/** @param {import("../view.js").View} view */
export function open({ root, api, poll, may, signal }) {
  const about = el("span", { class: "hint", role: "status" });
  const add = may("operate") && button("Start…", () => start(), { class: "primary" });
  const made = panel("Desktops on demand", { tools: [about, add] });

  async function start() {
    const name = el("input", {
      required: true,
      maxlength: 40,
      pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*",
      title: "letters, digits, . _ and -, the first a letter or digit",
      placeholder: "orders",
      spellcheck: "false",
    });
    const size = el("input", {
      placeholder: "1280x800",
      pattern: "\\d{3,5}x\\d{3,5}",
      title: "WIDTHxHEIGHT",
    });
    const scale = el("input", { type: "number", min: 1, max: 4, placeholder: "1" });
    const locale = el("input", { placeholder: "that of svc", maxlength: 64, spellcheck: "false" });
    const send = () =>
      api.post("desktops/start", {
        name: name.value,
        ...(size.value !== "" && { size: size.value }),
        ...(scale.value !== "" && { scale: Number(scale.value) }),
        ...(locale.value !== "" && { locale: locale.value }),
      });
    const done = await fill(
      "Start a desktop that is kept",
      "Start",
      send,
      labelled("Name", name, "Scripts run on it with --desktop NAME."),
      labelled("Size", size),
      labelled("Scale", scale, "How many pixels programs draw for one."),
      labelled("Locale", locale, "Such as de_DE.UTF-8."),
    );
    if (done) await polled.now();
  }

  /** @param {Desktop} desktop */
  async function stop({ name, kind }) {
    const consequence =
      kind === "run" ? "It is that of a run, which will fail." : "Whatever was started on it ends too.";
    if (!(await ask(`Stop ${name}?`, "Stop", el("p", { class: "prose" }, consequence)))) return;
    await api.post("desktops/stop", { name });
    await polled.now();
  }

  /** The pictures, by the names of their desktops. @type {Map<string, HTMLImageElement>} */
  const pictures = new Map();
  signal.addEventListener("abort", () => {
    for (const { src } of pictures.values()) URL.revokeObjectURL(src);
  });

  /** @param {string} name */
  function pictureOf(name) {
    const known = pictures.get(name);
    if (known) return known;
    const picture = el("img", { class: "desktop-picture", alt: `The screen of ${name}`, hidden: true });
    pictures.set(name, picture);
    return picture;
  }

  /** @param {readonly Desktop[]} desktops */
  async function look(desktops) {
    for (const [name, { src }] of pictures) {
      if (desktops.some((desktop) => desktop.name === name)) continue;
      URL.revokeObjectURL(src);
      pictures.delete(name);
    }
    for (const { name } of desktops) {
      const path = /** @type {"screen/thumbnail"} */ (
        `screen/thumbnail?width=${PICTURE_WIDTH}&desktop=${encodeURIComponent(name)}`
      );
      const shown = await api.blob(path).catch(() => null);
      if (signal.aborted) return;
      if (!shown) continue;
      const picture = pictureOf(name);
      URL.revokeObjectURL(picture.src);
      picture.src = URL.createObjectURL(shown);
      picture.hidden = false;
    }
  }

  const listed = table({
    label: "Desktops, the oldest first",
    columns: [
      {
        label: "Desktop",
        cell: (/** @type {Desktop} */ { name, kind, run_id }) =>
          el(
            "div",
            {},
            el(
              "a",
              { href: `#live::${encodeURIComponent(name)}`, title: "Show its screen" },
              el("strong", {}, name),
            ),
            el("div", { class: "hint" }, kind === "kept" ? "kept" : `of run ${run_id?.slice(0, 8)}`),
          ),
      },
      { label: "Screen", hidden: !may("screen"), cell: ({ name }) => pictureOf(name) },
      {
        label: "Size",
        cell: ({ size, scale, locale, display }) =>
          el(
            "div",
            {},
            size.replace("x", " × "),
            el(
              "div",
              { class: "hint" },
              [display, scale === 1 ? "" : `scale ${scale}`, locale].filter(Boolean).join(", "),
            ),
          ),
      },
      { label: "Since", kind: "tight", cell: ({ started_at }) => time(started_at) },
      { label: "Used by", kind: "wide", cell: ({ user }) => user ?? "" },
      {
        label: "Files",
        kind: "wide",
        cell: ({ disk }) => (disk ? `${bytes(disk.used_bytes)} of ${bytes(disk.limit_bytes)}` : ""),
      },
      {
        label: "Actions",
        kind: "actions",
        hidden: !may("operate"),
        cell: (desktop) =>
          actionButton("Stop…", () => stop(desktop), made.tell, { "aria-label": `Stop… ${desktop.name}` }),
      },
    ],
    key: ({ name }) => name,
    empty: () =>
      nothing(
        "No desktops but that of the host",
        "A run has one of its own with ",
        el("code", {}, "svc execute job.json --desktop new"),
        ".",
      ),
  });
  made.body.append(listed.root);
  root.append(made.root);

  const polled = poll({
    path: "desktops",
    on: ["desktop.started", "desktop.full", "desktop.ended"],
    every: LOOK_EVERY_S,
    rest: 30,
    show({ desktops, most }) {
      made.fail(null);
      setText(
        about,
        desktops.length === 0
          ? `at most ${most}`
          : `${counted(desktops.length, "desktop")} of at most ${most}`,
      );
      listed.show(desktops);
      if (may("screen")) void look(desktops);
    },
    fail: made.fail,
  });
}
