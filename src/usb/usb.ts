/**
 * USB of one process: a lister, a watcher over it, and whether serial numbers may be shown.
 */
import type { Log } from "../lib/log";
import { maskSerial, type UsbDevice } from "./device";
import { createUsbLister } from "./lister";
import { createUsbWatcher } from "./watcher";

export type Usb = ReturnType<typeof createUsb>;

export function createUsb({ log, mask_serials }: { readonly log: Log; readonly mask_serials: boolean }) {
  const lister = createUsbLister({ log });
  const watcher = createUsbWatcher(lister, log);
  return {
    lister,
    watcher,
    /** The device as it may be shown: with its serial number masked when `mask` or the process says so. */
    toView: (device: UsbDevice, mask: boolean) => (mask || mask_serials ? maskSerial(device) : device),
    stop() {
      watcher.stop();
      lister.stop();
    },
  };
}
