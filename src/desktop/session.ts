/**
 * Where the desktop of this user is, for a service: systemd starts it before the user has logged in to a desktop, so its
 * own environment cannot say. The user's service manager is told by the desktop as that starts.
 */
import { runTool } from "../lib/run-program";

const NAMES = ["DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY"];

const ASK = ["systemctl", "--user", "show-environment"];

/** How long it may take to answer, milliseconds. */
const DEADLINE_MS = 2_000;

/**
 * The variables that `env` lacks to find the desktop; none when it names a display, this is no service of systemd's
 * (systemd.exec(5), `INVOCATION_ID`), or nobody knows.
 *
 * @param ask the program that prints the environment of the user's services.
 */
export async function desktopVariables(
  env: NodeJS.ProcessEnv,
  ask: readonly string[] = ASK,
): Promise<Record<string, string>> {
  if (env.DISPLAY || env.WAYLAND_DISPLAY || !env.INVOCATION_ID) return {};
  const printed = await runTool(ask, DEADLINE_MS).catch(() => new Uint8Array());
  const lines = new TextDecoder().decode(printed).split("\n");
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name = "", value = ""] = /^(\w+)=(.+)$/.exec(line) ?? [];
      return NAMES.includes(name) ? [[name, value]] : [];
    }),
  );
}
