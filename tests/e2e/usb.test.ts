/** `svc usb` as the compiled binary, from an empty folder, on a machine with the devices that umockdev gives it. */
import { expect, test } from "bun:test";
import { startMachine, TWO_DEVICES } from "../host/usb/machine";
import { installBinary, serveBinary, testWith } from "../support";

testWith("umockdev-run")(
  "both devices are listed through the addon, hostile text shown and not sent",
  async () => {
    using machine = installBinary();
    const { stdout, stderr, exitCode } = await machine.run(["usb", "list"], { before: TWO_DEVICES });
    expect(stdout).toBe(
      "ID         WHERE  SPEED  MANUFACTURER  PRODUCT                       SERIAL\n" +
        "046d:c52b  1-1    full   Logitech      USB Receiver                  -\n" +
        "0781:5567  1-2    high   SanDisk       Cruzer \\x1b]0;owned\\x07Blade  4C530001230615109384\n",
    );
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  },
);

testWith("umockdev-run")("as JSON, with the backend and serial numbers masked", async () => {
  using machine = installBinary();
  const { stdout } = await machine.run(["usb", "list", "--json", "--mask-serials"], { before: TWO_DEVICES });
  expect(stdout).toContain("\\u001b]0;owned\\u0007");
  expect(JSON.parse(stdout)).toMatchObject({
    backend: "usb",
    error: null,
    devices: [
      { vendor_id: "046d", product_id: "c52b", serial: null },
      {
        vendor_id: "0781",
        product_id: "5567",
        product: "Cruzer \u001b]0;owned\u0007Blade",
        serial: "****9384",
      },
    ],
    count: 2,
  });
});

/** `svc usb watch` that polls once an hour. */
async function watching(path: string) {
  const machine = await startMachine(path, "./svc usb watch --json --interval 3600 --config-dir config");
  await machine.log.next();
  return {
    ...machine,
    nextEvent: async () => JSON.parse((await machine.lines.next()).value ?? "null"),
  };
}

testWith("umockdev-run", "unshare", "python3")(
  "a change that the kernel reports is polled for at once, also a replug between two polls",
  async () => {
    using machine = installBinary();
    await using usb = await watching(machine.path);
    usb.plug(7, 4);
    expect(await usb.nextEvent()).toMatchObject({ seq: 1, kind: "added", device: { bus_location: "1-7" } });
    usb.unplug(7, 4);
    usb.plug(7, 5);
    expect(await usb.nextEvent()).toMatchObject({
      seq: 2,
      kind: "removed",
      device: { extra: { address: 4 } },
    });
    expect(await usb.nextEvent()).toMatchObject({ seq: 3, kind: "added", device: { extra: { address: 5 } } });
  },
  20_000,
);

test("`svc usb events` asks the server of the folder, and says when there is none", async () => {
  using machine = installBinary();
  const alone = await machine.run(["usb", "events"]);
  expect(alone.exitCode).toBe(1);
  expect(alone.stderr).toContain("start one with `svc serve`");
  await using server = await serveBinary(["--usb-watch"]);
  const asked = await machine.run(["usb", "events", "--json", "--config-dir", server.configDir], {
    env: { SVC_TOKEN: server.token },
  });
  const events = { events: [], count: 0, watcher_running: true, oldest_seq: null, newest_seq: 0 };
  expect(JSON.parse(asked.stdout)).toEqual(events);
  expect(asked.exitCode).toBe(0);
});

test("a flag out of range is exit 2 and named", async () => {
  using machine = installBinary();
  const limit = await machine.run(["usb", "events", "--limit", "0"]);
  expect(limit).toMatchObject({ exitCode: 2, stderr: "svc: --limit: expected at least 1 but found 0\n" });
  for (const [seconds, expected] of [
    ["0.1", "at least 0.25"],
    ["3601", "at most 3600"],
  ] as const) {
    const interval = await machine.run(["usb", "watch", "--interval", seconds]);
    const stderr = `svc: --interval: expected ${expected} but found ${seconds}\n`;
    expect(interval).toMatchObject({ exitCode: 2, stderr });
  }
});
