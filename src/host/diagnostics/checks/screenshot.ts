/** `screenshot`: the screen can be seen. */
import { requesterOf } from "../../../core/caller";
import type { Requester } from "../../../lib/slots";
import type { Session } from "../../desktop/backend";
import { loadingStep } from "../addon-advice";
import { check, failed, fine, warning } from "../check";
import { type ScreenSettings, unlessNone } from "../no-screen";

/** A large screen is megabytes of PNG. */
const DEADLINE_MS = 15_000;

/** The first eight bytes of a PNG (RFC 2083 section 12.11) in base64, as far as whole characters go. */
const PNG_HEAD = "iVBORw0KGg";

const NO_PNG = "the picture of the screen is not a PNG";

const ADVICE: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: [
    "run svc in the desktop's session, or set DISPLAY (and XAUTHORITY) to its X server's",
    "without a desktop, start one: Xvfb :99 & DISPLAY=:99 svc serve",
  ],
  darwin: ["allow svc under System Settings, Privacy & Security, Screen Recording and Accessibility"],
  win32: ["run svc in the session of the user who is logged in, not as a service of session 0"],
};

/** What to do where the desktop cannot be reached for this `reason`. */
export function desktopAdvice(reason: string): readonly string[] {
  const step = loadingStep(reason);
  const ways = step === undefined ? (ADVICE[process.platform] ?? []) : [step];
  return [...ways, "on a host without a desktop on purpose: svc config set desktop.screen none"];
}

/** As svc reaches it: `Wayland (sway)`. */
const SYSTEM_NAMES = { x11: "X11", wayland: "Wayland", macos: "macOS", windows: "Windows" } as const;

const WHAT_WORKS = "what works where, and what each needs: svc help desktop";

/** What to do where a desktop keeps things from programs: `lacks` says what, and the command by which a person allows it. */
const adviceFor = (lacks: readonly string[]): readonly string[] =>
  lacks.some((one) => one.includes("svc desktop allow"))
    ? ["at the screen of this host: svc desktop allow", WHAT_WORKS]
    : [WHAT_WORKS];

type Picture = { readonly width: number; readonly height: number; readonly base64: string | null };

interface Uses extends ScreenSettings {
  desktop(): Promise<{
    session(requester: Requester): Promise<Session>;
    screenshot(frame: { readonly monitor?: number }, file: null, requester: Requester): Promise<Picture>;
    videoEncoder(requester: Requester): Promise<string | null>;
  }>;
}

export const screenshot = check({
  name: "screenshot",
  summary: "The screen can be seen",
  deadlineMs: DEADLINE_MS,
  advice: desktopAdvice,
  run: (service: Uses, caller) =>
    unlessNone(service, desktopAdvice, async () => {
      const desktop = await service.desktop();
      const requester = requesterOf(caller);
      const { system, name, way, lacks } = await desktop.session(requester);
      const session = `${SYSTEM_NAMES[system]}${name === "" ? "" : ` (${name})`}${way === "" ? "" : `, by ${way}`}`;
      const extra = { session: system, session_name: name, session_way: way, lacks };
      if (lacks.some((one) => one.startsWith("pictures")))
        return failed(
          `${session}${way === "" ? "" : ","} offers no ${lacks.join(", no ")}`,
          adviceFor(lacks),
          extra,
        );
      const { width, height, base64 } = await desktop.screenshot({}, null, requester);
      const bytes = Math.floor(((base64?.length ?? 0) * 3) / 4);
      if (!base64?.startsWith(PNG_HEAD)) return failed(NO_PNG, desktopAdvice(NO_PNG));
      // Without one, or where it does not start, viewers get single pictures: that is no fault.
      const encoder = await desktop.videoEncoder(requester).catch(() => null);
      const videos = encoder === null ? "" : `, videos by ${encoder}`;
      const seen = `${session}: ${width}x${height}, ${Math.ceil(bytes / 1_000)} kB${videos}`;
      const found = { ...extra, width, height, bytes, video_encoder: encoder };
      return lacks.length === 0
        ? fine(seen, found)
        : warning(`${seen}; no ${lacks.join(", no ")}`, adviceFor(lacks), found);
    }),
});
