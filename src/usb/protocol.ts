/**
 * What the parent and `child.ts` say to each other, over Bun's channel between processes.
 */
import type { UsbBackend, UsbDevice } from "./device";

/** A way to list that can be asked for. */
export type UsbSource = Exclude<UsbBackend, "unsupported">;

/** To the child: list through `source`, or tell of devices that come and go from now on. */
export type UsbRequest =
  | { readonly ask: "list"; readonly id: number; readonly source: UsbSource }
  | { readonly ask: "hotplug" };

/** From the child: the answer to `id`, or that something came or went. */
export type UsbReply =
  | { readonly id: number; readonly devices: readonly UsbDevice[] }
  | { readonly id: number; readonly error: string }
  | { readonly changed: true };
