/**
 * Screen: a screenshot on demand, and the windows that are open; each screenshot lists them anew.
 */

import { button, el, setText } from "../dom.js";
import { icon } from "../icons.js";
import { actionButton, asError, nothing, panel, time } from "../parts.js";
import { table } from "../table.js";
import { cropper } from "./crop.js";

/** Seconds between repeated screenshots. */
const EVERY_S = 5;

/** @typedef {import("../wire").Answer<"windows">["windows"][number]} Window */

/** @param {import("../view.js").View} view */
export function open({ root, api, signal, poll }) {
  const when = el("span", { class: "hint", role: "status" });
  const again = button("Repeat", () => repeat(again.getAttribute("aria-checked") !== "true"), {
    role: "switch",
    "aria-checked": "false",
    class: "switch",
    title: `Takes a screenshot every ${EVERY_S} s`,
  });
  const screen = panel("Screenshot", {
    tools: [
      when,
      again,
      actionButton([icon("screen"), "Take screenshot"], take, (error) => screen.tell(error), {
        class: "primary",
      }),
    ],
  });
  const picture = el("img", { alt: "The screen of the host", hidden: true });
  const place = el(
    "div",
    { class: "screen" },
    nothing(
      "No screenshot yet",
      "svc takes one only when you ask. Drag a rectangle on it to get an image for scripts.",
    ),
  );
  const crop = cropper(picture);
  screen.body.append(place, crop.result);

  const about = el("span", { class: "hint" });
  const windows = panel("Windows", { tools: [about] });
  const listed = table({
    label: "Windows",
    columns: [
      {
        label: "Title",
        kind: "wide",
        cell: (/** @type {Window} */ { title }) => title || el("span", { class: "faint" }, "untitled"),
      },
      { label: "Process", cell: ({ process }) => process ?? "" },
      {
        label: "Place",
        cell: ({ x, y, width, height }) =>
          typeof x === "number" ? `${width} × ${height} at ${x}, ${y}` : "",
      },
      {
        label: "State",
        cell: ({ state, focused }) => [state, focused && "focused"].filter(Boolean).join(", "),
      },
      { label: "ID", kind: "number", cell: ({ hwnd }) => String(hwnd) },
    ],
    key: ({ hwnd }) => hwnd,
    empty: () => nothing("No windows", "None is open, or this platform cannot list them."),
  });
  windows.body.append(listed.root);
  root.append(el("div", { class: "stack" }, screen.root, windows.root));

  const polled = poll({
    path: "windows",
    on: ["run.ended"],
    every: 10,
    rest: 30,
    show(answer) {
      windows.fail(null);
      setText(about, answer.platform_supported === false ? "not supported on this platform" : "");
      listed.show(answer.windows);
    },
    fail: windows.fail,
  });

  let shown = "";
  signal.addEventListener("abort", () => URL.revokeObjectURL(shown));

  async function take() {
    setText(when, "taking…");
    try {
      const { data } = await api.ask("screenshot");
      if (signal.aborted) return;
      // The list beside the picture is of the same moment.
      void polled.now();
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      URL.revokeObjectURL(shown);
      shown = URL.createObjectURL(new Blob([bytes], { type: "image/png" }));
      picture.src = shown;
      await picture.decode();
      picture.hidden = false;
      place.replaceChildren(crop.frame);
      when.replaceChildren(
        "taken ",
        time(new Date().toISOString()),
        ` · ${picture.naturalWidth} × ${picture.naturalHeight}`,
      );
    } catch (error) {
      setText(when, "");
      repeat(false);
      throw error;
    }
  }

  let timer = 0;
  signal.addEventListener("abort", () => clearTimeout(timer));

  /** @param {boolean} on */
  function repeat(on) {
    again.setAttribute("aria-checked", String(on));
    clearTimeout(timer);
    if (on) void next();
  }

  async function next() {
    if (!document.hidden) {
      try {
        await take();
        screen.tell(null);
      } catch (error) {
        screen.tell(asError(error));
        return;
      }
    }
    if (signal.aborted || again.getAttribute("aria-checked") !== "true") return;
    // Of one that was switched off and on meanwhile.
    clearTimeout(timer);
    timer = setTimeout(next, EVERY_S * 1_000);
  }
}
