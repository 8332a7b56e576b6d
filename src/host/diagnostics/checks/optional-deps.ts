/**
 * `optional_deps`: what svc uses where it is available, each tried the way it would be used; what it has no use for is named, with why.
 */
import { requesterOf } from "../../../core/caller";
import { deadline } from "../../../lib/deadline";
import { messageOf, unavailable } from "../../../lib/errors";
import { printable } from "../../../lib/sanitize";
import type { Requester } from "../../../lib/slots";
import { loadingStep } from "../addon-advice";
import { type Advice, adviceFor, check, type Finding, fine, warning } from "../check";
import { type ScreenSetting, type ScreenSettings, wantsScreen } from "../no-screen";
import { type SkipSettings, skippedHere } from "../skipped-checks";
import { desktopAdvice } from "./screenshot";

/** An addon may have to be unpacked on a slow disk. */
const PROBE_MS = 8_000;

interface Uses extends ScreenSettings {
  probeWebRtc(): Promise<string>;
  /** `error`: why not through the addon. */
  usb(): Promise<{
    lister: { list(): Promise<{ readonly backend: string; readonly error: string | null }> };
  }>;
  settings(): Promise<SkipSettings & ScreenSetting>;
  desktop(): Promise<{
    screenSize(requester: Requester): Promise<{ width: number; height: number }>;
    textReader(): Promise<{ found: string; step: string | undefined }>;
  }>;
}

export interface Capability {
  readonly name: string;
  readonly purpose: string;
  /** Few hosts need it: it is not missed where it is not. */
  readonly rare?: true;
  /** Where it is not missed, how to get it is said where the capability of this name was found; default: nothing is said. */
  readonly goesWith?: string;
  /** How to get it: each step by itself. */
  readonly how: Advice;
  /**
   * What was found: a version, a size, a name; with a `step` that is missing for all that it could do.
   *
   * @throws what keeps it from working.
   */
  probe(service: Uses, requester: Requester): Promise<string | { found: string; step: string | undefined }>;
}

export const optionalDeps = check({
  name: "optional_deps",
  summary:
    "What svc can use works here: peer sessions, USB, the desktop (else a warning that says how to get it)",
  deadlineMs: PROBE_MS + 1_000,
  advice: [],
  async run(service: Uses, caller) {
    // Where the screenshot check is left out, a missing screen is no finding.
    const skipped = await skippedHere(service);
    const looked = CAPABILITIES.filter(({ name }) => name !== "gui" || !skipped.includes("screenshot"));
    const isMeant = (await wantsScreen(service)) !== false;
    const wanted = looked.map((one) =>
      one.name === "gui" && !isMeant ? { ...one, rare: true as const } : one,
    );
    return judgeCapabilities(wanted, service, requesterOf(caller));
  },
});

export async function judgeCapabilities(
  capabilities: readonly Capability[],
  service: Uses,
  requester: Requester,
): Promise<Finding> {
  const tried = await Promise.all(
    capabilities.map(async ({ name, purpose, rare, goesWith, how, probe }) => {
      try {
        const probed = await deadline(probe(service, requester), { ms: PROBE_MS });
        const { found, step } = typeof probed === "string" ? { found: probed } : probed;
        return { name, purpose, found: printable(found, 100), steps: step === undefined ? [] : [step] };
      } catch (error) {
        if (rare) return { name, purpose, goesWith, steps: adviceFor(messageOf(error), how) };
        const reason = printable(messageOf(error), 300);
        const steps = adviceFor(reason, how);
        return { name, purpose, how: steps.join("; "), reason, steps };
      }
    }),
  );
  const results = tried.filter((one) => !("goesWith" in one));
  const isFound = (wanted?: string) => results.some((one) => "found" in one && one.name === wanted);
  const without = tried.flatMap((one) => ("goesWith" in one && isFound(one.goesWith) ? [one] : []));
  const advice = results.flatMap(stepsOf);
  const extra = {
    not_tried: NOT_TRIED,
    available: results.flatMap(({ steps: _, ...one }) => ("found" in one ? [one] : [])),
    missing: results.flatMap(({ steps: _, ...one }) => ("reason" in one ? [one] : [])),
    without: without.map(({ name, purpose, steps }) => ({ name, purpose, how: steps.join("; ") })),
  };
  const named = (word: string, all: ReadonlyArray<{ readonly name: string }>) =>
    all.length === 0 ? [] : [`${word}: ${all.map(({ name }) => name).join(", ")}`];
  const found = `${extra.available.length} of ${results.length} found`;
  const detail = [found, ...named("missing", extra.missing), ...named("without", without)].join("; ");
  const hints = without.flatMap(stepsOf);
  return extra.missing.length === 0 && advice.length === 0
    ? { ...fine(detail, extra), advice: hints }
    : warning(detail, [...advice, ...hints], extra);
}

const stepsOf = ({
  name,
  purpose,
  steps,
}: Pick<Capability, "name" | "purpose"> & { steps: readonly string[] }) =>
  steps.map((step) => `${name} (${purpose}): ${step}`);

/** What earlier builds, and other programs with this check, look for as well: seven in all. */
const NOT_TRIED = [
  { name: "audio", why: "no operation of svc uses sound" },
  { name: "computer_vision", why: "svc finds pictures on the screen itself, without OpenCV" },
  { name: "media", why: "svc writes films of the screen itself, without ffmpeg" },
];

export const CAPABILITIES: readonly Capability[] = [
  {
    name: "webrtc",
    purpose: "peer sessions",
    how: (reason) => [loadingStep(reason) ?? "the library is part of svc: report this, with the log of svc"],
    probe: (service) => service.probeWebRtc(),
  },
  {
    name: "usb",
    purpose: "USB devices that come and go",
    how: ["see `svc usb list` for what is in the way"],
    async probe(service) {
      const { backend, error } = await (await service.usb()).lister.list();
      if (backend === "unsupported") throw unavailable(error ?? "not on this platform");
      return error === null ? "the addon" : { found: `${backend} (${error})`, step: loadingStep(error) };
    },
  },
  {
    name: "gui",
    purpose: "screen, pointer and keyboard",
    how: desktopAdvice,
    async probe(service, requester) {
      const { width, height } = await (await service.desktop()).screenSize(requester);
      return `${width}x${height}`;
    },
  },
  {
    name: "ocr",
    purpose: "reading text on the screen",
    rare: true,
    goesWith: "gui",
    how: [
      "install tesseract (Debian: tesseract-ocr)",
      "or add tesseract-wasm (`npm pack tesseract-wasm@0.11.0`) and a language: `svc data add ocr-wasm tesseract-wasm-0.11.0.tgz`, `svc data add ocr-eng eng.traineddata`",
    ],
    probe: async (service) => (await service.desktop()).textReader(),
  },
];
