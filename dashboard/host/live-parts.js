/** Parts of the page of the live screen beside the picture: a recording, the clipboard, who looks and the figures of the stream. */
import { button, el, labelled, setText } from "../dom.js";
import { bytes, measure, milliseconds } from "../format.js";
import { actionButton, copyButton, download, figure, panel } from "../parts.js";
import { viewersTable } from "./viewers.js";

/** @typedef {import("../wire").Answer<"screen/state">} ScreenState */
/** @typedef {import("./viewers.js").Viewer} Viewer */
/** @typedef {import("./live-watch.js").Watch} Watch */

/**
 * Records the screen to a file on the host, and downloads it at the end.
 *
 * @param {import("../view.js").View} view
 * @param {(error: Error | null) => void} tell
 */
export function recordButton({ api, poll }, tell) {
  let isOn = false;
  const made = actionButton("Record", toggleIt, tell, { title: "Ends after ten minutes, or 100 MiB" });
  const listed = poll({
    path: "screen/recordings",
    on: ["recording.*"],
    every: 30,
    rest: 120,
    show({ current }) {
      isOn = current !== null;
      setText(made, isOn ? "Stop recording" : "Record");
    },
    fail: () => {},
  });

  async function toggleIt() {
    if (!isOn) await api.post("screen/recording/start", {});
    else {
      const { name } = await api.post("screen/recording/stop", {});
      if (name !== null) download(name, await api.blob(`screen/recordings/${name}`));
    }
    await listed.now();
  }
  return made;
}

/** The clipboard of the host, in both directions. @param {Watch} watch */
export function clipboardPart(watch) {
  const text = el("textarea", { rows: 4, spellcheck: "false" });
  const root = el(
    "div",
    { class: "live-clipboard", hidden: true },
    labelled(
      "Clipboard of the host",
      text,
      "What is copied there appears here; Ctrl+V there pastes what is sent.",
    ),
    el(
      "div",
      { class: "buttons" },
      button("Send to the host", () => watch.paste(text.value)),
      copyButton("Copy", () => text.value, "the clipboard of the host"),
    ),
  );
  return {
    root,
    /** @param {string} copied */
    show(copied) {
      text.value = copied;
    },
  };
}

/**
 * Who looks, and the figures of the stream.
 *
 * @param {Watch} watch
 * @param {((id: string) => Promise<void>) | null} end ends a viewer; null for who may not
 */
export function aboutPanel(watch, end) {
  const made = panel("Who looks");
  const figures = {
    frames: figure("Pictures a second"),
    rate: figure("Bit rate"),
    trip: figure("Round trip"),
    size: figure("Screen"),
  };
  const listed = viewersTable({ end, tell: made.tell });
  made.body.append(
    el("dl", { class: "figures four" }, ...Object.values(figures).map(({ root }) => root)),
    listed.root,
  );
  let before = { frames: 0, bytes: 0, at: performance.now() };
  return {
    root: made.root,
    stopLoading: made.stopLoading,
    /** Shows the figures of the time since the last call. @param {Viewer | undefined} own */
    async measure(own) {
      const now = { frames: watch.frames, bytes: watch.bytes, at: performance.now() };
      const seconds = (now.at - before.at) / 1_000;
      figures.frames.show(measure(Math.round((now.frames - before.frames) / seconds)));
      figures.rate.show(`${bytes((now.bytes - before.bytes) / seconds)}/s`);
      before = now;
      figures.size.show(watch.width > 0 ? `${watch.width}×${watch.height}` : "–");
      figures.trip.show(milliseconds((await watch.roundTrip()) ?? own?.stats?.rtt_ms ?? null));
    },
    /**
     * @param {ScreenState | null} state
     * @param {string | null} viewer of this page
     */
    show(state, viewer) {
      if (state) listed.show(state.viewers, viewer);
    },
  };
}
