/**
 * The child process that talks to USB: an addon that hangs or crashes, or a kernel that keeps a reader waiting while
 * it resets a device, takes this process with it and not the server.
 */
import { messageOf } from "../lib/errors";
import { listAddon, onHotplug } from "./addon";
import type { UsbDevice } from "./device";
import { listLinux } from "./linux";
import { listMacos } from "./macos";
import type { UsbReply, UsbRequest, UsbSource } from "./protocol";
import { listWindows } from "./windows";

const sources: Record<UsbSource, () => UsbDevice[] | Promise<UsbDevice[]>> = {
  usb: () => listAddon(),
  linux: () => listLinux(),
  macos: listMacos,
  windows: listWindows,
};

/** Answers until the parent goes. */
export default async function usbChild(): Promise<void> {
  const reply = (message: UsbReply) => process.send?.(message);
  // A terminal's Ctrl-C reaches the whole group; it is for the parent to end this process.
  process.on("SIGINT", () => {});
  process.on("disconnect", () => process.exit(0));
  process.on("message", (request: UsbRequest) => {
    if (request.ask === "hotplug") {
      // Where the addon has no such events, polling has to do. It throws some of the reasons where nobody can catch them.
      process.on("uncaughtException", () => {});
      process.on("unhandledRejection", () => {});
      onHotplug(() => reply({ changed: true })).catch(() => {});
      return;
    }
    answer(request.id, request.source).then(reply);
  });
}

async function answer(id: number, source: UsbSource): Promise<UsbReply> {
  try {
    return { id, devices: await sources[source]() };
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}
