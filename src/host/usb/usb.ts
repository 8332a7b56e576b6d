/**
 * USB of one process: a lister, a watcher over it, and whether serial numbers may be shown.
 */
import { type Publish, unheard } from "../../core/events";
import type { Log } from "../../lib/log";
import { maskSerial, type UsbDevice } from "./device";
import { usbAdded, usbRemoved, usbWatching } from "./events";
import { createUsbLister, type UsbLister } from "./lister";
import { createUsbWatcher, type UsbWatcher } from "./watcher";

/** USB of one process. */
export interface Usb {
  readonly lister: UsbLister;
  readonly watcher: UsbWatcher;
  /** The device as it may be shown: with its serial number masked when `mask` or the process says so. */
  toView(device: UsbDevice, mask: boolean): UsbDevice;
  stop(): void;
}

export function createUsb({
  log,
  mask_serials,
  publish = unheard,
}: {
  readonly log: Log;
  readonly mask_serials: boolean;
  readonly publish?: Publish;
}): Usb {
  const lister = createUsbLister({ log });
  const watcher = createUsbWatcher(lister, log, {
    changed: () => publish(usbWatching, { running: watcher.running, interval_s: watcher.intervalS }),
  });
  const toView = (device: UsbDevice, mask: boolean) => (mask || mask_serials ? maskSerial(device) : device);
  watcher.subscribe(({ kind, seq, device }) =>
    publish(kind === "added" ? usbAdded : usbRemoved, { seq, device: toView(device, false) }),
  );
  return {
    lister,
    watcher,
    toView,
    stop() {
      watcher.stop();
      lister.stop();
    },
  };
}
