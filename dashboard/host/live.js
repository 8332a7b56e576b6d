/**
 * Live screen: what is on the screen of this host, or of one in the address book (`#live:LABEL`), as it changes; and pointer and
 * keyboard of it for who takes them. `?from=MS&to=MS` shows what its black box has of then.
 */
import { fill } from "../dialog.js";
import { button, el, labelled, setText } from "../dom.js";
import { icon } from "../icons.js";
import { actionButton, asError, badge, download, notice, panel } from "../parts.js";
import { signed } from "../passkey.js";
import { boxPanel } from "./live-box.js";
import { keyButtons, keyboardField, typeText } from "./live-keys.js";
import { howToTake, notesOf } from "./live-notes.js";
import { aboutPanel, clipboardPart, recordButton } from "./live-parts.js";
import { picker } from "./live-picker.js";
import { placeIn } from "./live-place.js";
import { Watch } from "./live-watch.js";

/** Seconds between requests for who looks: also for the round trip. */
const STATE_EVERY_S = 5;

/** Characters that are typed for a person at once. */
const TYPED_MOST = 10_000;

/** @typedef {import("../wire").Answer<"screen/state">} ScreenState */

/** @satisfies {Record<import("./live-watch.js").State, readonly [import("../parts.js").Tone, string]>} */
const STATES = /** @type {const} */ ({
  opening: ["info", "opening…"],
  live: ["ok", "live"],
  cut: ["warn", "reconnecting…"],
  ended: ["error", "ended"],
});

/** @param {import("../view.js").View} view */
export function open(view) {
  const { root, api, may, signal, poll } = view;
  const place = placeIn(api, location.hash);
  const { label, desktop } = place;
  const stage = el("div", { class: "live-stage" });
  const watch = new Watch(stage, place.open, signal);
  /** @type {ScreenState | null} */
  let state = null;
  /** Ends what this page waits for: control, or the end of what it types. */
  let waits = new AbortController();
  signal.addEventListener("abort", () => waits.abort());

  const status = el("span", { role: "status" });
  const made = panel(place.title, { class: "live-panel", tools: [status] });
  const notes = el("div", { class: "live-notes", "aria-live": "polite" });
  const keys = keyButtons(watch.send);
  keys.root.hidden = true;

  const field = keyboardField(() => watch.canvas, watch.send);
  stage.append(field);

  const control = actionButton("Take control", toggleControl, made.tell, { class: "primary" });
  const isWhole = button("Fit", () => fit(isWhole.getAttribute("aria-checked") !== "true"), {
    role: "switch",
    "aria-checked": "true",
    class: "switch",
    title: "Off: the picture has its own size",
  });
  // On an iPhone, videos alone can have it.
  const hidden = !document.fullscreenEnabled;
  const full = button("Full screen", toggleFull, { "aria-pressed": "false", hidden });
  const keyboard = button("Keyboard", () => field.focus(), {
    title: "Types into the host; Shift+Esc comes back",
  });
  const moreKeys = button("Keys", () => toggle(moreKeys, keys.root), { "aria-expanded": "false" });
  const type = actionButton("Type text…", typeDialog, made.tell);
  const clipboard = clipboardPart(watch);
  const pasting = button("Clipboard", () => toggle(pasting, clipboard.root), { "aria-expanded": "false" });
  const picture = actionButton([icon("download"), "Picture"], savePicture, made.tell, {
    title: "Downloads the picture of now",
  });
  const isOfHost = label === null && desktop === undefined;
  const record = isOfHost && recordButton(view, made.tell);
  const picks = desktop === undefined ? picker(watch, stage, place.elementAt) : null;
  /** The lease of an agent that uses pointer and keyboard. */
  const leaseNow = () => /^lease ([0-9a-f]{8})\b/.exec(state?.input?.who ?? "")?.[1];
  const stop = actionButton("Stop", stopLease, made.tell, {
    ...{ class: "danger", hidden: true },
    title: "Ends the lease of the agent at once: its keys are released",
  });
  const again = button("Look again", () => watch.begin(), { class: "primary", hidden: true });
  /** For who controls. */
  const forControl = [keyboard, moreKeys, type, pasting];
  const bar = el(
    "div",
    { class: "live-bar", role: "group", "aria-label": "Live screen" },
    label === null && may("operate") && stop,
    may("operate") && control,
    isWhole,
    full,
    ...(may("operate") ? forControl : []),
    picture,
    picks?.switch ?? null,
    record,
    again,
  );
  const frame = el(
    "div",
    { class: "live-frame" },
    bar,
    keys.root,
    clipboard.root,
    notes,
    picks?.result ?? null,
    stage,
  );
  const way = el("p", { class: "hint live-way", role: "status" });
  made.body.append(
    frame,
    way,
    el(
      "p",
      { class: "hint" },
      "Nothing is sent to the host before you take control. ",
      el("kbd", {}, "Shift+Esc"),
      " leaves the keyboard of the host. On a phone: tap to click, drag to drag, two fingers for the right button or to scroll.",
    ),
  );
  const about = aboutPanel(watch, label === null && may("operate") ? endViewer : null);
  const box = desktop === undefined ? boxPanel(view, label) : null;
  root.append(el("div", { class: "stack" }, made.root, box?.root, about.root));

  /**
   * @param {HTMLButtonElement} opener
   * @param {HTMLElement} part
   */
  function toggle(opener, part) {
    part.hidden = !part.hidden;
    opener.setAttribute("aria-expanded", String(!part.hidden));
  }

  /** @param {string} id */
  async function endViewer(id) {
    await api.post("sessions/close", { id });
    await asked.now();
  }

  async function stopLease() {
    const id = leaseNow();
    if (id !== undefined) await api.post("leases/end", { id });
    await asked.now();
  }

  /** @param {boolean} on */
  function fit(on) {
    isWhole.setAttribute("aria-checked", String(on));
    stage.classList.toggle("own-size", !on);
    watch.isWhole = on;
  }

  async function toggleFull() {
    if (document.fullscreenElement) return document.exitFullscreen();
    await frame.requestFullscreen();
    // Where the browser can, Esc, Alt+Tab and the like go to the host.
    const { keyboard: ofBrowser } = /** @type {Navigator & { keyboard?: { lock(): Promise<void> } }} */ (
      navigator
    );
    await ofBrowser?.lock().catch(() => {});
  }
  frame.addEventListener("fullscreenchange", () => {
    full.setAttribute("aria-pressed", String(document.fullscreenElement === frame));
  });

  async function toggleControl() {
    const { viewer } = watch;
    if (viewer === null) throw new Error("There is no picture yet.");
    if (watch.control || waitsForControl()) {
      waits.abort();
      await api.post(place.control, { viewer, action: "release" });
      return show();
    }
    const run = await howToTake(state?.input, leaseNow() !== undefined);
    if (run === null) return;
    waits = new AbortController();
    const ended = AbortSignal.any([waits.signal, signal]);
    const waiting = { signal: ended, withinMs: null };
    const taking = signed((headers) =>
      api.post(place.control, { viewer, action: "take", run }, { headers, ...waiting }),
    );
    void asked.now();
    // It may take until a run has ended: the button stays of use.
    taking.then(
      () => void asked.now(),
      (error) => ended.aborted || made.tell(asError(error)),
    );
  }

  const waitsForControl = () => mine()?.wants_control === true;

  async function typeDialog() {
    const text = el("textarea", { rows: 6, maxlength: TYPED_MOST, spellcheck: "false" });
    const hint = "It is typed key by key, where the host has the focus: also where nothing can be pasted.";
    if (!(await fill("Type text on the host", "Type", async () => {}, labelled("Text", text, hint)))) return;
    const { viewer } = watch;
    const stop = new AbortController();
    const stopIt = () => {
      if (watch.viewer !== viewer || !watch.control) stop.abort();
    };
    watch.addEventListener("change", stopIt);
    await typeText(watch.send, text.value, AbortSignal.any([signal, stop.signal]));
    watch.removeEventListener("change", stopIt);
    field.focus();
  }

  async function savePicture() {
    const blob = await watch.picture();
    if (!blob) throw new Error("There is no picture yet.");
    download(`${label ?? location.hostname}-${new Date().toISOString().replaceAll(":", "-")}.png`, blob);
  }

  const mine = () => state?.viewers.find(({ id }) => id === watch.viewer);

  /** Shows what is known, and lets this page control what the host lets it control. */
  function show() {
    const own = mine();
    const may = own?.control === true && watch.state === "live";
    if (watch.control !== may) setControl(may);
    stage.classList.toggle("controls", may);
    const [tone, text] = STATES[watch.state];
    const asks = own?.state === "waiting" && own.approval_id !== null;
    status.replaceChildren(
      asks ? badge("warn", "waiting for a person") : badge(tone, text),
      ...(watch.state === "live"
        ? [" ", may ? badge("warn", "you control") : badge("none", "view only")]
        : []),
    );
    setText(control, may ? "Release control" : waitsForControl() ? "Stop waiting" : "Take control");
    control.disabled = watch.state !== "live";
    for (const one of forControl) one.disabled = !may;
    again.hidden = watch.state !== "ended";
    stop.hidden = leaseNow() === undefined;
    notes.replaceChildren(...notesOf(own, state, watch).map(([kind, words]) => notice(kind, ...words)));
    setText(way, watch.state === "live" ? `The pictures come ${watch.way}.` : "");
    way.hidden = watch.state !== "live";
    about.show(state, watch.viewer);
    box?.tell(state?.black_box);
  }

  /** @param {boolean} on */
  function setControl(on) {
    watch.control = on;
    if (on) field.focus({ preventScroll: true });
    else keys.release();
    if (on) return;
    for (const [opener, part] of /** @type {const} */ ([
      [moreKeys, keys.root],
      [pasting, clipboard.root],
    ]))
      if (!part.hidden) toggle(opener, part);
  }

  watch.addEventListener("change", () => {
    show();
    void asked.now();
  });
  watch.addEventListener("size", () => {
    stage.style.setProperty("--aspect", `${watch.width} / ${watch.height}`);
  });
  watch.addEventListener(
    "clipboard",
    (event) => event instanceof CustomEvent && clipboard.show(event.detail),
  );
  stage.addEventListener("pointerdown", ({ pointerType }) => {
    // On a phone that would open its keyboard with each tap: there is a button for it.
    if (pointerType !== "touch" && watch.control) field.focus({ preventScroll: true });
  });
  // Before noVNC sees it: the way out of the keyboard of the host.
  stage.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || !event.shiftKey) return;
      event.preventDefault();
      event.stopPropagation();
      keyboard.focus();
    },
    { capture: true },
  );

  const asked = poll({
    path: place.state,
    on: ["screen.*", "black_box.*", "approval.*", "lease.*", "run.started", "run.ended"],
    every: STATE_EVERY_S,
    rest: STATE_EVERY_S,
    show(answer) {
      made.fail(null);
      state = answer;
      show();
    },
    fail(error) {
      made.fail(error);
      about.stopLoading();
    },
  });
  const measuring = setInterval(() => {
    if (!document.hidden) void about.measure(mine());
  }, 1_000);
  signal.addEventListener("abort", () => clearInterval(measuring));
  show();
  watch.begin();
}
