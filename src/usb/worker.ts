/**
 * The child process that talks to USB: an addon that hangs or crashes, or a kernel that keeps a reader waiting while
 * it resets a device, takes this process with it and not the server.
 */
import { answerParent } from "../lib/child";
import { messageOf, unavailable } from "../lib/errors";
import { listAddon, onHotplug } from "./addon";
import type { UsbDevice } from "./device";
import { listLinux } from "./linux";
import { listMacos } from "./macos";
import type { UsbRequest, UsbSource, UsbTold } from "./protocol";
import { listWindows } from "./windows";

const sources: Record<UsbSource, () => UsbDevice[] | Promise<UsbDevice[]>> = {
  usb: () => listAddon(),
  linux: () => listLinux(),
  macos: listMacos,
  windows: listWindows,
};

/** Answers until the parent goes. */
export default function usbChild(): Promise<void> {
  return answerParent<UsbRequest, UsbTold, UsbDevice[]>(async (request, tell) => {
    if (request.ask === "list") return listThrough(request.source);
    // Where the addon has no such events, polling has to do. It throws some of the reasons where nobody can catch them.
    process.on("uncaughtException", () => {});
    process.on("unhandledRejection", () => {});
    await onHotplug(() => tell("changed")).catch(() => {});
    return [];
  });
}

/** Whatever is in the way is what the parent tells, and no bug. */
async function listThrough(source: UsbSource): Promise<UsbDevice[]> {
  try {
    return await sources[source]();
  } catch (error) {
    throw unavailable(messageOf(error));
  }
}
