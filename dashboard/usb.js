/**
 * USB devices: what is plugged in, and what was added and removed.
 */
import { el, setText } from "./dom.js";
import { counted } from "./format.js";
import { actionButton, badge, nothing, notice, panel, time } from "./parts.js";
import { table } from "./table.js";

/** Seconds between requests of the list while the watcher reports no change. */
const LIST_EVERY_S = 15;

/** Events that are shown. */
const EVENTS = 100;

/** @typedef {import("./wire").Answer<"usb/devices">["devices"][number]} Device */
/** @typedef {import("./wire").Answer<"usb/events">["events"][number]} UsbEvent */

/** The name of a device, or its class. @param {Device} device */
export const nameOf = ({ manufacturer, product, extra }) =>
  [manufacturer, product].filter(Boolean).join(" ") ||
  (extra.class ? `Unnamed (${extra.class})` : "Unnamed device");

/** @param {Device} device */
export const idsOf = ({ vendor_id, product_id }) => `${vendor_id ?? "????"}:${product_id ?? "????"}`;

/** @param {import("./view.js").View} view */
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

  const list = poll(
    LIST_EVERY_S,
    "usb/devices",
    ({ backend, error, devices: found }) => {
      devices.fail(null);
      setText(about, `${counted(found.length, "device")} · listed by ${backend}`);
      devices.notes.replaceChildren(...(error ? [notice("warn", error)] : []));
      listed.show(found);
    },
    devices.fail,
  );

  let newest = -1;
  const polled = poll(
    5,
    `usb/events?limit=${EVENTS}`,
    (answer) => {
      feed.fail(null);
      watch.setAttribute("aria-checked", String(answer.watcher_running));
      events.show([...answer.events].reverse());
      if (newest !== -1 && newest !== answer.newest_seq) list.now();
      newest = answer.newest_seq;
    },
    feed.fail,
  );

  async function toggle() {
    const on = watch.getAttribute("aria-checked") === "true";
    await api.run(on ? "AC_usb_watch_stop" : "AC_usb_watch_start");
    await polled.now();
  }
}
