/** The USB page in Chromium, on a machine with devices that come and go. */

import { expect } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { browserTest, launchBrowser, openPage } from "../browser";
import { startMachine } from "../host/usb/machine";
import { SOURCE, TOKEN, temporaryFolder } from "../support";

browserTest(
  "umockdev-run",
  "unshare",
  "nsenter",
  "python3",
)("a device that is plugged in is in the feed and in the list, its name as text", async () => {
  using folder = temporaryFolder();
  await using machine = await startMachine(
    folder.path,
    `${SOURCE.join(" ")} serve --port 0 --json --usb-watch --config-dir config`,
    { SVC_TOKEN: TOKEN },
  );
  const { url } = JSON.parse((await machine.lines.next()).value ?? "{}");
  const chromium = join(folder.path, "chromium");
  writeFileSync(
    chromium,
    `#!/bin/sh\nexec nsenter -t ${machine.pid} -U -n --preserve-credentials chromium "$@"\n`,
  );
  chmodSync(chromium, 0o700);
  const browser = await launchBrowser(chromium);
  try {
    await using tab = await openPage(browser, `${url}/dashboard#usb`, { typed: TOKEN });
    const { page } = tab;
    await page.getByText("2 devices").waitFor();
    const devices = page.getByRole("table", { name: "USB devices" });
    await devices.getByText("Cruzer \\u001b]0;owned\\u0007Blade").waitFor();
    machine.plug(7, 4);
    const events = page.getByRole("table", { name: /USB events/ });
    await events.getByRole("row", { name: /added Logitech USB Receiver 046d:c52b 1-7/ }).waitFor();
    await devices.getByText("1-7").waitFor();
    machine.unplug(7, 4);
    await events.getByRole("row", { name: /removed Logitech USB Receiver/ }).waitFor();
    expect(tab.complaints).toEqual([]);
  } finally {
    await browser.close();
  }
});
