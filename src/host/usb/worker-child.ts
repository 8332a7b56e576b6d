/**
 * The child process that talks to USB: an addon that hangs or crashes, or a kernel that keeps a reader waiting while
 * it resets a device, takes down this process and not the server.
 */
import { serveParent } from "../../lib/child";
import { confineLightly } from "../../lib/confine";
import { messageOf, unavailable } from "../../lib/errors";
import { SOURCES, type UsbCalls, type UsbEvents } from "./sources";

export default async function usbChild(): Promise<void> {
  await confineLightly();
  await serveParent<UsbCalls, UsbEvents>(({ changed }) => ({
    async list(source) {
      try {
        return await (await SOURCES[source].load()).list();
      } catch (error) {
        // No bug: the parent lists another way and reports the reason.
        throw unavailable(messageOf(error));
      }
    },
    async watch() {
      // Where the addon has no events, polling must suffice. It throws some of its errors where no caller can catch them.
      process.on("uncaughtException", () => {});
      process.on("unhandledRejection", () => {});
      const { onHotplug } = await import("./lister-addon");
      await onHotplug(() => changed()).catch(() => {});
    },
  }));
}
