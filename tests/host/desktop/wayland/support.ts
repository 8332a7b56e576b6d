/** A Wayland session of a test's own: sway without a screen, as a user that is not root. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BINARY, until } from "../../../support";

export const SIZE = { width: 1280, height: 800 };

const CONFIG = `output HEADLESS-1 resolution ${SIZE.width}x${SIZE.height}
default_border none
focus_follows_mouse no
xwayland disable
`;

/** The user `nobody` of Debian. */
const [NOBODY, NOGROUP] = [65_534, 65_534];

const isRoot = process.getuid?.() === 0;

/** The command line that runs `command` as a user that is not root. */
export const asNobody = (command: readonly string[]): string[] =>
  isRoot
    ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOGROUP}`, "--clear-groups", ...command]
    : [...command];

/** A session; it ends with the scope, with all programs that were started in it. */
export interface Session extends AsyncDisposable {
  readonly env: NodeJS.ProcessEnv;
  /** A folder of the user of the session. */
  readonly folder: string;
  /** Starts a program in the session. */
  start(command: readonly string[], env?: NodeJS.ProcessEnv): Bun.Subprocess<"ignore", "pipe", "ignore">;
}

/** @param compositor its command line; it is told to have no screen. @param config further lines of sway's. */
export async function startSway(config = "", compositor?: readonly string[]): Promise<Session> {
  const folder = mkdtempSync(join(tmpdir(), "svc-sway-"));
  const runtime = join(folder, "run");
  mkdirSync(runtime, { mode: 0o700 });
  writeFileSync(join(folder, "config"), CONFIG + config);
  for (const path of [folder, runtime, join(folder, "config")]) if (isRoot) chownSync(path, NOBODY, NOGROUP);
  chmodSync(folder, 0o755);
  const {
    DISPLAY: _x,
    WAYLAND_DISPLAY: _w,
    DBUS_SESSION_BUS_ADDRESS: _b,
    SWAYSOCK: _s,
    ...rest
  } = process.env;
  const bare = { ...rest, HOME: folder, XDG_RUNTIME_DIR: runtime, LC_ALL: "C.UTF-8" };
  const headless = { WLR_BACKENDS: "headless", WLR_RENDERER: "pixman", WLR_LIBINPUT_NO_DEVICES: "1" };
  const running: Bun.Subprocess[] = [];
  const spawn = (command: readonly string[], env: NodeJS.ProcessEnv) => {
    const child = Bun.spawn(asNobody(command), { env, cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
    running.push(child);
    return child;
  };
  spawn(compositor ?? ["sway", "--config", join(folder, "config")], { ...bare, ...headless });
  const display = await until("the compositor to listen", () =>
    readdirSync(runtime).find((name) => /^wayland-\d+$/.test(name)),
  );
  const env = { ...bare, WAYLAND_DISPLAY: display, GDK_BACKEND: "wayland", QT_QPA_PLATFORM: "wayland" };
  return {
    env,
    folder,
    start: (command, own = {}) => spawn(command, { ...env, ...own }),
    async [Symbol.asyncDispose]() {
      for (const child of running.reverse()) child.kill("SIGKILL");
      await Promise.all(running.map(({ exited }) => exited));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The binary where the user of the session may run it. */
export function svcIn({ folder }: Session): string {
  const binary = join(folder, "svc");
  if (!existsSync(binary)) copyFileSync(BINARY, binary);
  return binary;
}

/** What the actions returned, in order; the error of one that failed. */
export async function execute(session: Session, ...actions: readonly unknown[]): Promise<unknown[]> {
  const file = join(session.folder, `${crypto.randomUUID()}.json`);
  writeFileSync(file, JSON.stringify(actions));
  chmodSync(file, 0o644);
  const child = session.start([svcIn(session), "execute", file, "--json"]);
  const { outcomes } = JSON.parse(await child.stdout.text());
  return outcomes.map(({ ok, result, error }: { ok: boolean; result?: unknown; error?: string }) =>
    ok ? result : error,
  );
}

/**
 * Ends once the terminal has the keyboard, for `sh`. A terminal that is asked for reports of focus (mode 1004 of xterm's control sequences)
 * sends ESC [ I then.
 */
const UNTIL_FOCUSED = `stty raw -echo; printf '\\033[?1004h'
while [ "$(dd bs=1 count=1 2>/dev/null)" != I ]; do :; done
printf '\\033[?1004l'; stty sane`;

/** A terminal (foot) that writes each line typed into it to a file, after `first`, for `sh`. */
export function openTerminal(session: Session, title: string, first = ":") {
  const file = join(session.folder, `typed-${crypto.randomUUID()}`);
  writeFileSync(file, "");
  chmodSync(file, 0o666);
  const child = session.start([
    "foot",
    "--title",
    title,
    "--override=locked-title=yes",
    "sh",
    "-c",
    `${first}; exec cat >> "$0"`,
    file,
  ]);
  return {
    /** Ends it. */
    close: () => child.kill(),
    /** What has been typed, once it holds `lines` line feeds. */
    typed: (lines: number): Promise<string> =>
      until(`${lines} lines to be typed`, () => {
        const text = readFileSync(file, "utf8");
        return text.split("\n").length > lines ? text : undefined;
      }),
  };
}

/** A terminal that has the keyboard. */
export async function openFocused(session: Session, title: string) {
  const marker = join(session.folder, `focused-${crypto.randomUUID()}`);
  const terminal = openTerminal(session, title, `${UNTIL_FOCUSED}; : > '${marker}'`);
  await until("the terminal to have the keyboard", () => existsSync(marker));
  return terminal;
}
