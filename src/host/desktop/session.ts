/**
 * Where the desktop of this user is, for a service: systemd starts it before the user has logged in to a desktop, so its
 * own environment does not name the display. A desktop reports its variables to the user's service manager when it starts.
 */
import { runProgram } from "../../lib/run-program";

const NAMES = ["DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "SWAYSOCK"];

const ASK = ["systemctl", "--user", "show-environment"];

/** How long systemctl may take, in milliseconds. */
const DEADLINE_MS = 2_000;

/**
 * The variables that `env` lacks to find the desktop; none when it names a display, when this is not a service of systemd
 * (systemd.exec(5), `INVOCATION_ID`), or when the service manager does not know them.
 *
 * @param ask the program that prints the environment of the user's services.
 */
export async function desktopVariables(
  env: NodeJS.ProcessEnv,
  ask: readonly string[] = ASK,
): Promise<Record<string, string>> {
  if (env.DISPLAY || env.WAYLAND_DISPLAY || !env.INVOCATION_ID) return {};
  const printed = await runProgram(ask, DEADLINE_MS).catch(() => new Uint8Array());
  const lines = new TextDecoder().decode(printed).split("\n");
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name = "", value = ""] = /^(\w+)=(.+)$/.exec(line) ?? [];
      return NAMES.includes(name) ? [[name, value]] : [];
    }),
  );
}
