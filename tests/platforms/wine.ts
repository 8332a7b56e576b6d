/**
 * Windows, as Wine 8 of Debian 12 has it, with svc.exe and what Wine lacks beside it.
 */
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
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
const HELPERS = { "ctrl-c.exe": "ctrl-c.c", "window.exe": "window.c", "form.exe": "form.c" } as const;

/** What declares the interfaces of UI Automation (libwine-dev): without it, programs show nothing by name. */
export const INTERFACES = "/usr/include/wine/wine/windows/uiautomationclient.h";
/** The client of UI Automation that Wine lacks (shims/uia.c), and its classes: CUIAutomation and CUIAutomation8. */
const CLIENT = "svcuia.dll";
const CLASSES = ["ff48dba4-60ef-4201-aa87-54103eef594e", "e22ad333-b25f-460c-83d0-0581107395c9"];

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
  if (existsSync(INTERFACES)) {
    await compileClient(join(programs, CLIENT), root);
    const entries = join(root, "client.reg");
    writeFileSync(entries, registered(`C:\\svc\\${CLIENT}`));
    await settled("wine", "regedit", "/S", windowsPath(entries, prefix));
  }
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

async function compiled(output: string, ...flags: readonly string[]): Promise<void> {
  const line = ["x86_64-w64-mingw32-gcc", "-O1", "-s", "-o", output, ...flags];
  const { exited } = Bun.spawn(line, { cwd: SHIMS, stdio: ["ignore", "inherit", "inherit"] });
  if ((await exited) !== 0) throw new Error(`${output} cannot be compiled`);
}

async function compileShims(folder: string): Promise<void> {
  const libraries = Object.entries(LIBRARIES).map(([name, made]) =>
    compiled(join(folder, name), "-shared", ...made),
  );
  const helpers = Object.entries(HELPERS).map(([name, source]) =>
    compiled(join(folder, name), "-municode", source, "-lgdi32"),
  );
  await Promise.all([...libraries, ...helpers]);
}

/** The two headers of Wine alone: for all others, those of mingw-w64 are the ones that fit it. */
async function compileClient(output: string, root: string): Promise<void> {
  const headers = join(root, "headers");
  mkdirSync(headers);
  for (const name of ["uiautomationclient.h", "uiautomationcore.h"])
    copyFileSync(join(dirname(INTERFACES), name), join(headers, name));
  const libraries = ["-lole32", "-loleaut32", "-luuid", "-luser32"];
  await compiled(output, "-shared", "-I", headers, "uia.c", ...libraries);
}

/** What registers a library as the server of {@link CLASSES}, for regedit. */
function registered(library: string): string {
  const entries = CLASSES.flatMap((id) => [
    `[HKEY_LOCAL_MACHINE\\Software\\Classes\\CLSID\\{${id}}\\InprocServer32]`,
    `@="${library.replaceAll("\\", "\\\\")}"`,
    '"ThreadingModel"="Both"',
  ]);
  return ["REGEDIT4", "", ...entries, ""].join("\r\n");
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
