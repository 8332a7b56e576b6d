/**
 * A display of a test's own: Xvfb with openbox, programs that show windows on it, and what svc is asked to do there.
 */

import { afterAll, beforeAll } from "bun:test";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Subprocess } from "bun";
import { createDesktop, type Desktop, type DesktopOptions } from "../../../src/host/desktop/desktop";
import { connect } from "../../../src/host/desktop/x11/connection";
import { silentLog } from "../../../src/lib/log";
import { Requester } from "../../../src/lib/slots";
import { temporaryFolder, until } from "../../support";

export const PROGRAMS = ["Xvfb", "openbox", "xterm", "xev", "xmodmap", "setxkbmap"] as const;
export const SIZE = { width: 1280, height: 800 };
/** The owner of the host, who does not go. */
export const forever = new Requester(null);

/**
 * A display (a free one, unless `name` says which), with openbox unless `managed` is false; both end with the scope.
 *
 * @param options.authority the file with the cookie that clients must show.
 */
export async function startDisplay({
  name = "",
  screens = [`${SIZE.width}x${SIZE.height}x24`],
  managed = true,
  authority = "",
} = {}): Promise<
  AsyncDisposable & {
    readonly env: NodeJS.ProcessEnv;
    readonly server: Subprocess;
    readonly manager: Subprocess | undefined;
  }
> {
  const monitors = screens.flatMap((screen, nth) => ["-screen", String(nth), screen]);
  const flags = ["-displayfd", "1", "-nolisten", "tcp", "+xinerama", ...monitors];
  if (authority) flags.push("-auth", authority);
  const server = Bun.spawn(["Xvfb", ...(name ? [name] : []), ...flags], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const { value } = await server.stdout.getReader().read();
  const env = { ...process.env, DISPLAY: `:${new TextDecoder().decode(value).trim()}`, LC_ALL: "C.UTF-8" };
  const manager = managed
    ? Bun.spawn(["openbox", "--startup", "echo ready"], { env, stdio: ["ignore", "pipe", "ignore"] })
    : undefined;
  // A program that shows its window before there is a window manager may wait for five seconds (Xt's wmTimeout).
  await manager?.stdout.getReader().read();
  return {
    env,
    server,
    manager,
    async [Symbol.asyncDispose]() {
      manager?.kill("SIGKILL");
      server.kill("SIGKILL");
      await Promise.all([manager?.exited, server.exited]);
    },
  };
}

/** A desktop whose child sees `env`, stopped when the scope ends. */
export function desktopOn(
  env: NodeJS.ProcessEnv,
  options: Partial<DesktopOptions> = {},
): AsyncDisposable & { readonly desktop: Desktop } {
  const folder = temporaryFolder();
  const desktop = createDesktop({
    lockFile: join(folder.path, "input.lock"),
    imagesFolder: join(folder.path, "images"),
    ocrFolder: join(folder.path, "ocr"),
    log: silentLog,
    env,
    ...options,
  });
  return {
    desktop,
    async [Symbol.asyncDispose]() {
      await desktop.stop();
      folder[Symbol.dispose]();
    },
  };
}

/** Hands `take` a display and its desktop for all tests of a file; neither is started where one of `programs` is missing. */
export function forAllTests(
  programs: readonly string[],
  take: (started: {
    readonly display: Awaited<ReturnType<typeof startDisplay>>;
    readonly desktop: Desktop;
  }) => void,
): void {
  const stack = new AsyncDisposableStack();
  beforeAll(async () => {
    if (programs.some((name) => Bun.which(name) === null)) return;
    const display = stack.use(await startDisplay());
    const { desktop } = stack.use(desktopOn(display.env));
    take({ display, desktop });
  });
  afterAll(() => stack.disposeAsync());
}

/** What a pager asks the window manager on the display of `env` for, about a window (0: the root). */
export async function askManager(
  env: NodeJS.ProcessEnv,
  about: number,
  message: string,
  ...data: readonly number[]
): Promise<void> {
  const { client, screen, need, settled, close } = await connect(env, () => {});
  const type = await need.InternAtom(false, message);
  const filled = [...data, 0, 0, 0, 0, 0].slice(0, 5);
  client.SendClientMessage(screen.root, about || screen.root, type, 32, filled);
  await settled();
  close();
}

/** Resolves when the window's properties, as an independent program prints them, hold `words`. */
export async function untilWindowSays(env: NodeJS.ProcessEnv, hwnd: number, words: string): Promise<void> {
  await until(`the window to say ${words}`, async () => {
    const xprop = Bun.spawn(["xprop", "-id", `${hwnd}`], { env, stdio: ["ignore", "pipe", "ignore"] });
    return (await xprop.stdout.text()).includes(words);
  });
}

/** The process id of the child. @throws when there is none: to the system, none would be everybody. */
export function childOf({ childPid }: Desktop): number {
  if (childPid === null) throw new Error("expected the desktop to have a child");
  return childPid;
}

/** An xterm that writes each line typed into it to a file; it ends with the scope. */
export function openTerminal(env: NodeJS.ProcessEnv, title: string, geometry = "80x10+50+60") {
  const folder = temporaryFolder();
  const file = join(folder.path, "typed");
  appendFileSync(file, "");
  const flags = ["-T", title, "-geometry", geometry, "-bg", "#123456", "-fg", "#ffffff"];
  const child = Bun.spawn(["xterm", ...flags, "-e", "sh", "-c", 'exec cat >> "$0"', file], {
    env,
    stdio: ["ignore", "ignore", "ignore"],
  });
  return {
    /** What has been typed, once it holds `lines` line feeds. */
    async typed(lines: number): Promise<string> {
      return until(`${lines} lines to be typed`, () => {
        const text = readFileSync(file, "utf8");
        return text.split("\n").length > lines ? text : undefined;
      });
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
      folder[Symbol.dispose]();
    },
  };
}

/** A window of xev, which prints each button and key event that it gets; closed when the scope ends. */
export function openListener(env: NodeJS.ProcessEnv, title: string) {
  const flags = ["-name", title, "-geometry", "200x200+600+300", "-event", "button", "-event", "keyboard"];
  const child = Bun.spawn(["stdbuf", "-oL", "xev", ...flags], { env, stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  const reading = (async () => {
    for await (const piece of child.stdout) output += new TextDecoder().decode(piece);
  })();
  return {
    /** The strokes since the start (`+button 1`, `-key Shift_L`), once there are `count` of them. */
    strokes: (count: number) =>
      until(`${count} strokes`, () => {
        const strokes = strokesIn(output);
        return strokes.length >= count ? strokes : undefined;
      }),
    async [Symbol.asyncDispose]() {
      child.kill();
      await Promise.all([child.exited, reading]);
    },
  };
}

function strokesIn(output: string): string[] {
  const event =
    /^(Button|Key)(Press|Release) event[\s\S]*?(?:, button (\d+),|\(keysym 0x[0-9a-f]+, (\S+)\))/gm;
  return Array.from(output.matchAll(event), ([, device = "", way, button, key]) => {
    return `${way === "Press" ? "+" : "-"}${device.toLowerCase()} ${button ?? key}`;
  });
}
