/**
 * What `child.ts` can be asked, and what it tells unasked.
 */
import type { UsbBackend } from "./device";

/** A way to list that can be asked for. */
export type UsbSource = Exclude<UsbBackend, "unsupported">;

/** List through `source`, or tell of devices that come and go from now on. */
export type UsbRequest = { readonly ask: "list"; readonly source: UsbSource } | { readonly ask: "hotplug" };

/** Something came or went. */
export type UsbTold = "changed";
