/**
 * `optional_deps`: what svc uses where it is available, each tried the way it would be used.
 */
import { deadline } from "../../lib/deadline";
import { messageOf, unavailable } from "../../lib/errors";
import { runProgram } from "../../lib/run-program";
import { printable } from "../../lib/sanitize";
import { check, type Finding, fine, warning } from "../check";
import { type SkipSettings, skippedHere } from "../skipped";
import { desktopAdvice } from "./screenshot";

/** An addon may have to be unpacked on a slow disk. */
const PROBE_MS = 8_000;

interface Uses {
  /** The version of the WebRTC library. */
  probeWebRtc(): Promise<string>;
  /** `error`: why not through the addon. */
  usb(): Promise<{
    lister: { list(): Promise<{ readonly backend: string; readonly error: string | null }> };
  }>;
  settings(): Promise<SkipSettings>;
  desktop(): Promise<{ screenSize(signal: AbortSignal): Promise<{ width: number; height: number }> }>;
}

export interface Capability {
  readonly name: string;
  /** What it is for. */
  readonly purpose: string;
  /** Few hosts need it: nothing is said where it is not. */
  readonly rare?: true;
  /** How to get it: each step by itself. */
  readonly how: readonly string[];
  /**
   * What was found: a version, a size, a name.
   *
   * @throws what keeps it from working.
   */
  probe(service: Uses, signal: AbortSignal): Promise<string>;
}

export const optionalDeps = check({
  name: "optional_deps",
  summary:
    "What svc can use works here: peer sessions, USB, the desktop (else a warning that says how to get it)",
  deadlineMs: PROBE_MS + 1_000,
  advice: [],
  async run(service: Uses, { signal }) {
    // Where the screenshot check is left out, a missing screen is no finding.
    const skipped = await skippedHere(service);
    const wanted = CAPABILITIES.filter(({ name }) => name !== "gui" || !skipped.includes("screenshot"));
    return judgeCapabilities(wanted, service, signal);
  },
});

export async function judgeCapabilities(
  capabilities: readonly Capability[],
  service: Uses,
  signal: AbortSignal,
): Promise<Finding> {
  const tried = await Promise.all(
    capabilities.map(async ({ name, purpose, rare, how, probe }) => {
      try {
        const found = await deadline(probe(service, signal), { ms: PROBE_MS });
        return { name, purpose, found: printable(found, 100) };
      } catch (error) {
        if (rare) return [];
        return { name, purpose, how: how.join("; "), steps: how, reason: printable(messageOf(error), 300) };
      }
    }),
  );
  const results = tried.flat();
  const available = results.filter((one) => "found" in one);
  const lacking = results.filter((one) => "reason" in one);
  const missing = lacking.map(({ steps, ...one }) => one);
  const extra = { available, missing };
  const detail = `${available.length} of ${results.length} found`;
  if (missing.length === 0) return fine(detail, extra);
  const advice = lacking.flatMap(({ name, purpose, steps = [] }) =>
    steps.map((step) => `${name} (${purpose}): ${step}`),
  );
  return warning(`${detail}; missing: ${missing.map(({ name }) => name).join(", ")}`, advice, extra);
}

const WEBRTC_HOW: Partial<Record<NodeJS.Platform, string>> = {
  linux:
    "set BUN_TMPDIR to a folder from which programs may be loaded, or use the build of svc for this platform",
};

export const CAPABILITIES: readonly Capability[] = [
  {
    name: "webrtc",
    purpose: "peer sessions",
    how: [
      WEBRTC_HOW[process.platform] ?? "use the build of svc for this platform: the library is part of it",
    ],
    probe: (service) => service.probeWebRtc(),
  },
  {
    name: "usb",
    purpose: "USB devices that come and go",
    how: ["see `svc usb list` for what is in the way"],
    async probe(service) {
      const { backend, error } = await (await service.usb()).lister.list();
      if (backend === "unsupported") throw unavailable(error ?? "not on this platform");
      return error === null ? "the addon" : `${backend} (${error})`;
    },
  },
  {
    name: "gui",
    purpose: "screen, pointer and keyboard",
    how: desktopAdvice,
    async probe(service, signal) {
      const { width, height } = await (await service.desktop()).screenSize(signal);
      return `${width}x${height}`;
    },
  },
  {
    name: "ocr",
    purpose: "reading text on the screen",
    rare: true,
    how: ["install tesseract (Debian: tesseract-ocr)"],
    async probe() {
      const printed = await runProgram(["tesseract", "--version"]);
      const [version = ""] = new TextDecoder().decode(printed).split("\n");
      return [version, Bun.which("tesseract")].filter(Boolean).join(" at ");
    },
  },
];
