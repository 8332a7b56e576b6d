/** `svc usb`: lists USB devices, and prints those that come and go. */
import type * as v from "valibot";
import { unread } from "../src/cli/output";
import { type Group, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { listUsbDevices, recentUsbEvents, startUsbWatch } from "../src/host/usb/operations";
import { printable } from "../src/lib/sanitize";
import { terminated } from "../src/lib/signals";
import { timeText } from "../src/lib/time-text";

type Event = v.InferOutput<typeof recentUsbEvents.output>["events"][number];
type Device = Event["device"];

const { mask_serials } = listUsbDevices.input.entries;

export default {
  verbs: {
    watch: view(startUsbWatch, {
      describe: "Print USB devices as they are added or removed, until Ctrl-C",
      names: { poll_interval_s: "interval" },
      extra: { mask_serials },
      async run({ service, globals, input, extra, call }) {
        const { watcher, toView } = await service.usb();
        watcher.subscribe((event) => {
          const shown = { ...event, device: toView(event.device, extra.mask_serials) };
          print(globals, shown, () => lineOf(shown));
        });
        const ended = Promise.race([terminated(), unread()]);
        await Promise.race([call(input), ended]);
        service.log.info("watching USB devices; Ctrl-C ends it");
        await ended;
        return 0;
      },
      examples: [["$0 usb watch --json", "One line of JSON for each device added or removed"]],
    }),
    list: view(listUsbDevices, {
      columns: ["ID", "WHERE", "SPEED", "MANUFACTURER", "PRODUCT", "SERIAL"],
      rows: ({ devices }) => devices.map(rowOf),
      none: "no USB devices",
      warnings: ({ backend, error }) => (error ? [`listed through ${backend}, ${error}`] : []),
      good: ({ backend }) => backend !== "unsupported",
      examples: [["$0 usb list", "The devices of this host"]],
    }),
    events: view(recentUsbEvents, {
      columns: ["TIME", "EVENT", "ID", "WHERE", "SERIAL", "NAME"],
      rows: ({ events }) =>
        events.map(({ at, kind, device }) => [
          at,
          kind,
          idOf(device),
          device.bus_location ?? "",
          device.serial ?? "",
          nameOf(device),
        ]),
      none: "no events",
      warnings: ({ watcher_running }) =>
        watcher_running ? [] : ["the server does not watch USB: start it with --usb-watch"],
      good: ({ watcher_running }) => watcher_running,
      examples: [["$0 usb events", "Devices added or removed while `svc serve --usb-watch` ran"]],
    }),
  },
} satisfies Group;

const rowOf = (device: Device) => [
  idOf(device),
  device.bus_location ?? "",
  device.extra.speed ?? "",
  device.manufacturer ?? "",
  device.product ?? "",
  device.serial ?? "",
];

function lineOf({ at, kind, device }: Event): string {
  const serial = device.serial && `serial ${device.serial}`;
  const where = device.bus_location && `at ${device.bus_location}`;
  return printable(
    [timeText(at), kind.padEnd(7), idOf(device), nameOf(device), serial, where].filter(Boolean).join("  "),
    300,
  );
}

const nameOf = ({ manufacturer, product }: Device) => [manufacturer, product].filter(Boolean).join(" ");

const idOf = ({ vendor_id, product_id }: Device) => `${vendor_id ?? "????"}:${product_id ?? "????"}`;
