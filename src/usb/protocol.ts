/**
 * What the USB child process does, and the events it reports.
 */
import type { UsbBackend, UsbDevice } from "./device";

/** A way to list devices. */
export type UsbSource = Exclude<UsbBackend, "unsupported">;

export interface UsbCalls {
  list(source: UsbSource): Promise<UsbDevice[]>;
  /** Reports `changed` from now on, where the addon can. */
  watch(): Promise<void>;
}

export interface UsbEvents {
  /** A device came or went. */
  changed(): void;
}
