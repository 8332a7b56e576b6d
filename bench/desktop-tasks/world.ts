/**
 * The world of one run: a home, a display, a window manager, a session bus and a web server of its own, and all that was started in it,
 * which ends with it.
 */
import {
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
import { settingsOf } from "./changes";
import { answer } from "./pages";
import type { Change } from "./task";

/** How long a program of the runner's own may take, in milliseconds. */
const LIMIT_MS = 20_000;
/** The variable by which all that was started in a world is known. */
const MARK = "SVC_DESKTOP_TASK";

/** What tasks and checkers see. */
export interface World extends AsyncDisposable {
  readonly change: Change | undefined;
  /** Where the files of the task are; the working folder of its programs. */
  readonly folder: string;
  readonly home: string;
  /** The address of the web server, without a slash at the end. */
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  /** What was posted and asked for: `POST /save customer=ACME`, in that order. */
  readonly requests: string[];
  /** What the programs wrote to standard output, in the order of the programs. */
  readonly outputs: string[];
  /** The exit codes, null as long as a program runs. */
  exitCode(nth?: number): number | null;
  /** A list in its order, or reversed under the change `reordered`. */
  ordered<T>(list: readonly T[]): T[];
  write(name: string, text: string | Uint8Array): string;
  /** A file of the folder, or of the home (`~/…`); undefined where there is none. */
  read(name: string): string | undefined;
  exists(name: string): boolean;
  /** What a program of the checker prints; empty where it fails. */
  ask(...command: readonly string[]): Promise<string>;
  clipboard(): Promise<string>;
  /** Starts a program of the task. */
  launch(command: readonly string[]): void;
}

/** Starts a world. @param size of the screen, such as `1920x1080` (default: that of the change). @throws where Xvfb, openbox or dbus-daemon do not start. */
export async function startWorld(change: Change | undefined, size?: string): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const root = mkdtempSync(join(tmpdir(), "desktop-task-"));
  stack.defer(() => rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  const mark = root;
  stack.defer(() => endAll(mark));
  const [home, folder, runtime, temporary] = ["home", "work", "run", "tmp"].map((name) =>
    join(root, name),
  ) as [string, string, string, string];
  for (const path of [home, folder, runtime, temporary]) mkdirSync(path, { mode: 0o700 });
  const settings = settingsOf(change);
  settings.prepare(home);
  const start = (command: readonly string[], env: Record<string, string>) =>
    Bun.spawn([...command], { env, cwd: folder, stdio: ["ignore", "pipe", "ignore"] });

  const plain: Record<string, string> = {
    ...{ PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: home, XDG_RUNTIME_DIR: runtime, [MARK]: mark },
    ...{ LANG: "C.UTF-8", LC_ALL: "C.UTF-8", TZ: "UTC", NO_AT_BRIDGE: "0", GSETTINGS_BACKEND: "keyfile" },
    // Where a program says that it runs already: KeePassXC starts once for a user and a folder for temporary files.
    TMPDIR: temporary,
    // No program of a task needs a keyring, a portal or a proxy.
    ...{ GTK_USE_PORTAL: "0", GDK_BACKEND: "x11", QT_QPA_PLATFORM: "xcb", no_proxy: "127.0.0.1" },
  };
  const screen = ["-screen", "0", `${size ?? settings.screen}x24`];
  const server = start(["Xvfb", "-displayfd", "1", "-nolisten", "tcp", ...screen], plain);
  const display = { ...plain, DISPLAY: `:${await firstLine(server, "Xvfb")}` };
  const rc = settings.manager(root);
  const manager = start(["openbox", "--config-file", rc, "--startup", "echo ready"], display);
  await firstLine(manager, "openbox");
  const env: Record<string, string> = { ...display, ...settings.env };
  const bus = start(["dbus-daemon", "--session", "--nofork", "--print-address"], env);
  env.DBUS_SESSION_BUS_ADDRESS = await firstLine(bus, "dbus-daemon");

  const requests: string[] = [];
  const web = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => answer(request, requests, change === "reordered"),
  });
  stack.defer(() => web.stop(true));
  const programs: Array<ReturnType<typeof start>> = [];
  // Chromium writes its title over its environment: the mark is not found in it.
  stack.defer(() => {
    for (const program of programs) program.kill("SIGKILL");
  });
  const outputs: string[] = [];
  const at = (name: string) => (name.startsWith("~/") ? join(home, name.slice(2)) : join(folder, name));
  const ask = async (command: readonly string[]) => {
    const child = Bun.spawn([...command], {
      ...{ env, cwd: folder, timeout: LIMIT_MS },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const text = await child.stdout.text();
    return (await child.exited) === 0 ? text : "";
  };
  const own = stack.move();
  return {
    ...{ change, folder, home, env, requests, outputs, url: `http://127.0.0.1:${web.port}` },
    exitCode: (nth = 0) => programs[nth]?.exitCode ?? null,
    ordered: (list) => (change === "reordered" ? list.toReversed() : [...list]),
    write(name, text) {
      const path = at(name);
      writeFileSync(path, text);
      return path;
    },
    read(name) {
      const path = at(name);
      return existsSync(path) ? readFileSync(path, "utf8") : undefined;
    },
    exists: (name) => existsSync(at(name)),
    ask: (...command) => ask(command),
    clipboard: async () => (await ask(["timeout", "2", "xclip", "-o", "-selection", "clipboard"])).trimEnd(),
    launch(command) {
      const nth = programs.length;
      outputs.push("");
      const program = start(command, env);
      programs.push(program);
      void (async () => {
        for await (const piece of program.stdout) outputs[nth] += new TextDecoder().decode(piece);
      })();
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** The first line that a program prints. */
async function firstLine(
  child: { readonly stdout: ReadableStream<Uint8Array> },
  name: string,
): Promise<string> {
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  const [line = ""] = new TextDecoder().decode(value).split("\n");
  if (line === "") throw new Error(`${name} did not start`);
  return line.trim();
}

/** Ends every process that has the mark, also those that programs started and left. */
async function endAll(mark: string): Promise<void> {
  for (let round = 0; round < 20; round++) {
    const left = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && hasMark(pid, mark));
    if (left.length === 0) return;
    for (const pid of left) {
      try {
        process.kill(Number(pid), "SIGKILL");
      } catch {
        // It has ended meanwhile.
      }
    }
    await Bun.sleep(50);
  }
}

function hasMark(pid: string, mark: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`${MARK}=${mark}`);
  } catch {
    return false;
  }
}
