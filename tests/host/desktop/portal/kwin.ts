/** A session of Plasma of a test's own: KWin without a screen, and Plasma's portal, as a user that is not root. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../../support";
import { beginSession, ON_WAYLAND } from "../gnome/support";
import { type Session, SIZE } from "../wayland/support";
import { GI } from "./support";

const KWIN = "/usr/bin/kwin_wayland";
/** The portal, and what it asks on Plasma, as Debian has them. */
const PORTAL = "/usr/libexec/xdg-desktop-portal";
const OF_PLASMA = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/libexec/xdg-desktop-portal-kde`;

/** What a session is made of. */
export const KWIN_PROGRAMS = [
  ...[KWIN, PORTAL, OF_PLASMA, GI, "gcc", "pipewire", "wireplumber", "dbus-daemon", "dbus-send", "setpriv"],
] as const;

/** Builds what KWin is started with (`kwin-shows.c`). @returns the file. */
function builtIn(folder: string): string {
  const file = join(folder, "kwin-shows.so");
  const source = join(import.meta.dir, "kwin-shows.c");
  const { exitCode, stderr } = Bun.spawnSync(["gcc", "-shared", "-fPIC", "-o", file, source, "-ldl"]);
  if (exitCode !== 0) throw new Error(stderr.toString());
  return file;
}

/** @param monitors how many, side by side. */
export async function startKwin(monitors = 1): Promise<Session> {
  const own = { XDG_CURRENT_DESKTOP: "KDE", XDG_SESSION_TYPE: "wayland" };
  const begun = await beginSession("kwin", own, ON_WAYLAND);
  const { folder, bare, spawn, listens, session, startPipeWire } = begun;
  await startPipeWire();
  // A copy has no capabilities: with them, nothing is loaded into it.
  const kwin = join(folder, "kwin_wayland");
  copyFileSync(KWIN, kwin);
  const size = ["--width", `${SIZE.width}`, "--height", `${SIZE.height}`, "--output-count", `${monitors}`];
  const without = ["--no-lockscreen", "--no-global-shortcuts", "--no-kactivities"];
  const command = [kwin, "--virtual", ...size, ...without, "--socket", ON_WAYLAND.WAYLAND_DISPLAY];
  spawn(command, { ...bare, LD_PRELOAD: builtIn(folder) });
  await listens(ON_WAYLAND.WAYLAND_DISPLAY);
  const env = { ...bare, ...ON_WAYLAND };
  for (const [program, name] of [
    [OF_PLASMA, "org.freedesktop.impl.portal.desktop.kde"],
    [PORTAL, "org.freedesktop.portal.Desktop"],
  ] as const) {
    spawn([program], env);
    const ask = ["org.freedesktop.DBus.GetNameOwner", `string:${name}`];
    const where = ["--session", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"];
    await until(
      `${name} on the bus`,
      async () => (await spawn(["dbus-send", ...where, ...ask], bare).exited) === 0,
    );
  }
  return session(env);
}
