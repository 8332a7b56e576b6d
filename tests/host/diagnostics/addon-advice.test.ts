/** What the loaders of systems say, and what the checks advise then. */

import { expect, test } from "bun:test";
import { loadingStep } from "../../../src/host/diagnostics/addon-advice";
import { CAPABILITIES, judgeCapabilities } from "../../../src/host/diagnostics/checks/optional-deps";
import { desktopAdvice } from "../../../src/host/diagnostics/checks/screenshot";
import { unavailable } from "../../../src/lib/errors";
import { Requester } from "../../../src/lib/slots";
import { host } from "./support";

const CASES: ReadonlyArray<readonly [reason: string, step: string]> = [
  [
    "usb: libgcc_s.so.1: cannot open shared object file: No such file or directory",
    "install libgcc_s.so.1 (Debian: libgcc-s1;",
  ],
  [
    "Error loading shared library libstdc++.so.6: No such file or directory (needed by /tmp/a.node)",
    "install libstdc++.so.6 (Debian: libstdc++6;",
  ],
  ["libudev.so.1: cannot open shared object file: No such file or directory", "install libudev.so.1"],
  [
    "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.30' not found (required by /tmp/.bun-0-18.node)",
    "the C library here is older than GLIBC_2.30:",
  ],
  [
    "/tmp/.bun-0-1857fc.node: failed to map segment from shared object",
    "set BUN_TMPDIR to a folder that has room",
  ],
  ["/tmp/.bun-0-1857fc.node: cannot open shared object file: No such file or directory", "set BUN_TMPDIR"],
  [
    "no desktop: robotjs cannot be loaded (LoadLibrary failed: Module not found.)",
    "svc unpacks its libraries into %LOCALAPPDATA%\\svc-addons and",
  ],
  [
    "WebRTC is not available here: a native library cannot be unpacked into /tmp: EROFS: read-only file system, mkdtemp",
    "set BUN_TMPDIR to a folder that has room, and that is",
  ],
  ["usb has no native addon for linux-x64-musl", "this build is for linux-x64-musl:"],
];

test("the step follows from what the loader of the system says", () => {
  for (const [reason, step] of CASES) expect(loadingStep(reason)).toStartWith(step);
  expect(loadingStep("no display: DISPLAY is not set")).toBeUndefined();
});

test("a desktop whose addon cannot be loaded is not sought in another session", () => {
  const [step, ...rest] = desktopAdvice("no desktop: robotjs cannot be loaded (LoadLibrary failed)");
  expect(step).toStartWith("svc unpacks its libraries");
  expect(rest).toEqual(desktopAdvice("no display").slice(-1));
});

test("a library of WebRTC that cannot be loaded is advised on by its reason, not by the platform", async () => {
  const asked = async (reason: string) => {
    const webrtc = CAPABILITIES.filter(({ name }) => name === "webrtc");
    const probeWebRtc = async () => {
      throw unavailable(reason);
    };
    return (await judgeCapabilities(webrtc, host({ probeWebRtc }), new Requester(null))).advice;
  };
  expect(await asked("version `GLIBC_2.30' not found")).toEqual([
    expect.stringContaining("the C library here is older than GLIBC_2.30"),
  ]);
  expect(await asked("the helper ended")).toEqual([expect.stringContaining("report this")]);
});

test("USB that works without the addon is there, with the step that the addon needs", async () => {
  const usb = CAPABILITIES.filter(({ name }) => name === "usb");
  const asked = async (error: string) => {
    const lister = { list: async () => ({ backend: "linux", error }) };
    return judgeCapabilities(usb, host({ usb: async () => ({ lister }) }), new Requester(null));
  };
  expect(await asked("usb: libgcc_s.so.1: cannot open shared object file")).toMatchObject({
    severity: "warn",
    detail: "1 of 1 found",
    advice: [expect.stringContaining("install libgcc_s.so.1")],
    extra: { missing: [] },
  });
  expect(await asked("usb: getDevices error")).toMatchObject({ severity: "info", advice: [] });
});
