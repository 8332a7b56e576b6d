/**
 * The operations of USB: what is plugged in, and what comes and goes.
 */
import * as v from "valibot";
import { between, field, flag, NO_INPUT, seconds, whole } from "../../core/fields";
import { operation } from "../../core/operation";
import { USB_EVENTS, USB_LISTING } from "./device";
import type { Usb } from "./usb";
import { DEFAULT_INTERVAL_S, MAX_EVENTS, MAX_INTERVAL_S, MIN_INTERVAL_S } from "./watcher";

interface Uses {
  usb(): Promise<Usb>;
}

const WATCH = v.object({ running: v.boolean(), interval_s: v.number() });
const stateOf = ({ watcher }: Usb) => ({ running: watcher.running, interval_s: watcher.intervalS });

const mask_serials = flag("Hide serial numbers, except the last four characters of long ones");

export const listUsbDevices = operation({
  name: "usb.list",
  summary: "List the USB devices of the host",
  scope: "read",
  command: "AC_list_usb_devices",
  http: { method: "GET", path: "/usb/devices" },
  input: v.strictObject({ mask_serials }),
  output: v.object({ ...USB_LISTING.entries, count: v.number() }),
  async run(service: Uses, { mask_serials }, { signal }) {
    const usb = await service.usb();
    const listing = await usb.lister.list(signal);
    const devices = listing.devices.map((device) => usb.toView(device, mask_serials));
    return { ...listing, devices, count: devices.length };
  },
});

export const recentUsbEvents = operation({
  name: "usb.events",
  summary: "List the USB devices that came or went while the watcher ran, oldest first",
  scope: "read",
  answeredBy: "server",
  serverInRuns: true,
  command: "AC_usb_recent_events",
  http: { method: "GET", path: "/usb/events" },
  input: v.strictObject({
    since: field(
      v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
      "Only events with a higher number; if it is below oldest_seq - 1, older events were dropped",
    ),
    limit: field(
      v.optional(whole(1, 1_000_000), MAX_EVENTS),
      "The maximum number of events; the newest are returned",
    ),
    mask_serials,
  }),
  output: USB_EVENTS,
  async run(service: Uses, { mask_serials, ...query }) {
    const { watcher, toView } = await service.usb();
    const recent = watcher.recentEvents(query);
    const events = recent.events.map((event) => ({ ...event, device: toView(event.device, mask_serials) }));
    return { ...recent, events };
  },
});

const leftOut = { http: "`svc serve --usb-watch` and scripts start and stop the watcher" };

export const startUsbWatch = operation({
  name: "usb.watch.start",
  summary: "Start the USB watcher, or change its interval",
  scope: "operate",
  changes: true,
  serverInRuns: true,
  command: "AC_usb_watch_start",
  subcommand: "usb watch",
  leftOut,
  input: v.strictObject({
    poll_interval_s: field(
      v.optional(seconds(between(MIN_INTERVAL_S, MAX_INTERVAL_S)), DEFAULT_INTERVAL_S),
      "Seconds between polls",
    ),
  }),
  output: WATCH,
  async run(service: Uses, { poll_interval_s }) {
    const usb = await service.usb();
    await usb.watcher.start(poll_interval_s);
    return stateOf(usb);
  },
});

export const operations = [
  listUsbDevices,
  recentUsbEvents,
  startUsbWatch,
  operation({
    name: "usb.watch.stop",
    summary: "Stop the USB watcher; its events are kept",
    scope: "operate",
    changes: true,
    serverInRuns: true,
    command: "AC_usb_watch_stop",
    leftOut: { ...leftOut, cli: "`svc usb watch` ends with Ctrl-C" },
    input: NO_INPUT,
    output: WATCH,
    async run(service: Uses) {
      const usb = await service.usb();
      usb.watcher.stop();
      return stateOf(usb);
    },
  }),
];
