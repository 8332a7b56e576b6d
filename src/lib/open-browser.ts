/** Opening a page in the browser of the person who runs svc. */
import { resolvesWithin } from "./deadline";
import { OWN_GROUP } from "./process-group";
import { spawn } from "./spawn";

/** How long the program that opens it may take to fail, in milliseconds; some stay for as long as the browser. */
const FAILS_WITHIN_MS = 3_000;

/** The program that opens `url`; undefined where there is nobody to see it. */
function openerOf(url: string): readonly string[] | undefined {
  if (process.platform === "darwin") return ["open", url];
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler", url];
  const xdg = Bun.which("xdg-open");
  return xdg !== null && (process.env.DISPLAY || process.env.WAYLAND_DISPLAY) ? [xdg, url] : undefined;
}

/**
 * Opens `url`, which is on the command line of a program then: it holds no secret.
 *
 * @returns false where there is no browser, or no display. Never throws.
 */
export async function openInBrowser(url: string): Promise<boolean> {
  const opener = openerOf(url);
  if (!opener) return false;
  try {
    const child = spawn(opener, { ...OWN_GROUP, stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    child.unref();
    const ended = await resolvesWithin(FAILS_WITHIN_MS, child.exited);
    return !ended || child.exitCode === 0;
  } catch {
    return false;
  }
}
