/**
 * USB devices: what is plugged in, and what was added and removed.
 */
import { el, setText } from "../dom.js";
import { counted } from "../format.js";
import { actionButton, badge, nothing, notice, panel, time } from "../parts.js";
import { table } from "../table.js";

/** Seconds between requests of the list while the watcher reports no change. */
const LIST_EVERY_S = 15;

/** The same where events come: while nobody watches, there are no events about devices. */
const LIST_REST_S = 30;

/** Events that are shown. */
const EVENTS = 100;

/** @typedef {import("../wire").Answer<"usb/devices">["devices"][number]} Device */
/** @typedef {import("../wire").Answer<"usb/events">["events"][number]} UsbEvent */

/** The name of a device, or its class. @param {Device} device */
export const nameOf = ({ manufacturer, product, extra }) =>
  [manufacturer, product].filter(Boolean).join(" ") ||
  (extra.class ? `Unnamed (${extra.class})` : "Unnamed device");

/** @param {Device} device */
export const idsOf = ({ vendor_id, product_id }) => `${vendor_id ?? "????"}:${product_id ?? "????"}`;

/**
 * The events after another one.
 *
 * @param {import("../wire").Answer<"usb/events">} answer
 * @param {import("../events.js").Happening} happened
 */
function afterUsb(answer, { type, data }) {
  if (type === "usb.watching") return { ...answer, watcher_running: Boolean(data.running) };
  const { seq, device, at } = /** @type {Omit<UsbEvent, "kind">} */ (data);
  if (seq <= answer.newest_seq) return answer;
  if (seq > answer.newest_seq + 1) return null;
  const kind = /** @type {UsbEvent["kind"]} */ (type.slice("usb.".length));
  const events = [...answer.events, { seq, kind, device, at }].slice(-EVENTS);
  return { ...answer, events, count: events.length, newest_seq: seq };
}

/** @param {import("../view.js").View} view */
export function open({ root, api, may, poll }) {
  const about = el("span", { class: "hint" });
  const devices = panel("Devices", { tools: [about] });
  const listed = table({
    label: "USB devices",
    columns: [
      { label: "Device", kind: "wide", cell: (/** @type {Device} */ device) => nameOf(device) },
      { label: "IDs", kind: "tight", cell: (device) => el("code", {}, idsOf(device)) },
      { label: "Serial", cell: ({ serial }) => (serial === null ? "–" : el("code", {}, serial)) },
      { label: "Port", kind: "tight", cell: ({ bus_location }) => el("code", {}, bus_location ?? "–") },
      { label: "Class", cell: ({ extra }) => extra.class ?? "–" },
      { label: "Speed", cell: ({ extra }) => extra.speed?.replace("_", " ") ?? "–" },
    ],
    key: (device) => [idsOf(device), device.serial, device.bus_location].join(" "),
    empty: () => nothing("No USB devices", "None is connected, or svc is not allowed to list them."),
  });
  devices.body.append(listed.root);

  const watch = actionButton("Watch", toggle, (error) => feed.tell(error), {
    role: "switch",
    "aria-checked": "false",
    class: "switch",
  });
  const feed = panel("Events", { tools: [may("operate") && watch] });
  const events = table({
    label: "USB events, newest first",
    columns: [
      { label: "When", cell: (/** @type {UsbEvent} */ { at }) => time(at) },
      { label: "What", kind: "tight", cell: ({ kind }) => badge(kind === "added" ? "ok" : "warn", kind) },
      { label: "Device", kind: "wide", cell: ({ device }) => nameOf(device) },
      { label: "IDs", kind: "tight", cell: ({ device }) => el("code", {}, idsOf(device)) },
      { label: "Port", kind: "tight", cell: ({ device }) => el("code", {}, device.bus_location ?? "–") },
    ],
    key: ({ seq }) => seq,
    empty: () =>
      watch.getAttribute("aria-checked") === "true"
        ? nothing("No events yet", "A device that is plugged in appears here within seconds.")
        : nothing(
            "Not watching",
            may("operate")
              ? "Switch on Watch to list devices as they are added and removed."
              : "The watcher of this host is off.",
          ),
  });
  feed.body.append(
    el("div", { class: "tall bleed", tabindex: 0, role: "group", "aria-label": "Events" }, events.root),
  );
  root.append(el("div", { class: "stack" }, devices.root, feed.root));

  const list = poll({
    path: "usb/devices",
    on: [],
    every: LIST_EVERY_S,
    rest: LIST_REST_S,
    show({ backend, error, devices: found }) {
      devices.fail(null);
      setText(about, `${counted(found.length, "device")} · listed by ${backend}`);
      devices.notes.replaceChildren(...(error ? [notice("warn", error)] : []));
      listed.show(found);
    },
    fail: devices.fail,
  });

  let newest = -1;
  const polled = poll({
    path: `usb/events?limit=${EVENTS}`,
    on: ["usb.*"],
    every: 5,
    apply: afterUsb,
    show(answer) {
      feed.fail(null);
      watch.setAttribute("aria-checked", String(answer.watcher_running));
      events.show([...answer.events].reverse());
      if (newest !== -1 && newest !== answer.newest_seq) list.now();
      newest = answer.newest_seq;
    },
    fail: feed.fail,
  });

  async function toggle() {
    const on = watch.getAttribute("aria-checked") === "true";
    await api.run(on ? "AC_usb_watch_stop" : "AC_usb_watch_start");
    await polled.now();
  }
}
