import { command, print, terminated, unread, withService } from "../src/cli/command";
import { type AskFlags, ask, onHosts } from "../src/cli/fan-out";
import { callLocalServer } from "../src/client/local-server";
import { badInput } from "../src/lib/errors";
import { printable } from "../src/lib/sanitize";
import type { Service } from "../src/service";
import type { UsbDevice } from "../src/usb/device";
import { listUsbDevices, recentUsbEvents } from "../src/usb/operations";
import { DEFAULT_INTERVAL_S, MAX_INTERVAL_S, MIN_INTERVAL_S, type UsbEvent } from "../src/usb/watcher";

export default command({
  builder: (argv) =>
    onHosts(argv)
      .positional("action", { choices: ["list", "watch", "events"] as const, demandOption: true })
      .option("mask-serials", { type: "boolean", default: false, describe: "Hide serial numbers" })
      .option("interval", {
        type: "number",
        default: DEFAULT_INTERVAL_S,
        describe: `watch: seconds between polls, ${MIN_INTERVAL_S} or more`,
      })
      .option("since", { type: "number", default: 0, describe: "events: those with a higher number" })
      .option("limit", { type: "number", default: 100, describe: "events: the newest so many" })
      .example("$0 usb list", "What is plugged in")
      .example("$0 usb list --on tag:lab", "On hosts of the address book")
      .example("$0 usb watch --json", "One line of JSON as something comes or goes")
      .example("$0 usb events", "What came and went while `svc serve --usb-watch` ran"),
  handler: (flags) =>
    withService(
      flags,
      async (service) => {
        if (flags.on !== undefined && flags.action !== "list") throw badInput("on: expected with list only");
        return actions[flags.action](service, flags);
      },
      { maskSerials: flags.maskSerials },
    ),
});

interface Flags extends AskFlags {
  readonly maskSerials: boolean;
  readonly interval: number;
  readonly since: number;
  readonly limit: number;
}

const actions = {
  async list(service: Service, flags: Flags) {
    return ask(service, flags, listUsbDevices, flags.maskSerials ? { mask_serials: true } : {}, {
      columns: ["ID", "WHERE", "SPEED", "MANUFACTURER", "PRODUCT", "SERIAL"],
      rows: ({ devices }) => devices.map(deviceRow),
      none: "no USB devices",
      warnings: ({ backend, error }) => (error ? [`listed through ${backend}, ${error}`] : []),
      good: ({ backend }) => backend !== "unsupported",
    });
  },

  async watch(service: Service, flags: Flags) {
    if (!(flags.interval >= MIN_INTERVAL_S && flags.interval <= MAX_INTERVAL_S)) {
      throw badInput(
        `interval: expected ${MIN_INTERVAL_S} to ${MAX_INTERVAL_S} seconds but found ${flags.interval}`,
      );
    }
    const { watcher, tell } = await service.usb();
    watcher.subscribe((event) => {
      const told = { ...event, device: tell(event.device, flags.maskSerials) };
      print(flags, told, () => eventLine(told));
    });
    const ended = Promise.race([terminated(), unread()]);
    await Promise.race([watcher.start(flags.interval), ended]);
    service.log.info("watching USB devices; Ctrl-C ends it");
    await ended;
    return 0;
  },

  async events(service: Service, flags: Flags) {
    const { since, limit, maskSerials: mask_serials } = flags;
    const body = await callLocalServer(service.configDir, recentUsbEvents, { since, limit, mask_serials });
    const { events, watcher_running } = body;
    if (!watcher_running) service.log.warn("the server does not watch USB: start it with --usb-watch");
    print(flags, body, () => events.map(eventLine).join("\n") || "no events");
    return watcher_running ? 0 : 1;
  },
};

const deviceRow = (device: UsbDevice) => [
  idOf(device),
  device.bus_location ?? "",
  device.extra.speed ?? "",
  device.manufacturer ?? "",
  device.product ?? "",
  device.serial ?? "",
];

function eventLine({ at, kind, device }: UsbEvent): string {
  const name = [device.manufacturer, device.product].filter(Boolean).join(" ");
  const serial = device.serial && `serial ${device.serial}`;
  const where = device.bus_location && `at ${device.bus_location}`;
  const told = [at, kind.padEnd(7), idOf(device), name, serial, where].filter(Boolean);
  return printable(told.join("  "), 300);
}

const idOf = ({ vendor_id, product_id }: UsbDevice) => `${vendor_id ?? "????"}:${product_id ?? "????"}`;
