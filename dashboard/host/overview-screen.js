/**
 * The screen of a host on its overview: a small picture of it, and who looks.
 */
import { ApiError } from "../api-error.js";
import { el, setText } from "../dom.js";
import { counted } from "../format.js";
import { viewersTable } from "./viewers.js";

/** Pixels of the picture in its width. */
const WIDTH = 640;

/** Seconds between requests for who looks, where events come: the picture comes with the answer. */
const REST_S = 120;

/**
 * Who looks at the screen, and a way to end it.
 *
 * @param {import("../view.js").View} view
 * @param {import("./overview-line.js").StateLine} line
 * @param {import("./overview-glances.js").FactList} facts
 * @param {() => Promise<void>} asked is called whenever the server has said who looks
 */
export function viewersGlance({ api, may, poll }, line, facts, asked) {
  const trouble = el("p", { class: "trouble", role: "alert", hidden: true });
  const listed = viewersTable({
    end: may("operate") ? end : null,
    tell(error) {
      setText(trouble, error?.message ?? "");
      trouble.hidden = error === null;
    },
  });
  const root = el("div", { hidden: true }, trouble, listed.root);
  /** @param {string} id */
  async function end(id) {
    await api.post("sessions/close", { id });
    await polled.now();
  }
  const polled = poll({
    path: "screen/state",
    on: ["screen.*"],
    every: 10,
    rest: REST_S,
    show({ viewers }) {
      line.fail("screen", null);
      facts.say("Looking", viewers.length === 0 ? "nobody" : counted(viewers.length, "viewer"));
      root.hidden = viewers.length === 0;
      listed.show(viewers);
      void asked();
    },
    fail: (error) => line.fail("screen", error),
  });
  return root;
}

/** A picture of the screen, which leads to the live one. @param {import("../view.js").View} view */
export function screenPicture({ api, signal }) {
  const picture = el("img", { alt: "The screen of this host, live" });
  const root = el("a", { class: "glance-picture", href: "#live", hidden: true }, picture);
  let address = "";
  let isThere = false;
  let isAsked = false;
  signal.addEventListener("abort", () => URL.revokeObjectURL(address));

  /** Takes the place of the picture before; what cannot be seen now leaves none. */
  async function look() {
    if (!isThere || isAsked || signal.aborted) return;
    isAsked = true;
    try {
      const image = await api.blob(`screen/thumbnail?width=${WIDTH}`, { signal });
      if (signal.aborted) return;
      const before = address;
      address = URL.createObjectURL(image);
      picture.src = address;
      root.hidden = false;
      URL.revokeObjectURL(before);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      root.hidden = true;
    } finally {
      isAsked = false;
    }
  }

  return {
    root,
    look,
    /** Shows it from now on, or no longer. @param {boolean} has whether there is a display */
    follow(has) {
      const begins = has && !isThere;
      isThere = has;
      if (!has) root.hidden = true;
      if (begins) void look();
    },
  };
}
