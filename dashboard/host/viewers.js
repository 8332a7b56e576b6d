/** Who looks at a screen. */
import { el } from "../dom.js";
import { actionButton, badge, nothing, time } from "../parts.js";
import { table } from "../table.js";

/** @typedef {import("../wire").Answer<"screen/state">["viewers"][number]} Viewer */

const CARRIERS = { websocket: "WebSocket", channel: "data channel", proxy: "VNC viewer" };

/** @param {Viewer} viewer */
function stateOf({ state, control, wants_control, approval_id }) {
  if (approval_id !== null) return badge("warn", "waits for a person");
  if (control) return badge("warn", "controls");
  if (state === "waiting") return badge("none", "opening");
  return wants_control ? badge("info", "waits for control") : badge("ok", "looks");
}

/**
 * @param {object} options
 * @param {((id: string) => Promise<void>) | null} options.end ends one; null for who may not
 * @param {(error: Error | null) => void} options.tell
 */
export function viewersTable({ end, tell }) {
  const listed = table({
    label: "Viewers of this screen",
    columns: [
      {
        label: "Viewer",
        kind: "wide",
        cell: (/** @type {Viewer & { isOwn: boolean }} */ { name, isOwn }) =>
          el("div", {}, el("strong", {}, name), isOwn && el("span", { class: "hint" }, " (this page)")),
      },
      {
        label: "By",
        cell: ({ carrier, route }) =>
          el("div", {}, CARRIERS[carrier], route && el("div", { class: "hint" }, route)),
      },
      { label: "Since", cell: ({ since }) => time(since) },
      { label: "State", kind: "tight", cell: stateOf },
      {
        label: "End",
        kind: "actions",
        hidden: end === null,
        cell: (viewer) =>
          end === null || viewer.isOwn
            ? []
            : actionButton(
                ["End", el("span", { class: "unseen" }, ` ${viewer.name}`)],
                () => end(viewer.id),
                tell,
              ),
      },
    ],
    key: ({ id }) => id,
    empty: () => nothing("Nobody looks", "Who watches this screen live is listed here."),
  });
  return {
    root: listed.root,
    /**
     * @param {readonly Viewer[]} viewers
     * @param {string | null} [own] the id of that of this page
     */
    show(viewers, own = null) {
      listed.show(viewers.map((one) => ({ ...one, isOwn: one.id === own })));
    },
  };
}
