/** The lister against children that behave, refuse, hang and crash. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createUsbLister, type UsbListerOptions } from "../../../src/host/usb/lister";
import { temporaryFolder, until } from "../../support";
import { stick } from "./support";

const CHILD = JSON.stringify(join(import.meta.dir, "../../../src/lib/child"));
const ERRORS = JSON.stringify(join(import.meta.dir, "../../../src/lib/errors"));

/** A child whose reply to a request for `source` is `replies[source]`; `"hang"` and `"crash"` do what they say. */
const child = (replies: Record<string, unknown>) => [
  process.execPath,
  "-e",
  `import { serveParent } from ${CHILD};
   import { unavailable } from ${ERRORS};
   const replies = ${JSON.stringify(replies)};
   await serveParent(({ changed }) => ({
     watch: () => void setTimeout(changed),
     list(source) {
       if (replies[source] === "hang") for (;;);
       if (replies[source] === "crash") process.kill(process.pid, "SIGSEGV");
       const { devices, error } = replies[source];
       if (error) throw unavailable(error);
       return devices;
     },
   }));`,
];

function listerOver(replies: Record<string, unknown>, options: UsbListerOptions = {}) {
  const lister = createUsbLister({ platform: "linux", command: child(replies), ...options });
  return { lister, [Symbol.dispose]: () => lister.stop() };
}

test("the addon is asked first", async () => {
  using usb = listerOver({ usb: { devices: [stick()] } });
  expect(await usb.lister.list()).toEqual({ backend: "usb", error: null, devices: [stick()] });
});

test("an addon that cannot list is replaced by the platform, and the reason is reported", async () => {
  using usb = listerOver({ usb: { error: "cannot load" }, linux: { devices: [stick()] } });
  expect(await usb.lister.list()).toEqual({
    backend: "linux",
    error: "usb: cannot load",
    devices: [stick()],
  });
});

test("an addon that finds nothing is believed where the platform finds nothing either, which is asked once", async () => {
  using nothing = listerOver({ usb: { devices: [] }, linux: { devices: [] } });
  expect(await nothing.lister.list()).toEqual({ backend: "usb", error: null, devices: [] });
  using blind = listerOver({ usb: { devices: [] }, linux: { devices: [stick()] } });
  expect(await blind.lister.list()).toEqual({
    backend: "linux",
    error: "usb: it found no device",
    devices: [stick()],
  });
});

test("an addon that finds nothing beside a platform that cannot list is a failure, not an empty list", async () => {
  using blind = listerOver(
    { usb: { devices: [] }, windows: { error: "Get-PnpDevice answered with nothing" } },
    { platform: "win32" },
  );
  await expect(blind.lister.list()).rejects.toMatchObject({
    code: "unavailable",
    message:
      "USB devices cannot be listed: usb: it found no device; windows: Get-PnpDevice answered with nothing",
  });
});

test("an addon that hangs costs its deadline once, then is not used for a minute", async () => {
  using usb = listerOver({ usb: "hang", linux: { devices: [] } }, { deadlineMs: { usb: 150 } });
  expect(await usb.lister.list()).toMatchObject({
    backend: "linux",
    error: "usb: the process that lists devices did not answer within 0.15 s, and was killed",
  });
  expect((await usb.lister.list()).error).toStartWith("usb: not used for a minute");
});

test("an addon that crashes takes only the child with it", async () => {
  using usb = listerOver({ usb: "crash", linux: { devices: [] } });
  expect(await usb.lister.list()).toMatchObject({
    backend: "linux",
    error: "usb: the process that lists devices was killed by SIGSEGV during the call",
  });
});

test("while the addon hangs, this process goes on", async () => {
  using usb = listerOver({ usb: "hang", linux: { devices: [] } }, { deadlineMs: { usb: 150 } });
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 10);
  await usb.lister.list();
  clearInterval(ticking);
  expect(ticks).toBeGreaterThan(5);
});

test("a platform without its own way to list is unsupported", async () => {
  using usb = listerOver({ usb: { error: "cannot load" } }, { platform: "freebsd" });
  expect(await usb.lister.list()).toEqual({ backend: "unsupported", error: "usb: cannot load", devices: [] });
});

test("when the platform fails as well, that is a failure naming both, not an empty list", async () => {
  using usb = listerOver({ usb: { error: "cannot load" }, linux: { error: "EACCES" } });
  await expect(usb.lister.list()).rejects.toThrow(
    "USB devices cannot be listed: usb: cannot load; linux: EACCES",
  );
});

test("a child that cannot be started is a failure, too", async () => {
  using usb = listerOver({}, { command: ["/nonexistent/svc"] });
  await expect(usb.lister.list()).rejects.toThrow("USB devices cannot be listed");
});

test("a watcher gets the events of the addon after the first list", async () => {
  using usb = listerOver({ usb: { devices: [] }, linux: { devices: [] } });
  const changed = Promise.withResolvers<void>();
  const unwatch = usb.lister.watch(changed.resolve);
  await usb.lister.list();
  await changed.promise;
  unwatch();
});

test("a listing that nobody waits for any longer ends, and the addon is used again", async () => {
  using folder = temporaryFolder();
  const started = join(folder.path, "started");
  // Hangs the first time only.
  const command = child({ usb: { devices: [stick()] } });
  const hangsOnce = `import { existsSync, writeFileSync } from "node:fs";
    if (!existsSync(${JSON.stringify(started)})) { writeFileSync(${JSON.stringify(started)}, ""); for (;;); }
    ${command[2]}`;
  using usb = listerOver({}, { command: [process.execPath, "-e", hangsOnce] });
  const gone = new AbortController();
  const abandoned = usb.lister.list(gone.signal);
  await until("the child", () => existsSync(started));
  gone.abort();
  await expect(abandoned).rejects.toThrow();
  expect(await usb.lister.list()).toMatchObject({ backend: "usb", devices: [stick()] });
});

test("listings at the same time share one child, and each has its answer", async () => {
  using usb = listerOver({ usb: { devices: [stick()] } });
  const listings = await Promise.all(Array.from({ length: 20 }, () => usb.lister.list()));
  expect(listings.every(({ devices }) => devices.length === 1)).toBe(true);
});
