/** A display of Wayland: sway without a screen. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { unavailable } from "../../lib/errors";
import { firstLine, type Stage, type StartedDisplay } from "./stage";
import type { Compositor } from "./tools";

/**
 * What sway is told (sway(5), sway-output(5)). Windows lie where they are put, as a script that moves them expects, and say where they are. What it
 * starts has its standard output.
 */
const configOf = (size: string, scale: number) => `output HEADLESS-1 resolution ${size} scale ${scale}
default_border none
focus_follows_mouse no
xwayland disable
for_window [app_id=".*"] floating enable
exec echo "$WAYLAND_DISPLAY $SWAYSOCK"
`;

/** No screen, no graphics card and no input devices are needed (wlroots, docs/env_vars.md). */
const HEADLESS = { WLR_BACKENDS: "headless", WLR_RENDERER: "pixman", WLR_LIBINPUT_NO_DEVICES: "1" };

/** @throws `unavailable` for root; as {@link firstLine}. */
export async function startSway({ sway }: Compositor, stage: Stage): Promise<StartedDisplay> {
  const { size, scale, folder, account, env, start, signal } = stage;
  if ((account?.uid ?? process.getuid?.()) === 0)
    throw unavailable(
      "sway does not run as root: run svc as another user, or let a server of root start it as one (svc serve --desktop-user ann)",
    );
  const config = join(folder, "sway");
  writeFileSync(config, configOf(size, scale), { mode: 0o644 });
  const bare = { ...env, XDG_SESSION_TYPE: "wayland", GDK_BACKEND: "wayland", QT_QPA_PLATFORM: "wayland" };
  const server = start([sway, "--config", config], { ...bare, ...HEADLESS });
  // The name has no blank in it; the path of the socket may.
  const [, name = "", socket = ""] = /^(\S*) ?(.*)$/.exec(await firstLine("sway", server, signal)) ?? [];
  return {
    server,
    name,
    program: "sway",
    env: { ...bare, WAYLAND_DISPLAY: name, SWAYSOCK: socket },
    rest: async () => [],
  };
}
