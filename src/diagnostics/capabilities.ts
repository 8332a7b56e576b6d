/**
 * `optional_deps`: what svc and its scripts can make use of where it is there, each tried the way it would be used.
 */
import { messageOf, unavailable } from "../lib/errors";
import { runTool } from "../lib/run-program";
import { printable } from "../lib/sanitize";
import { type Check, fine, warning } from "./check";
import { within } from "./run";
import type { Subjects } from "./subjects";

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
  probe(signal: AbortSignal): Promise<string>;
}

/** Loading OpenCV into Python takes seconds on a slow machine. */
const PROBE_MS = 8_000;

export function optionalDepsCheck(capabilities: readonly Capability[]): Check {
  return {
    name: "optional_deps",
    advice: [],
    deadlineMs: PROBE_MS + 1_000,
    async run() {
      const tried = await Promise.all(capabilities.map(attempt));
      const available = tried.filter((found) => "found" in found);
      const missing = tried.filter((found) => "reason" in found);
      const extra = { available, missing };
      const detail = `${available.length} of ${tried.length} there`;
      if (missing.length === 0) return fine(detail, extra);
      const names = missing.map(({ name }) => name).join(", ");
      const advice = missing.map(({ name, purpose, how }) => `${name} (${purpose}): ${how}`);
      return warning(`${detail}; missing: ${names}`, advice, extra);
    },
  };
}

async function attempt({ name, purpose, how, probe }: Capability) {
  try {
    return { name, purpose, found: printable(await within(PROBE_MS, probe), 100) };
  } catch (error) {
    return { name, purpose, how, reason: printable(messageOf(error), 300) };
  }
}

/** The seven. */
export function createCapabilities(subjects: Subjects): Capability[] {
  return [
    {
      name: "webrtc",
      purpose: "peer sessions",
      how: "use a build of svc for this platform: the library is part of it",
      probe: () => subjects.webrtc(),
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
      async probe() {
        const { backend, error } = await subjects.usb();
        if (backend === "unsupported") throw unavailable(error ?? "not on this platform");
        return error === null ? "the addon" : `${backend} (${error})`;
      },
    },
    {
      name: "audio",
      purpose: "sound on the host",
      how: "start a sound server (PipeWire or PulseAudio, with pactl) or add a sound card",
      probe: programs(
        ...SOUND[process.platform === "win32" || process.platform === "darwin" ? process.platform : "linux"],
      ),
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
      async probe(signal) {
        const { width, height } = await (await subjects.desktop()).screenSize(signal);
        return `${width}x${height}`;
      },
    },
  ];
}

/** Without the current folder, in which Python would look for `cv2` first. */
const CV_VERSION =
  "import sys; sys.path[:] = filter(None, sys.path); import cv2; print('OpenCV', cv2.__version__)";

/** What lists sound devices or names the sound server, and fails where there is none. */
const SOUND = {
  linux: [
    ["pactl", "info"],
    ["aplay", "-l"],
  ],
  darwin: [["/usr/sbin/system_profiler", "SPAudioDataType"]],
  win32: [
    [
      "powershell.exe",
      "-NoProfile",
      "-NonInteractive",
      "-Command",
      "(Get-CimInstance Win32_SoundDevice).Name",
    ],
  ],
} as const;

/** The first line that the first of `commands` to succeed prints. */
function programs(...commands: ReadonlyArray<readonly string[]>): () => Promise<string> {
  return async () => {
    const reasons: string[] = [];
    for (const command of commands) {
      try {
        return await firstLine(command);
      } catch (error) {
        reasons.push(messageOf(error));
      }
    }
    throw unavailable(reasons.join("; "));
  };
}

async function firstLine(command: readonly string[]): Promise<string> {
  const [program = "", ...args] = command;
  const path = Bun.which(program, { PATH: process.env.PATH ?? "" });
  if (path === null) throw unavailable(`${program} is not on PATH`);
  const text = new TextDecoder().decode(await runTool([path, ...args], PROBE_MS)).trim();
  if (text === "") throw unavailable(`${program} found nothing`);
  return text.split("\n")[0] ?? "";
}
