/** What the tests of diagnostics share: a service on which all is well, except for what a test says. */

import * as v from "valibot";
import { localCaller } from "../../../src/core/caller";
import { NO_INPUT } from "../../../src/core/fields";
import { operation } from "../../../src/core/operation";
import type { Session } from "../../../src/host/desktop/backend";
import type { Check } from "../../../src/host/diagnostics/check";
import type { CHECKS } from "../../../src/host/diagnostics/checks";
import { type CheckResult, createDiagnostics } from "../../../src/host/diagnostics/diagnostics";
import { badInput } from "../../../src/lib/errors";
import { type Log, silentLog } from "../../../src/lib/log";

/** Everything that the checks use of the service. */
type Uses<C = Awaited<ReturnType<(typeof CHECKS)[keyof typeof CHECKS]>>> = (
  C extends Check<infer S>
    ? (slice: S) => void
    : never
) extends (slices: infer All) => void
  ? All
  : never;
export type Host = { readonly log: Log } & Uses;

export const CALLER = localCaller({ audit: async () => null }, "api");

export const LOG = {
  problem: async (): Promise<string | null> => null,
  verify: async () => ({
    ok: true,
    broken_at_id: null as number | null,
    total_rows: 12,
    reason: null as string | null,
  }),
  latest: async () => ({
    ...{ id: 12, ts: "2026-04-27T10:30:00.123456+00:00", last_ts: "2026-04-27T10:30:00.123456+00:00" },
  }),
};

export const SERVER = {
  url: "http://127.0.0.1:9939",
  pid: 42,
  health: async (): Promise<unknown> => ({ status: "ok" }),
  link: async () => null,
  nats: async () => ({ host: null, desk: null }),
  overview: async () => ({ server: { version: "0.1.0", uptime_seconds: 61.4 }, audit: { failures: 0 } }),
};

export const DESKTOP = {
  session: async (): Promise<Session> => ({ system: "x11", name: ":0", way: "", lacks: [] }),
  screenSize: async () => ({ width: 1280, height: 800 }),
  pointer: async () => ({ x: 100, y: 120 }),
  textReader: async () => ({ found: "tesseract 5.3.0", step: undefined }),
  windows: async () => [],
  elements: { survey: async () => ({ programs: [], deaf: [] }) },
  screenshot: async () => ({ width: 1280, height: 800, base64: "iVBORw0KGgoAAAANSUhEUg==" }),
  videoEncoder: async (): Promise<string | null> => null,
};

/** An executor that knows one command, which `perform` is; it takes what `isKnown` says. */
export const executorOf = (
  perform: () => void = () => {},
  isKnown = (name: unknown): boolean => name === "AC_diagnose",
) => ({
  allowed: (permits = (_need: string) => false) => (permits("shell") ? ["AC_a", "AC_b"] : ["AC_a"]),
  prepare(actions: readonly unknown[]) {
    if (![actions[0]].flat().some(isKnown)) throw badInput("unknown command");
    const probe = operation({
      name: "diagnostics.run",
      summary: "",
      scope: "read",
      input: NO_INPUT,
      output: v.undefined(),
      run: () => perform() as undefined,
    });
    return { actions: [{ operation: probe, input: {} }] };
  },
});

export const host = (different: Partial<Host> = {}): Host => ({
  log: silentLog,
  configDir: "/nonexistent",
  inbox: "/nonexistent/inbox",
  addressBook: async () => ({
    trust: () => [],
    ignored: () => undefined,
    hosts: () => [],
    select: async () => [],
  }),
  desktopTools: async () => ({ uses: ["Xvfb", "openbox"], missing: [], hasBus: true, disk: null }),
  blackBoxStatus: async () => ({
    ...{ state: "off" as const, problem: null, span_s: null, max_bytes: null, bytes: 0, excluded: 0 },
    ...{ segments: 0, kept: 0, until: null, not_told: null },
  }),
  hostLink: async () => null,
  natsHost: async () => null,
  membership: async () => undefined,
  existingPlans: async () => null,
  standbyNow: async () => null,
  fileFaults: async () => [],
  foundLogs: async () => new Map(),
  desktop: async () => DESKTOP,
  existingAudit: async () => LOG,
  secrets: async () => ({ list: () => [], faults: async () => [] }),
  tokens: async () => ({ list: () => [], endingLate: () => [], ownerFromElsewhere: () => null }),
  signIn: async () => null,
  rest: async () => ({ server: null }),
  probeWebRtc: async () => "0.0.0",
  usb: async () => ({ lister: { list: async () => ({ backend: "usb", error: null }) } }),
  executor: async () => executorOf(),
  runs: async () => ({ list: () => [{ status: "ok" }] }),
  runningServer: () => null,
  settings: async () => ({ get: () => [] }),
  ...different,
});

/** What `check` finds on `service`. */
export async function finding(check: Check<Host>, service: Host = host()): Promise<CheckResult> {
  const [result] = (await createDiagnostics(service, [check]).run([check.name], CALLER)).checks;
  if (!result) throw new Error("no result");
  return result;
}
