/**
 * `optional_deps`: programs and features that svc and its scripts use where they are available, each tried the way it
 * would be used.
 */
import { deadline } from "../../lib/deadline";
import { messageOf, unavailable } from "../../lib/errors";
import { runProgram } from "../../lib/run-program";
import { printable } from "../../lib/sanitize";
import { check, type Finding, fine, warning } from "../check";

/** Loading OpenCV into Python takes seconds on a slow machine. */
const PROBE_MS = 8_000;

interface Uses {
  /** The version of the WebRTC library. */
  probeWebRtc(): Promise<string>;
  /** `error`: why not through the addon. */
  usb(): Promise<{
    lister: { list(): Promise<{ readonly backend: string; readonly error: string | null }> };
  }>;
  desktop(): Promise<{ screenSize(signal: AbortSignal): Promise<{ width: number; height: number }> }>;
}

export interface Capability {
  readonly name: string;
  /** What it is for. */
  readonly purpose: string;
  /** How to get it. */
  readonly how: string;
  /**
   * What was found: a version, a size, a name.
   *
   * @throws what keeps it from working.
   */
  probe(service: Uses, signal: AbortSignal): Promise<string>;
}

export const optionalDeps = check({
  name: "optional_deps",
  summary: "The seven optional capabilities are available (else a warning that says how to get them)",
  deadlineMs: PROBE_MS + 1_000,
  advice: [],
  run: (service: Uses, { signal }) => judgeCapabilities(CAPABILITIES, service, signal),
});

export async function judgeCapabilities(
  capabilities: readonly Capability[],
  service: Uses,
  signal: AbortSignal,
): Promise<Finding> {
  const tried = await Promise.all(
    capabilities.map(async ({ name, purpose, how, probe }) => {
      try {
        const found = await deadline(probe(service, signal), { ms: PROBE_MS });
        return { name, purpose, found: printable(found, 100) };
      } catch (error) {
        return { name, purpose, how, reason: printable(messageOf(error), 300) };
      }
    }),
  );
  const available = tried.filter((one) => "found" in one);
  const missing = tried.filter((one) => "reason" in one);
  const extra = { available, missing };
  const detail = `${available.length} of ${tried.length} found`;
  if (missing.length === 0) return fine(detail, extra);
  const advice = missing.map(({ name, purpose, how }) => `${name} (${purpose}): ${how}`);
  return warning(`${detail}; missing: ${missing.map(({ name }) => name).join(", ")}`, advice, extra);
}

/** Without the current folder, in which Python would look for `cv2` first. */
const CV_VERSION =
  "import sys; sys.path[:] = filter(None, sys.path); import cv2; print('OpenCV', cv2.__version__)";

const POWERSHELL = ["powershell.exe", "-NoProfile", "-NonInteractive", "-Command"];

/** Commands that list sound devices or name the sound server, and fail where there is none. */
const SOUND: Partial<Record<NodeJS.Platform, ReadonlyArray<readonly string[]>>> = {
  darwin: [["/usr/sbin/system_profiler", "SPAudioDataType"]],
  win32: [[...POWERSHELL, "(Get-CimInstance Win32_SoundDevice).Name"]],
};
const SOUND_OF_LINUX = [
  ["pactl", "info"],
  ["aplay", "-l"],
];

/** Gives the first line that the first of `commands` to succeed prints. */
const programs =
  (...commands: ReadonlyArray<readonly string[]>) =>
  async (): Promise<string> => {
    const reasons: string[] = [];
    for (const command of commands) {
      const found = await firstLine(command).catch((error) => void reasons.push(messageOf(error)));
      if (found !== undefined) return found;
    }
    throw unavailable(reasons.join("; "));
  };

async function firstLine([program = "", ...args]: readonly string[]): Promise<string> {
  const path = Bun.which(program, { PATH: process.env.PATH ?? "" });
  if (path === null) throw unavailable(`${program} is not on PATH`);
  const text = new TextDecoder().decode(await runProgram([path, ...args], PROBE_MS)).trim();
  if (text === "") throw unavailable(`${program} found nothing`);
  return text.split("\n")[0] ?? "";
}

export const CAPABILITIES: readonly Capability[] = [
  {
    name: "webrtc",
    purpose: "peer sessions",
    how: "use a build of svc for this platform: the library is part of it",
    probe: (service) => service.probeWebRtc(),
  },
  {
    name: "media",
    purpose: "recording and converting video",
    how: "install ffmpeg",
    probe: programs(["ffmpeg", "-version"]),
  },
  {
    name: "usb",
    purpose: "USB devices that come and go",
    how: "see `svc usb list` for what is in the way",
    async probe(service) {
      const { backend, error } = await (await service.usb()).lister.list();
      if (backend === "unsupported") throw unavailable(error ?? "not on this platform");
      return error === null ? "the addon" : `${backend} (${error})`;
    },
  },
  {
    name: "audio",
    purpose: "sound on the host",
    how: "start a sound server (PipeWire or PulseAudio, with pactl) or add a sound card",
    probe: programs(...(SOUND[process.platform] ?? SOUND_OF_LINUX)),
  },
  {
    name: "ocr",
    purpose: "reading text off the screen",
    how: "install Tesseract (tesseract-ocr on Debian, tesseract elsewhere)",
    probe: programs(["tesseract", "--version"]),
  },
  {
    name: "computer_vision",
    purpose: "finding pictures on the screen",
    how: "install OpenCV for Python (python3-opencv on Debian, pip install opencv-python elsewhere)",
    probe: programs(["python3", "-c", CV_VERSION], ["python", "-c", CV_VERSION], ["opencv_version"]),
  },
  {
    name: "gui",
    purpose: "screen, pointer and keyboard",
    how: "log in to a desktop, or start an X server and set DISPLAY",
    async probe(service, signal) {
      const { width, height } = await (await service.desktop()).screenSize(signal);
      return `${width}x${height}`;
    },
  },
];
