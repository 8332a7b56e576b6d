/**
 * A display of its own: an X server without a screen, a window manager, a session bus, and folders that nobody else reads.
 */
import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DesktopSettings } from "../../core/desktop-request";
import { deadline } from "../../lib/deadline";
import { badInput, cancelled, messageOf, unavailable } from "../../lib/errors";
import { OWN_GROUP } from "../../lib/process-group";
import { runProgram } from "../../lib/run-program";
import { printable } from "../../lib/sanitize";
import { spawn } from "../../lib/spawn";
import type { ProgramSession } from "../desktop/programs";
import { type Account, asUser } from "./account";
import { newAuthority } from "./authority";
import { MARK } from "./keeper";
import type { MemoryGroup } from "./memory";
import type { Tools } from "./tools";

const DEFAULT_SIZE = "1280x800";

/** How long each program has until it is there, in milliseconds. */
const START_MS = 10_000;
const LOCALES_MS = 2_000;

/** A display that runs. */
export interface Display extends ProgramSession {
  readonly size: string;
  readonly scale: number;
  readonly locale: string | null;
  /** `:7`. */
  readonly name: string;
  /** As `as`, for svc's own hands on it: their memory is not that of the programs. */
  asIts(command: readonly string[]): readonly string[];
  /** Whether there is a session bus: without one, nothing is found by name. */
  readonly hasBus: boolean;
  /** Resolves with the reason when the X server, the window manager or the bus has ended. */
  readonly lost: Promise<string>;
}

/** What a display is started with. */
export interface DisplayParts {
  /** The folder of the display, which is made. */
  readonly folder: string;
  readonly tools: Tools;
  readonly account: Account | undefined;
  /** What bounds the memory of its programs; undefined where nothing does. */
  readonly memory: MemoryGroup | undefined;
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
  const folders = makeFolders(folder, account);
  const authority = join(folder, "authority");
  writeFileSync(authority, newAuthority(), { mode: 0o600 });
  if (account) chownSync(authority, account.uid, account.gid);

  const asIts = (command: readonly string[]) => asUser(account, command);
  const as = (command: readonly string[]) => memory?.within(asIts(command)) ?? asIts(command);
  const start = (command: readonly string[], env: NodeJS.ProcessEnv) =>
    spawn(as(command), { ...OWN_GROUP, cwd: folders.runtime, env, stdio: ["ignore", "pipe", "ignore"] });
  const bare = environment({ ...parts, folders, authority, scale, locale });

  const server = start(tools.server.command({ size, authority }), bare);
  const number = await firstLine(tools.server.program, server, signal);
  const address = `unix:path=${join(folders.runtime, "bus")}`;
  // What the bus starts by itself has its environment, and shows its windows there.
  const env = {
    ...bare,
    DISPLAY: `:${number}`,
    ...(tools.bus !== null && { DBUS_SESSION_BUS_ADDRESS: address }),
  };
  const bus = tools.bus === null ? undefined : start([tools.bus, ...busFlags(address)], env);
  const manager = start([tools.manager.path, ...(MANAGER_FLAGS[tools.manager.program] ?? [])], env);
  await Promise.all([
    bus && firstLine("dbus-daemon", bus, signal),
    tools.manager.program in MANAGER_FLAGS && firstLine(tools.manager.program, manager, signal),
  ]);
  const lost = endOf(
    { program: tools.server.program, child: server },
    { program: tools.manager.program, child: manager, mayLeave: true },
    ...(bus ? [{ program: "dbus-daemon", child: bus }] : []),
  );
  return {
    env,
    as,
    asIts,
    size,
    scale,
    locale: locale ?? null,
    name: `:${number}`,
    hasBus: bus !== undefined,
    lost,
  };
}

/** A program of a display. */
interface Part {
  readonly program: string;
  readonly child: { readonly exited: Promise<number> };
  /** Whether it may end by itself, as one does that goes to the background, or that a person has asked to. */
  readonly mayLeave?: boolean;
}

/** How long after another program the X server may be found to have ended, in milliseconds: without it, the others end too. */
const SERVER_MS = 250;

/** Resolves when one of the programs has ended: without a window manager or a bus, much of a desktop does not work, and nobody sees why. */
async function endOf(server: Part, ...others: readonly Part[]): Promise<string> {
  const ended = async ({ program, child, mayLeave = false }: Part) => {
    const code = await child.exited;
    return mayLeave && code === 0 ? new Promise<never>(() => {}) : `${program} has ended`;
  };
  const ofServer = ended(server);
  const why = await Promise.race([ofServer, ...others.map(ended)]);
  return deadline(ofServer, { ms: SERVER_MS, late: () => why });
}

/** dbus-daemon(1) */
const busFlags = (address: string) => [
  ...["--session", "--nofork", "--nopidfile", `--address=${address}`, "--print-address=1"],
];

/** What makes a window manager say on its standard output that it is there. */
const MANAGER_FLAGS: Readonly<Record<string, readonly string[]>> = { openbox: ["--startup", "echo ready"] };

/** @throws `unavailable` when the program ends or stays silent. */
async function firstLine(
  program: string,
  { stdout }: { readonly stdout: ReadableStream<Uint8Array> },
  signal: AbortSignal,
): Promise<string> {
  const reader = stdout.getReader();
  const read = async () => {
    let text = "";
    while (!text.includes("\n")) {
      const { done, value } = await reader.read();
      if (done) throw unavailable(`${program} ended before it was there`);
      text += new TextDecoder().decode(value);
    }
    return text.trim();
  };
  try {
    return await deadline(read(), {
      ms: START_MS,
      late: () => {
        throw unavailable(`${program} was not there after ${START_MS / 1_000} s`);
      },
      signal,
      aborted: () => {
        throw cancelled("cancelled while the desktop started");
      },
    });
  } finally {
    // Nobody reads what it says later, and a full pipe would stop it.
    void drain(reader);
  }
}

async function drain(reader: { read(): Promise<{ readonly done: boolean }> }): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // It has gone.
  }
}

/** The folders of a desktop (XDG Base Directory Specification). */
interface Folders {
  readonly runtime: string;
  readonly config: string;
  readonly cache: string;
  readonly data: string;
  readonly state: string;
}

function makeFolders(folder: string, account: Account | undefined): Folders {
  const named = (name: string) => join(folder, name);
  const folders = {
    runtime: named("runtime"),
    config: named("config"),
    cache: named("cache"),
    data: named("data"),
    state: named("state"),
  };
  // Another user passes through it, and changes nothing in it: what this process makes there later is no link of that user.
  mkdirSync(folder, { mode: account ? 0o711 : 0o700 });
  for (const one of Object.values(folders)) {
    mkdirSync(one, { mode: 0o700 });
    if (account) chownSync(one, account.uid, account.gid);
  }
  return folders;
}

/** What names another desktop, or keeps programs from showing what is in their windows by name. */
const OTHERS = [
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "DBUS_SESSION_BUS_ADDRESS",
  "AT_SPI_BUS_ADDRESS",
  "SESSION_MANAGER",
  "DESKTOP_STARTUP_ID",
  "XDG_SESSION_ID",
  "NO_AT_BRIDGE",
  "GTK_A11Y",
];

interface Surroundings extends DisplayParts {
  readonly folders: Folders;
  readonly authority: string;
  readonly scale: number;
  readonly locale: string | undefined;
}

function environment({
  env,
  folder,
  folders,
  account,
  authority,
  scale,
  locale,
}: Surroundings): NodeJS.ProcessEnv {
  const kept = Object.fromEntries(Object.entries(env).filter(([name]) => !OTHERS.includes(name)));
  return {
    // First: it is looked for at the beginning.
    [MARK]: folder,
    ...kept,
    ...(account && { HOME: account.home, USER: account.name, LOGNAME: account.name }),
    XAUTHORITY: authority,
    XDG_RUNTIME_DIR: folders.runtime,
    XDG_CONFIG_HOME: folders.config,
    XDG_CACHE_HOME: folders.cache,
    XDG_DATA_HOME: folders.data,
    XDG_STATE_HOME: folders.state,
    XDG_SESSION_TYPE: "x11",
    GDK_BACKEND: "x11",
    QT_QPA_PLATFORM: "xcb",
    // Qt 5 and 6 show nothing by name otherwise until somebody has asked.
    QT_LINUX_ACCESSIBILITY_ALWAYS_ON: "1",
    ...(scale !== 1 && { GDK_SCALE: `${scale}`, QT_SCALE_FACTOR: `${scale}` }),
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
