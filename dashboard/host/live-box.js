/** The black box on the page of the live screen: a time line of what this host has kept, to drag and to play; and whether it is kept. */
import { button, el, labelled, setText } from "../dom.js";
import { actionButton, asError, badge, download, panel } from "../parts.js";

/** How far playing goes with each picture, in milliseconds. */
const STEP_MS = 2_000;
/** How long each picture is shown while it plays, in milliseconds. */
const SHOWN_MS = 500;
/** How far the arrow keys go, in seconds. */
const KEY_STEP_S = 1;

const two = (/** @type {number} */ number) => `${number}`.padStart(2, "0");

/** @param {number} ms */
function clock(ms) {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** @param {import("../view.js").View} view */
export function boxPanel({ api, may, signal }) {
  const state = el("span", { role: "status" });
  const made = panel("Black box", { tools: [state] });
  made.root.hidden = true;
  const shown = el("img", { class: "live-then", alt: "", hidden: true });
  const at = el("input", { type: "range", min: "0", max: "0", step: `${KEY_STEP_S}`, value: "0" });
  const words = el("output", { class: "live-then-time" });
  let from = 0;
  let isPlaying = false;
  /** The number of the picture that was asked for last. */
  let asked = 0;

  const load = actionButton("Look back", look, made.tell, { class: "primary" });
  const play = button("Play", () => void toggle(), { "aria-pressed": "false" });
  const save = button("Picture", savePicture, { title: "Downloads this picture" });
  const toggleBox = actionButton("Pause", pause, made.tell, {
    title: "Nothing of the screen is kept until it goes on",
  });
  const line = el(
    "div",
    { class: "live-line", hidden: true },
    labelled("Time", at, "Drag it, or use the arrow keys: a second each."),
    el("div", { class: "buttons" }, play, save, words),
    shown,
  );
  made.body.append(
    el(
      "p",
      { class: "hint" },
      "This host keeps what its screen shows for a while, encrypted. Each picture that you look at is on record.",
    ),
    el("div", { class: "buttons" }, load, may("operate") && toggleBox),
    line,
  );
  signal.addEventListener("abort", () => {
    isPlaying = false;
  });

  /** Asks what there is, and shows the newest of it. */
  async function look() {
    const { spans } = await api.ask("black-box/spans");
    const [first, last] = [spans.at(0), spans.at(-1)];
    if (!first || !last) throw new Error("Nothing has been kept yet.");
    from = Date.parse(first.from);
    at.max = `${Math.floor((Date.parse(last.to) - from) / 1_000)}`;
    at.value = at.max;
    line.hidden = false;
    await show();
  }

  const time = () => from + Number(at.value) * 1_000;

  /** Shows the picture of the time that is chosen; of those that are asked for meanwhile, the last. */
  async function show() {
    const mine = ++asked;
    setText(words, clock(time()));
    try {
      const picture = await api.ask(`screen/at?time=${new Date(time()).toISOString()}`);
      if (mine !== asked) return;
      made.fail(null);
      shown.src = `data:image/png;base64,${picture.data}`;
      shown.alt = `The screen at ${clock(time())}`;
      shown.hidden = false;
    } catch (error) {
      if (mine !== asked) return;
      shown.hidden = true;
      made.fail(asError(error));
    }
  }

  async function toggle() {
    isPlaying = !isPlaying;
    play.setAttribute("aria-pressed", `${isPlaying}`);
    while (isPlaying && Number(at.value) < Number(at.max)) {
      at.value = `${Math.min(Number(at.max), Number(at.value) + STEP_MS / 1_000)}`;
      await show();
      await new Promise((resolve) => setTimeout(resolve, SHOWN_MS));
    }
    isPlaying = false;
    play.setAttribute("aria-pressed", "false");
  }

  function savePicture() {
    const [, base64 = ""] = shown.src.split(",");
    const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
    if (bytes.length === 0) return;
    const name = new Date(time()).toISOString().replaceAll(":", "-");
    download(`${location.hostname}-${name}.png`, new Blob([bytes]));
  }

  async function pause() {
    const isPaused = toggleBox.textContent === "Resume";
    const answer = await api.post(isPaused ? "black-box/resume" : "black-box/pause", {});
    tell(answer.state === "paused" ? "paused" : "on");
  }

  at.addEventListener("input", () => setText(words, clock(time())));
  at.addEventListener("change", () => void show());

  /** @param {"on" | "paused" | null | undefined} kept */
  function tell(kept) {
    made.root.hidden = !kept;
    setText(toggleBox, kept === "paused" ? "Resume" : "Pause");
    state.replaceChildren(kept === "paused" ? badge("none", "paused") : badge("warn", "this screen is kept"));
  }
  return {
    root: made.root,
    /** Shows whether what this screen shows is kept; nothing where it is not. */
    tell,
  };
}
