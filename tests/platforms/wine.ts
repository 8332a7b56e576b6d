/**
 * Windows, as Wine 8 of Debian 12 has it, with svc.exe and what Wine lacks beside it.
 */
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { addons } from "../../build/addons";
import type { Packages } from "../../build/targets";
import { startDisplay } from "../host/desktop/support";
import { temporaryFolder } from "../support";
import { buildFor } from "./build";
import type { Machine } from "./machine";

/** What {@link startWindows} needs. */
export const PROGRAMS = ["wine", "wineserver", "x86_64-w64-mingw32-gcc", "Xvfb", "openbox"] as const;

const SHIMS = join(import.meta.dir, "shims");
/** The libraries that stand for Windows's own, and what they are made of. */
const LIBRARIES = {
  "bcryptprimitives.dll": ["bcryptprimitives.c", "-ladvapi32"],
  "dwmapi.dll": ["dwmapi.c", "-luser32"],
  "USERW8.dll": ["user32.c", "user32.def", "-luser32"],
} as const;
const HELPERS = { "ctrl-c.exe": "ctrl-c.c", "window.exe": "window.c" } as const;

export interface Windows extends Machine, AsyncDisposable {
  /** The folder with svc.exe, the libraries and the helpers. */
  readonly programs: string;
  /** A copy of that folder: its files are the same. */
  install(folder: string): void;
  /** The command line of a helper. */
  helper(name: keyof typeof HELPERS, ...args: readonly string[]): readonly string[];
  /** Lets `letter` be a drive, which is the folder `path`. */
  drive(letter: string, path: string): void;
}

export async function startWindows(): Promise<Windows> {
  await using stack = new AsyncDisposableStack();
  const { path: root } = stack.use(temporaryFolder());
  const display = stack.use(await startDisplay());
  const prefix = join(root, "wine");
  const env = {
    PATH: process.env.PATH,
    DISPLAY: display.env.DISPLAY,
    LC_ALL: "C.UTF-8",
    HOME: root,
    WINEPREFIX: prefix,
    WINEDEBUG: "-all",
    // Nothing of ours is for .NET or a browser engine, which Wine would offer to download.
    WINEDLLOVERRIDES: "dwmapi=n,b;mscoree,mshtml=",
  };
  const settled = (...line: readonly string[]) =>
    Bun.spawn([...line], { cwd: root, env, stdio: ["ignore", "ignore", "ignore"] }).exited;
  // Ends every program of this prefix, and no other's.
  stack.defer(() => settled("wineserver", "--kill", "--wait").then(() => {}));
  // Otherwise the first svc starts it, and what it prints at its end gets among what svc has printed.
  await settled("wineserver", "--persistent");
  const [built] = await Promise.all([buildFor("windows-x64", withOwnKeys), settled("wineboot", "--init")]);
  stack.use(built);
  await settled("wine", "winecfg", "/v", "win10");

  const programs = join(root, "wine", "drive_c", "svc");
  mkdirSync(programs);
  copyFileSync(built.binary, join(programs, "svc.exe"));
  await compileShims(programs);
  // Beside an addon and there is where Windows looks for what it needs.
  const system = join(prefix, "drive_c", "windows", "system32");
  for (const name of Object.keys(LIBRARIES)) copyFileSync(join(programs, name), join(system, name));
  const drive = (letter: string, path: string) => symlinkSync(path, join(prefix, "dosdevices", `${letter}:`));

  const home = join(prefix, "drive_c", "users", "lab");
  mkdirSync(home);
  const named = (path: string) => windowsPath(path, prefix);
  const kept = stack.move();
  return {
    ...{ programs, home, env, named, drive },
    command: ["wine", named(join(programs, "svc.exe"))],
    helper: (name, ...args) => ["wine", named(join(programs, name)), ...args],
    install(folder) {
      mkdirSync(folder, { recursive: true });
      for (const name of readdirSync(programs)) linkSync(join(programs, name), join(folder, name));
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** How Windows names the file of this machine at `path`: drive Z: is the root. */
function windowsPath(path: string, prefix: string): string {
  const drive = join(prefix, "drive_c");
  const name = path.startsWith(`${drive}/`) ? `C:${path.slice(drive.length)}` : `Z:${path}`;
  return name.replaceAll("/", "\\");
}

async function compileShims(folder: string): Promise<void> {
  const compiled = async (output: string, ...flags: readonly string[]) => {
    const line = ["x86_64-w64-mingw32-gcc", "-O1", "-s", "-o", join(folder, output), ...flags];
    const { exited } = Bun.spawn(line, { cwd: SHIMS, stdio: ["ignore", "inherit", "inherit"] });
    if ((await exited) !== 0) throw new Error(`${output} cannot be compiled`);
  };
  const libraries = Object.entries(LIBRARIES).map(([name, made]) => compiled(name, "-shared", ...made));
  const helpers = Object.entries(HELPERS).map(([name, source]) =>
    compiled(name, "-municode", source, "-lgdi32"),
  );
  await Promise.all([...libraries, ...helpers]);
}

/** The addons of svc, but robotjs with shims/user32.c in place of user32.dll. */
function withOwnKeys({ modules }: Packages, folder: string): typeof addons {
  const { robotjs } = addons;
  if (!robotjs) throw new Error("svc has no robotjs");
  const original = readFileSync(join(modules, robotjs.files["windows-x64"] ?? ""), "latin1");
  const own = join(folder, "robotjs.node");
  writeFileSync(own, original.replace("USER32.dll", "USERW8.dll"), "latin1");
  return {
    ...addons,
    robotjs: { ...robotjs, files: { ...robotjs.files, "windows-x64": relative(modules, own) } },
  };
}
