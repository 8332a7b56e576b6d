/**
 * The programs of this host of which a desktop is made.
 */
import { unavailable } from "../../lib/errors";

/** A screen that an X server is to show. */
export interface Screen {
  /** `1280x800`. */
  readonly size: string;
  /** The file with the cookie that clients must show. */
  readonly authority: string;
}

/** An X server without a screen of its own. It writes the number of its display to its standard output (`-displayfd 1`). */
interface XServer {
  readonly program: string;
  flags(screen: Screen): readonly string[];
}

const shared = ({ authority }: Screen) => ["-displayfd", "1", "-auth", authority, "-nolisten", "tcp"];

const SERVERS: readonly XServer[] = [
  // Xvfb(1)
  {
    program: "Xvfb",
    flags: (screen) => [...shared(screen), "-noreset", "-screen", "0", `${screen.size}x24`],
  },
  // Xvnc(1): no port for viewers of its own.
  {
    program: "Xvnc",
    flags: (screen) => [
      ...shared(screen),
      ...["-noreset", "-geometry", screen.size, "-depth", "24", "-rfbport", "-1", "-SecurityTypes", "None"],
    ],
  },
];

/** Xephyr(1): a window on the screen of this host, where there is one. */
const NESTED: XServer = {
  program: "Xephyr",
  flags: (screen) => [...shared(screen), "-noreset", "-no-host-grab", "-screen", `${screen.size}x24`],
};

/** Window managers that place, focus and maximise by EWMH, the smallest first. */
const MANAGERS = ["openbox", "icewm", "fluxbox", "xfwm4", "metacity", "marco", "kwin_x11"];

/** The programs of a desktop. */
export interface Tools {
  readonly server: {
    readonly program: string;
    readonly path: string;
    command(screen: Screen): readonly string[];
    /** What it is started with besides: the screen that a nested one is a window on. */
    readonly env?: NodeJS.ProcessEnv;
  };
  readonly manager: { readonly program: string; readonly path: string };
  /** The D-Bus daemon; null where there is none: then nothing is found by name. */
  readonly bus: string | null;
}

/** What a desktop on Wayland is made of. */
export interface Compositor {
  /** The path of sway. */
  readonly sway: string;
  readonly bus: string | null;
}

/** What is missing for a desktop, with the package of Debian that has it. */
export interface MissingTool {
  readonly what: string;
  readonly install: string;
}

/** What a host has for desktops on demand. */
export interface DesktopTools {
  /** The X server and the window manager that are used; null where one is missing. */
  readonly uses: readonly string[] | null;
  readonly missing: readonly MissingTool[];
  readonly hasBus: boolean;
  /** What their folders may hold, and those that run hold; null where a server that alone knows does not say. */
  readonly disk: {
    readonly limit: number | null;
    readonly used: ReadonlyArray<{ readonly name: string; readonly used_bytes: number }>;
  } | null;
}

/** @param env where to look (`PATH`). @returns the programs, or what is missing. */
export function findTools(env: NodeJS.ProcessEnv): Tools | { readonly missing: readonly MissingTool[] } {
  const which = (program: string) => Bun.which(program, { PATH: env.PATH ?? "" });
  const servers = env.DISPLAY ? [...SERVERS, NESTED] : SERVERS;
  const server = servers.find(({ program }) => which(program));
  const manager = MANAGERS.find((program) => which(program));
  const serverPath = server && which(server.program);
  const managerPath = manager && which(manager);
  if (!server || !serverPath || !manager || !managerPath) {
    return {
      missing: [
        ...(serverPath ? [] : [{ what: "an X server (Xvfb or Xvnc)", install: "xvfb" }]),
        ...(managerPath
          ? []
          : [{ what: `a window manager (${MANAGERS.slice(0, 3).join(", ")} …)`, install: "openbox" }]),
      ],
    };
  }
  return {
    server: {
      program: server.program,
      path: serverPath,
      command: (screen) => [serverPath, ...server.flags(screen)],
      ...(server === NESTED && { env: { DISPLAY: env.DISPLAY, XAUTHORITY: env.XAUTHORITY } }),
    },
    manager: { program: manager, path: managerPath },
    bus: which("dbus-daemon"),
  };
}

/** @throws an `unavailable` failure that names what is missing, and the package that has it. */
export function requireCompositor(env: NodeJS.ProcessEnv): Compositor {
  requireLinux();
  const which = (program: string) => Bun.which(program, { PATH: env.PATH ?? "" });
  const sway = which("sway");
  if (sway !== null) return { sway, bus: which("dbus-daemon") };
  throw unavailable(
    "a desktop of its own on Wayland needs sway: apt install sway (the name is that of Debian)",
  );
}

/** @throws an `unavailable` failure that names what is missing, and the packages that have it. */
export function requireTools(env: NodeJS.ProcessEnv): Tools {
  requireLinux();
  const found = findTools(env);
  if (!("missing" in found)) return found;
  const what = found.missing.map((one) => one.what).join(" and ");
  const packages = found.missing.map((one) => one.install).join(" ");
  throw unavailable(
    `a desktop of its own needs ${what}: apt install ${packages} (the names are those of Debian)`,
  );
}

function requireLinux(): void {
  if (process.platform !== "linux")
    throw unavailable("desktops on demand: not on this platform (Linux has them)");
}
