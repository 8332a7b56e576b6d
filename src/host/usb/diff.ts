/**
 * What changed between two listings.
 */
import type { UsbDevice, UsbEvent, UsbListing } from "./device";

/**
 * The changes from `before` to `after`, the devices that went first. Devices are the same when ids, serial number and
 * location are, so the port distinguishes two identical sticks; the same device under another address on the bus was
 * unplugged and plugged in again. Between listings of different backends, whose locations differ, only ids and serial
 * numbers count.
 */
export function diffListings(
  before: UsbListing,
  after: UsbListing,
): Array<Pick<UsbEvent, "kind" | "device">> {
  const sameBackend = before.backend === after.backend;
  const key = ({ vendor_id, product_id, serial, bus_location }: UsbDevice) =>
    JSON.stringify([vendor_id, product_id, serial, sameBackend && bus_location]);
  const unmatched = Map.groupBy(before.devices, key);
  const removed: UsbDevice[] = [];
  const added: UsbDevice[] = [];
  for (const device of after.devices) {
    const known = unmatched.get(key(device))?.shift();
    if (known && (!sameBackend || known.extra.address === device.extra.address)) continue;
    if (known) removed.push(known);
    added.push(device);
  }
  removed.push(...[...unmatched.values()].flat());
  return [
    ...removed.map((device) => ({ kind: "removed", device }) as const),
    ...added.map((device) => ({ kind: "added", device }) as const),
  ];
}
