/**
 * The child process that talks to USB: an addon that hangs or crashes, or a kernel that keeps a reader waiting while
 * it resets a device, takes this process with it and not the server.
 */
import { serveParent } from "../lib/child";
import { messageOf, unavailable } from "../lib/errors";
import { listAddon, onHotplug } from "./addon";
import type { UsbDevice } from "./device";
import { listLinux } from "./linux";
import { listMacos } from "./macos";
import type { UsbCalls, UsbEvents, UsbSource } from "./protocol";
import { listWindows } from "./windows";

const sources: Record<UsbSource, () => UsbDevice[] | Promise<UsbDevice[]>> = {
  usb: () => listAddon(),
  linux: () => listLinux(),
  macos: listMacos,
  windows: listWindows,
};

/** Answers until the parent goes. */
export default function usbChild(): Promise<void> {
  return serveParent<UsbCalls, UsbEvents>(({ changed }) => ({
    async list(source) {
      try {
        return await sources[source]();
      } catch (error) {
        // The parent lists another way and reports why; no bug.
        throw unavailable(messageOf(error));
      }
    },
    async watch() {
      // Where the addon has no such events, polling has to do. It throws some of the reasons where nobody can catch them.
      process.on("uncaughtException", () => {});
      process.on("unhandledRejection", () => {});
      await onHotplug(changed).catch(() => {});
    },
  }));
}
