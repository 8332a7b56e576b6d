/** `screenshot` and `mouse`: that the screen can be seen and the pointer found, without touching either. */
import { type Check, failed, fine } from "./check";
import type { Subjects } from "./subjects";

/** A large screen is megabytes of PNG. */
const DEADLINE_MS = 15_000;

/** The first eight bytes of a PNG (RFC 2083 section 12.11), in base64 as far as whole characters go. */
const PNG_HEAD = "iVBORw0KGg";

const ADVICE: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: [
    "run svc in the desktop's session, or set DISPLAY (and XAUTHORITY) to its X server's",
    "without a desktop, start one: Xvfb :99 & DISPLAY=:99 svc serve",
  ],
  darwin: ["allow svc under System Settings, Privacy & Security, Screen Recording and Accessibility"],
  win32: ["run svc in the session of the user who is logged in, not as a service of session 0"],
};

const advice = ADVICE[process.platform] ?? [];

export function screenshotCheck({ desktop }: Pick<Subjects, "desktop">): Check {
  return {
    name: "screenshot",
    deadlineMs: DEADLINE_MS,
    advice,
    async run(signal) {
      const { width, height, base64 } = await (await desktop()).screenshot({}, null, signal);
      const bytes = Math.floor(((base64?.length ?? 0) * 3) / 4);
      if (!base64?.startsWith(PNG_HEAD)) return failed("the picture of the screen is no PNG", advice);
      return fine(`${width}x${height}, ${Math.ceil(bytes / 1_000)} kB`, { width, height, bytes });
    },
  };
}

export function mouseCheck({ desktop }: Pick<Subjects, "desktop">): Check {
  return {
    name: "mouse",
    advice,
    async run(signal) {
      const { x, y } = await (await desktop()).pointer(signal);
      return fine(`at ${x}, ${y}`, { x, y });
    },
  };
}
