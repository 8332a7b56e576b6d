/** A GNOME session of a test's own: mutter without a screen, a session bus and PipeWire, as a user that is not root. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MUTTER } from "../../../../src/host/desktop/gnome/session";
import { until } from "../../../support";
import { asNobody, type Session, SIZE } from "../wayland/support";

/** What a session is made of. */
export const PROGRAMS = ["mutter", "pipewire", "wireplumber", "dbus-daemon", "setpriv"] as const;

const [NOBODY, NOGROUP] = [65_534, 65_534];
const isRoot = process.getuid?.() === 0;

/**
 * What a session begins with: a folder, its variables, and a session bus.
 *
 * @param own variables for all of its programs; those of clients of the compositor, `seen`, are for what the bus starts, too.
 */
export async function beginSession(name: string, own: NodeJS.ProcessEnv = {}, seen: NodeJS.ProcessEnv = {}) {
  const folder = mkdtempSync(join(tmpdir(), `svc-${name}-`));
  const runtime = join(folder, "run");
  mkdirSync(runtime, { mode: 0o700 });
  for (const path of [folder, runtime]) if (isRoot) chownSync(path, NOBODY, NOGROUP);
  chmodSync(folder, 0o755);
  const { DISPLAY: _x, WAYLAND_DISPLAY: _w, SWAYSOCK: _s, PIPEWIRE_REMOTE: _p, ...rest } = process.env;
  const address = `unix:path=${join(runtime, "bus")}`;
  const bare = {
    ...rest,
    ...{ HOME: folder, XDG_RUNTIME_DIR: runtime, LC_ALL: "C.UTF-8", DBUS_SESSION_BUS_ADDRESS: address },
    ...own,
    ...{
      GSETTINGS_BACKEND: "memory",
      NO_AT_BRIDGE: "1",
      XDG_CONFIG_HOME: folder,
      XDG_CACHE_HOME: folder,
      TMPDIR: folder,
    },
  };
  const running: Bun.Subprocess[] = [];
  const spawn = (command: readonly string[], env: NodeJS.ProcessEnv) => {
    const child = Bun.spawn(asNobody(command), { env, cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
    running.push(child);
    return child;
  };
  const listens = (name: string) => until(`${name} to listen`, () => existsSync(join(runtime, name)));
  const daemon = ["dbus-daemon", "--session", "--nofork", "--nopidfile", `--address=${address}`];
  spawn(daemon, { ...bare, ...seen });
  await listens("bus");
  const session = (env: NodeJS.ProcessEnv): Session => ({
    env,
    folder,
    start: (command, more = {}) => spawn(command, { ...env, ...more }),
    async [Symbol.asyncDispose]() {
      for (const child of running.reverse()) child.kill("SIGKILL");
      await Promise.all(running.map(({ exited }) => exited));
      rmSync(folder, { recursive: true, force: true });
    },
  });
  return {
    ...{ folder, bare, spawn, listens, session },
    async startPipeWire() {
      spawn(["pipewire"], bare);
      await listens("pipewire-0");
      spawn(["wireplumber"], bare);
    },
  };
}

/** The variables by which programs find the compositor. */
export const ON_WAYLAND = {
  ...{ WAYLAND_DISPLAY: "wayland-0", GDK_BACKEND: "wayland", QT_QPA_PLATFORM: "wayland" },
} as const;

/** @param pipewire whether there is PipeWire. @param monitors the sizes of the monitors. */
export async function startGnome({
  pipewire = true,
  monitors = [`${SIZE.width}x${SIZE.height}`],
} = {}): Promise<Session> {
  const { bare, spawn, listens, session, startPipeWire } = await beginSession("gnome");
  if (pipewire) await startPipeWire();
  const sizes = monitors.flatMap((size) => ["--virtual-monitor", size]);
  spawn(["mutter", "--headless", ...sizes, "--wayland", "--no-x11"], bare);
  await listens("wayland-0");
  const ask = "org.freedesktop.DBus.GetNameOwner";
  const where = ["--session", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"];
  await until("Mutter on the bus", async () => {
    return (await spawn(["dbus-send", ...where, ask, `string:${MUTTER}`], bare).exited) === 0;
  });
  return session({ ...bare, ...ON_WAYLAND });
}

/** A window of GTK 3 over all of a monitor: its left half is red, its right half blue; it writes what is done to it, a line each. */
const STAGE = `import sys, gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk, Gdk
def say(*words):
    with open(sys.argv[1], "a", encoding="utf-8") as file: print(*words, file=file)
window = Gtk.Window(title="stage")
area = Gtk.DrawingArea()
area.set_can_focus(True)
smooth = Gdk.EventMask.SMOOTH_SCROLL_MASK
area.add_events(Gdk.EventMask.ALL_EVENTS_MASK if "smooth" in sys.argv else Gdk.EventMask.ALL_EVENTS_MASK & ~smooth)
colours, shown = [(1, 0, 0), (0, 0, 1)], []
def draw(area, context):
    width, height = area.get_allocated_width(), area.get_allocated_height()
    if width == 1280 and not shown:
        shown.append(True)
        say("shown")
    for nth, colour in enumerate(colours):
        context.set_source_rgb(*colour)
        context.rectangle(nth * width / 2, 0, width / 2, height)
        context.fill()
def button(area, event):
    if event.type == Gdk.EventType.BUTTON_PRESS: say("press", event.button, round(event.x), round(event.y))
    if event.type == Gdk.EventType.BUTTON_RELEASE: say("release", event.button, round(event.x), round(event.y))
    if event.type == Gdk.EventType.BUTTON_PRESS and event.button == 2:
        colours.reverse()
        area.queue_draw()
def scroll(area, event): say("scroll", event.direction.value_nick, *([event.delta_x, event.delta_y] if "smooth" in sys.argv else []))
def key(window, event): say("key", Gdk.keyval_name(event.keyval))
area.connect("draw", draw)
area.connect("button-press-event", button)
area.connect("button-release-event", button)
area.connect("scroll-event", scroll)
window.connect("key-press-event", key)
window.add(area)
window.fullscreen()
window.show_all()
Gtk.main()
`;

/** Opens it. @param how `smooth` for the wheel by distances, as some compositors turn it. */
export function openStage(session: Session, how = "notches") {
  const file = join(session.folder, `stage-${crypto.randomUUID()}`);
  writeFileSync(file, "");
  chmodSync(file, 0o666);
  const child = session.start(["/usr/bin/python3", "-c", STAGE, file, how]);
  const lines = () => readFileSync(file, "utf8").split("\n").slice(0, -1);
  return {
    /** What was done to it, once there are so many lines of it. */
    done: (count: number) =>
      until(`${count} lines of the stage`, () => {
        const all = lines().filter((line) => line !== "shown");
        return all.length >= count ? all : undefined;
      }),
    /** Resolves when it has drawn itself over all of the screen. Without a keyboard, nothing has the focus yet. */
    shown: () => until("the stage to be drawn", () => lines().includes("shown")),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
