/**
 * A display of its own: an X server without a screen and a window manager, or a Wayland compositor; a session bus, and folders that nobody
 * else reads.
 */
import { chownSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { DesktopSettings } from "../../core/desktop-request";
import { badInput, messageOf, unavailable } from "../../lib/errors";
import { OWN_GROUP } from "../../lib/process-group";
import { runProgram } from "../../lib/run-program";
import { printable } from "../../lib/sanitize";
import { spawn } from "../../lib/spawn";
import type { ProgramSession } from "../desktop/programs";
import { type Account, asUser } from "./account";
import type { Disk, Disks } from "./disk";
import { MARK, OWN } from "./keeper";
import type { MemoryGroup } from "./memory";
import { endOf, firstLine, listenTo, type Stage, type Start } from "./stage";
import { startSway } from "./sway-display";
import type { Compositor, Tools } from "./tools";
import { startX } from "./x-display";

const DEFAULT_SIZE = "1280x800";

/** How long locale(1) may take, in milliseconds. */
const LOCALES_MS = 2_000;

/** A display that runs. */
export interface Display extends ProgramSession {
  readonly size: string;
  readonly scale: number;
  readonly locale: string | null;
  /** `:7`, or `wayland-1`. */
  readonly name: string;
  /** As `as`, for svc's own hands on it: their memory is not that of the programs. */
  asIts(command: readonly string[]): readonly string[];
  /** Whether there is a session bus: without one, nothing is found by name. */
  readonly hasBus: boolean;
  /** Resolves with the reason when the display server, the window manager or the bus has ended. */
  readonly lost: Promise<string>;
  /** What bounds what its folders hold; undefined where nothing does. */
  readonly disk: Disk | undefined;
}

/** What a display is started with. */
export interface DisplayParts {
  /** The folder of the display, which is made. */
  readonly folder: string;
  readonly tools: Tools | Compositor;
  readonly account: Account | undefined;
  /** What bounds the memory of its programs; undefined where nothing does. */
  readonly memory: MemoryGroup | undefined;
  /** What bounds what its folders hold; undefined where nothing does. */
  readonly disks: Disks | undefined;
  /** That of svc. */
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/**
 * Starts a display. Whoever has asked for it ends its processes and removes the folder, also where this throws.
 *
 * @throws `bad_input` for a locale that the host does not have; `unavailable` when a program does not start; `cancelled`.
 */
export async function startDisplay(settings: DesktopSettings, parts: DisplayParts): Promise<Display> {
  const { size = DEFAULT_SIZE, scale = 1, locale } = settings;
  const { folder, tools, account, memory, signal } = parts;
  if (locale !== undefined) await requireLocale(locale);
  const { disk, ...folders } = makeFolders(parts);
  const asIts = (command: readonly string[]) => asUser(account, command);
  const as = (command: readonly string[]) => {
    const own = asIts(command);
    return memory?.within(own) ?? own;
  };
  const start: Start = (command, env) => {
    const options = { ...OWN_GROUP, cwd: folders.runtime, env } as const;
    const { stdout, stderr, exited } = spawn(as(command), { ...options, stdio: ["ignore", "pipe", "pipe"] });
    return { stdout, exited, complaints: listenTo(stderr) };
  };
  const address = `unix:path=${escaped(join(folders.runtime, "bus"))}`;
  const bare = {
    ...environment(parts, folders, locale),
    ...(tools.bus !== null && { DBUS_SESSION_BUS_ADDRESS: address }),
  };
  const stage: Stage = { size, scale, folder, account, start, signal, env: bare };
  const { server, program, name, env, rest } =
    "sway" in tools ? await startSway(tools, stage) : await startX(tools, stage);
  // What the bus starts by itself has its environment, and shows its windows there.
  const bus = tools.bus === null ? undefined : start([tools.bus, ...busFlags(address)], env);
  const [, others] = await Promise.all([bus && firstLine("dbus-daemon", bus, signal), rest()]);
  const lost = endOf(
    { program, child: server },
    ...others,
    ...(bus ? [{ program: "dbus-daemon", child: bus }] : []),
  );
  return { env, as, asIts, size, scale, name, lost, disk, locale: locale ?? null, hasBus: bus !== undefined };
}

/** A value in an address of D-Bus: all but a few characters are written as bytes (D-Bus Specification, "Server Addresses"). */
const escaped = (value: string) =>
  Array.from(Buffer.from(value), (byte) => {
    const letter = String.fromCharCode(byte);
    return /[-0-9A-Za-z_/.*]/.test(letter) ? letter : `%${byte.toString(16).padStart(2, "0")}`;
  }).join("");

/** dbus-daemon(1) */
const busFlags = (address: string) => [
  ...["--session", "--nofork", "--nopidfile", `--address=${address}`, "--print-address=1"],
];

/** The folders of a desktop (XDG Base Directory Specification). */
interface Folders {
  readonly runtime: string;
  readonly config: string;
  readonly cache: string;
  readonly data: string;
  readonly state: string;
  /** For temporary files (environ(7)). */
  readonly tmp: string;
}

function makeFolders({ folder, account, disks }: DisplayParts) {
  // Another user passes through both, and changes nothing in them: what this process makes there later is no link of that user.
  const mode = account ? 0o711 : 0o700;
  mkdirSync(folder, { mode });
  const own = join(folder, OWN);
  const disk = disks?.make(own, mode);
  if (!disk) mkdirSync(own, { mode });
  const named = (name: string) => join(own, name);
  const folders: Folders = {
    runtime: named("runtime"),
    config: named("config"),
    cache: named("cache"),
    data: named("data"),
    state: named("state"),
    tmp: named("tmp"),
  };
  for (const one of Object.values(folders)) {
    mkdirSync(one, { mode: 0o700 });
    if (account) chownSync(one, account.uid, account.gid);
  }
  return { ...folders, disk };
}

/** What names another desktop, or keeps programs from showing what is in their windows by name. */
const OTHERS = [
  // Of the desktop that svc itself runs on.
  MARK,
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "SWAYSOCK",
  "XAUTHORITY",
  "DBUS_SESSION_BUS_ADDRESS",
  "AT_SPI_BUS_ADDRESS",
  "SESSION_MANAGER",
  "DESKTOP_STARTUP_ID",
  "XDG_SESSION_ID",
  "NO_AT_BRIDGE",
  "GTK_A11Y",
];

/** The environment of its programs, but for what names the display. */
function environment(
  { env, folder, account }: DisplayParts,
  folders: Folders,
  locale: string | undefined,
): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !OTHERS.includes(name)));
  return {
    // First: it is looked for at the beginning.
    [MARK]: folder,
    ...kept,
    ...(account && { HOME: account.home, USER: account.name, LOGNAME: account.name }),
    XDG_RUNTIME_DIR: folders.runtime,
    XDG_CONFIG_HOME: folders.config,
    XDG_CACHE_HOME: folders.cache,
    XDG_DATA_HOME: folders.data,
    XDG_STATE_HOME: folders.state,
    TMPDIR: folders.tmp,
    // Qt 5 and 6 show nothing by name otherwise until somebody has asked.
    QT_LINUX_ACCESSIBILITY_ALWAYS_ON: "1",
    ...(locale !== undefined && { LANG: locale, LC_ALL: locale, LANGUAGE: "" }),
  };
}

/** @throws a `bad_input` failure for one that the host does not have (locale(1)). */
async function requireLocale(locale: string): Promise<void> {
  let known: string[];
  try {
    known = new TextDecoder()
      .decode(await runProgram(["locale", "-a"], LOCALES_MS))
      .split("\n")
      .map(simple);
  } catch (error) {
    throw unavailable(`the locales of this host cannot be listed: ${messageOf(error)}`);
  }
  if (known.includes(simple(locale))) return;
  throw badInput(`locale: this host has no ${printable(locale, 64)} (\`locale -a\` lists what it has)`);
}

/** `de_DE.UTF-8` and `de_DE.utf8` are one. */
const simple = (name: string) =>
  name
    .trim()
    .toLowerCase()
    .replace(/utf-8$/, "utf8");
