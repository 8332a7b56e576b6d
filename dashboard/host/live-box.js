/**
 * The black box on the page of the live screen: a time line of what a host has kept, to drag and to play; and whether it is kept. That of a
 * host of the address book comes through this desk.
 */
import { addressIn } from "../address.js";
import { button, el, labelled, setText } from "../dom.js";
import { actionButton, asError, badge, download, panel } from "../parts.js";

/** How far playing goes with each picture, in milliseconds. */
const STEP_MS = 2_000;
/** How long each picture is shown while it plays, in milliseconds. */
const SHOWN_MS = 500;
/** How far the arrow keys go, in seconds. */
const KEY_STEP_S = 1;

/** @satisfies {Record<string, readonly [import("../parts.js").Tone, string]>} */
const STATES = /** @type {const} */ ({
  on: ["warn", "this screen is kept"],
  paused: ["none", "paused"],
  left: ["none", "off: what was kept before"],
});

const two = (/** @type {number} */ number) => `${number}`.padStart(2, "0");

/** @param {number} ms */
function clock(ms) {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** A span of time, in milliseconds since 1970. @typedef {{ from: number, to: number }} Span */

/** The span that an address names. @param {string} hash @returns {Span | null} */
function spanIn(hash) {
  const { query } = addressIn(hash);
  const [from, to] = [Number(query.get("from")), Number(query.get("to"))];
  return from > 0 && to > from ? { from, to } : null;
}

/** @param {Span} span */
const beforeText = ({ from, to }) =>
  `Before a run failed: ${new Date(from).toLocaleDateString()}, from ${clock(from)} to ${clock(to)}. It stays longer than the rest.`;

/**
 * @param {import("../view.js").View} view
 * @param {string | null} label of the host; null for this one
 */
export function boxPanel({ api, may, signal }, label) {
  const chosen = spanIn(location.hash);
  const prefix = label === null ? "" : `admin/hosts/${encodeURIComponent(label)}/`;
  const state = el("span", { role: "status" });
  const made = panel("Black box", { tools: [state] });
  made.root.hidden = chosen === null;
  const shown = el("img", { class: "live-then", alt: "", hidden: true });
  const at = el("input", { type: "range", min: "0", max: "0", step: `${KEY_STEP_S}`, value: "0" });
  const words = el("output", { class: "live-then-time" });
  let from = 0;
  let isPlaying = false;
  /** How often it was begun: one that was paused does not go on beside the next. */
  let plays = 0;
  /** The number of the picture that was asked for last. */
  let asked = 0;

  const load = actionButton("Look back", () => look(null), made.tell, { class: "primary" });
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
  const hint =
    "This host keeps what its screen shows for a while, encrypted. Each picture that you look at is on record.";
  made.body.append(
    el("p", { class: "hint" }, hint),
    ...(chosen ? [el("p", {}, beforeText(chosen))] : []),
    el("div", { class: "buttons" }, load, label === null && may("operate") && toggleBox),
    line,
  );
  signal.addEventListener("abort", () => {
    isPlaying = false;
  });

  /** Shows a span from its beginning; null: all that there is, at its end. @param {Span | null} span */
  async function look(span) {
    const { spans } = await api.ask(/** @type {"black-box/spans"} */ (`${prefix}black-box/spans`));
    const [first, last] = [
      spans.find(({ to }) => !span || Date.parse(to) >= span.from),
      spans.findLast((one) => !span || Date.parse(one.from) <= span.to),
    ];
    if (!first || !last) throw new Error(span ? "Nothing of then is kept." : "Nothing has been kept yet.");
    from = Math.max(Date.parse(first.from), span?.from ?? 0);
    const to = Math.min(Date.parse(last.to), span?.to ?? Number.POSITIVE_INFINITY);
    at.max = `${Math.max(0, Math.floor((to - from) / 1_000))}`;
    at.value = span ? "0" : at.max;
    line.hidden = false;
    await show();
  }

  const time = () => from + Number(at.value) * 1_000;

  /** Shows the picture of the time that is chosen; of those that are asked for meanwhile, the last. */
  async function show() {
    const mine = ++asked;
    setText(words, clock(time()));
    try {
      const asking = `${prefix}screen/at?time=${new Date(time()).toISOString()}`;
      const picture = await api.ask(/** @type {`screen/at?${string}`} */ (asking));
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
    const mine = ++plays;
    while (isPlaying && mine === plays && Number(at.value) < Number(at.max)) {
      at.value = `${Math.min(Number(at.max), Number(at.value) + STEP_MS / 1_000)}`;
      await show();
      await new Promise((resolve) => setTimeout(resolve, SHOWN_MS));
    }
    if (mine !== plays) return;
    isPlaying = false;
    play.setAttribute("aria-pressed", "false");
  }

  function savePicture() {
    const [, base64 = ""] = shown.src.split(",");
    const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
    if (bytes.length === 0) return;
    const name = new Date(time()).toISOString().replaceAll(":", "-");
    download(`${label ?? location.hostname}-${name}.png`, new Blob([bytes]));
  }

  async function pause() {
    const isPaused = toggleBox.textContent === "Resume";
    const answer = await api.post(isPaused ? "black-box/resume" : "black-box/pause", {});
    tell(answer.state === "paused" ? "paused" : "on");
  }

  at.addEventListener("input", () => setText(words, clock(time())));
  at.addEventListener("change", () => void show());

  if (chosen) {
    look(chosen)
      .catch((error) => made.tell(asError(error)))
      // It is below the live picture.
      .finally(() => made.root.scrollIntoView());
  }

  /** @param {"on" | "paused" | "left" | null | undefined} kept */
  function tell(kept) {
    made.root.hidden = !kept && chosen === null;
    toggleBox.hidden = kept !== "on" && kept !== "paused";
    setText(toggleBox, kept === "paused" ? "Resume" : "Pause");
    const [tone, text] = (kept && STATES[kept]) || ["none", ""];
    state.replaceChildren(...(text === "" ? [] : [badge(tone, text)]));
  }
  return {
    root: made.root,
    /** Shows whether what this screen shows is kept; nothing where it is not. */
    tell,
  };
}
