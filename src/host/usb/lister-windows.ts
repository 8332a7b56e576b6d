/**
 * USB devices from the Windows plug and play manager.
 */
import { runProgram } from "../../lib/run-program";
import { deviceText, hexId, type UsbDevice } from "./device";
import { itemsOf, parseReport, type Report } from "./report";

/**
 * A fixed script without parameters. Without its first line, PowerShell 5 answers in the console's code page. That there is no device is
 * an error of `Get-PnpDevice`, too, and answered with `[]`; any other ends the script with a status.
 */
export const SCRIPT = `
[Console]::OutputEncoding = [System.Text.UTF8Encoding]::new($false)
$ErrorActionPreference = 'Stop'
$fields = 'InstanceId', 'FriendlyName', 'Manufacturer', 'Service'
$devices = @(Get-PnpDevice -PresentOnly -Class USB -ErrorAction SilentlyContinue -ErrorVariable failed |
  Select-Object -Property $fields)
if ($failed -and $failed[0].CategoryInfo.Category -ne 'ObjectNotFound') { exit 1 }
ConvertTo-Json -Compress -InputObject $devices
`;

/** @throws an `unavailable` or `timeout` failure when PowerShell gives no report. */
export async function list(): Promise<UsbDevice[]> {
  return parseWindows(
    await runProgram(["powershell.exe", "-NoProfile", "-NonInteractive", "-Command", SCRIPT]),
  );
}

/**
 * The devices of a report, which is one object or a list of them. Host controllers, root hubs and the interfaces
 * of composite devices are not devices.
 *
 * @throws an `unavailable` failure when it is not JSON.
 */
export function parseWindows(report: Uint8Array): UsbDevice[] {
  const value = parseReport("Get-PnpDevice", report);
  return itemsOf(value).filter(isDevice).map(toDevice);
}

function isDevice({ InstanceId: id }: Report): boolean {
  if (typeof id !== "string") return true;
  return /^USB\\/i.test(id) && !/^USB\\ROOT_HUB/i.test(id) && !/&MI_[0-9a-f]{2}/i.test(id);
}

/** `USB\VID_046D&PID_C52B\5&2F8B1C&0&2`: ids, then a serial number, or one that Windows made up, with `&` and the port in it. */
function toDevice(item: Report): UsbDevice {
  const id = typeof item.InstanceId === "string" ? item.InstanceId : "";
  const [, hardware = "", instance = ""] = id.split("\\");
  const driver = deviceText(item.Service);
  return {
    vendor_id: hexId(/VID_([0-9a-f]{4})/i.exec(hardware)?.[1]),
    product_id: hexId(/PID_([0-9a-f]{4})/i.exec(hardware)?.[1]),
    manufacturer: deviceText(item.Manufacturer),
    product: deviceText(item.FriendlyName),
    serial: instance.includes("&") ? null : deviceText(instance),
    bus_location: instance.includes("&") ? deviceText(instance) : null,
    extra: { ...(driver && { driver }) },
  };
}
