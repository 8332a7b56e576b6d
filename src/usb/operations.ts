import * as v from "valibot";
import { field, NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import type { Service } from "../service";
import { DEFAULT_INTERVAL_S, MAX_EVENTS, MAX_INTERVAL_S, MIN_INTERVAL_S } from "./watcher";

const ID = v.nullable(v.pipe(v.string(), v.regex(/^[0-9a-f]{4}$/)));

const DEVICE = v.object({
  vendor_id: ID,
  product_id: ID,
  manufacturer: v.nullable(v.string()),
  product: v.nullable(v.string()),
  serial: v.nullable(v.string()),
  bus_location: v.nullable(v.string()),
  extra: v.object({
    class: v.exactOptional(v.string()),
    speed: v.exactOptional(v.picklist(["low", "full", "high", "super", "super_plus"])),
    driver: v.exactOptional(v.string()),
    ports: v.exactOptional(v.array(v.number())),
    address: v.exactOptional(v.number()),
  }),
});

const WATCH = v.object({ running: v.boolean(), interval_s: v.number() });

const maskSerials = field(
  v.optional(v.boolean(), false),
  "Hide serial numbers, but for the last four characters of long ones",
);

export const listUsbDevices = operation({
  name: "usb.list",
  summary: "List the USB devices of the host",
  scope: "read",
  command: "AC_list_usb_devices",
  http: { method: "GET", path: "/usb/devices" },
  input: v.strictObject({ mask_serials: maskSerials }),
  output: v.object({
    /** `usb`, `windows`, `macos`, `linux` or `unsupported`; hosts of other makes have names of their own. */
    backend: v.string(),
    error: v.nullable(v.string()),
    devices: v.array(DEVICE),
    count: v.number(),
  }),
  async run(service: Service, { mask_serials }) {
    const usb = await service.usb();
    const { backend, error, devices } = await usb.lister.list();
    const told = devices.map((device) => usb.tell(device, mask_serials));
    return { backend, error, devices: told, count: told.length };
  },
});

export const recentUsbEvents = operation({
  name: "usb.events",
  summary: "List the USB devices that came and went while the watcher ran, oldest first",
  scope: "read",
  command: "AC_usb_recent_events",
  http: { method: "GET", path: "/usb/events" },
  input: v.strictObject({
    since: field(
      v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
      "Only events with a higher number; when it is below oldest_seq - 1, events in between were forgotten",
    ),
    limit: field(
      v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1_000_000)), MAX_EVENTS),
      "Only the newest so many of those",
    ),
    mask_serials: maskSerials,
  }),
  output: v.object({
    events: v.array(
      v.object({ seq: v.number(), kind: v.picklist(["added", "removed"]), device: DEVICE, at: v.string() }),
    ),
    count: v.number(),
    watcher_running: v.boolean(),
    oldest_seq: v.nullable(v.number()),
    newest_seq: v.number(),
  }),
  async run(service: Service, { since, limit, mask_serials }) {
    const { watcher, tell } = await service.usb();
    const { events, oldest_seq, newest_seq } = watcher.recentEvents({ since, limit });
    const told = events.map((event) => ({ ...event, device: tell(event.device, mask_serials) }));
    return { events: told, count: told.length, watcher_running: watcher.running, oldest_seq, newest_seq };
  },
});

export const startUsbWatch = operation({
  name: "usb.watch.start",
  summary: "Watch USB devices come and go, or go on at another interval",
  scope: "operate",
  changes: true,
  command: "AC_usb_watch_start",
  input: v.strictObject({
    poll_interval_s: field(
      v.optional(
        v.pipe(v.number(), v.minValue(MIN_INTERVAL_S), v.maxValue(MAX_INTERVAL_S)),
        DEFAULT_INTERVAL_S,
      ),
      "Seconds between polls",
    ),
  }),
  output: WATCH,
  async run(service: Service, { poll_interval_s }) {
    const { watcher } = await service.usb();
    await watcher.start(poll_interval_s);
    return { running: watcher.running, interval_s: watcher.intervalS };
  },
});

export const operations = [
  listUsbDevices,
  recentUsbEvents,
  startUsbWatch,
  operation({
    name: "usb.watch.stop",
    summary: "Stop watching USB devices; the events so far are kept",
    scope: "operate",
    changes: true,
    command: "AC_usb_watch_stop",
    input: NO_INPUT,
    output: WATCH,
    async run(service: Service) {
      const { watcher } = await service.usb();
      watcher.stop();
      return { running: watcher.running, interval_s: watcher.intervalS };
    },
  }),
];
