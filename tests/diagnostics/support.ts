/** What the tests of diagnostics share: a host on which all is well, but for what a test says. */

import type { Check } from "../../src/diagnostics/check";
import { type CheckResult, createRunner } from "../../src/diagnostics/run";
import type { DesktopSubject, ExecutorSubject, Subjects } from "../../src/diagnostics/subjects";
import { badInput } from "../../src/lib/errors";
import { silentLog } from "../../src/lib/log";

const desktop: DesktopSubject = {
  screenSize: async () => ({ width: 1280, height: 800 }),
  pointer: async () => ({ x: 100, y: 120 }),
  screenshot: async () => ({ width: 1280, height: 800, base64: "iVBORw0KGgoAAAANSUhEUg==" }),
};

/** An executor that knows one command, which `perform` is. */
export const executor = (perform = async () => {}): ExecutorSubject => ({
  commands: 1,
  runs: 0,
  async perform(action, signal) {
    if (!JSON.stringify(action).includes("AC_diagnose")) throw badInput("unknown command");
    signal.throwIfAborted();
    await perform();
  },
});

export const subjects = (different: Partial<Subjects> = {}): Subjects => ({
  configDir: "/nonexistent",
  privateFiles: () => [],
  desktop: async () => desktop,
  audit: async () => ({
    problem: async () => null,
    verify: async () => ({ ok: true, broken_at_id: null, total_rows: 12, reason: null }),
    list: async () => [{ id: 12, ts: "2026-04-27T10:30:00.123456+00:00" }],
  }),
  webrtc: async () => "0.0.0",
  usb: async () => ({ backend: "usb", error: null }),
  executor: async () => executor(),
  server: () => null,
  ...different,
});

/** What `check` finds, or is found of it. */
export async function finding(check: Check): Promise<CheckResult> {
  const [result] = (await createRunner(silentLog).run([check])).checks;
  if (!result) throw new Error("no result");
  return result;
}
