/** TigerVNC's viewer, on a display of its own: a client that knows nothing of svc. */

import { runToEnd } from "../../../support";
import { startDisplay } from "../support";

export const TIGER = ["xtigervncviewer", "xdotool", "Xvfb", "openbox", "xmodmap"] as const;

/** What every carrier has to bring across: punctuation, shifted keys, umlauts, CJK. */
export const TEXT = `Hello, noVNC (42)! a/b\\c "q" @# Grüße, 世界`;

/** Keycodes that no key of the test's keyboard has, for what {@link TEXT} needs besides the keys of a US one. */
const FURTHER_KEYS = ["udiaeresis", "ssharp", "U4E16", "U754C"].map(
  (name, nth) => `keycode ${247 + nth} = ${name}`,
);

/** The viewer, connected to a port of this machine; it ends with the scope. @param password that it gives (default: it knows none). */
export async function startTiger(port: number, password?: string) {
  await using stack = new AsyncDisposableStack();
  const display = stack.use(await startDisplay());
  const { env } = display;
  // Else xdotool gives a keycode another meaning for each character, and the viewer may look it up too late.
  await Bun.$`xmodmap ${FURTHER_KEYS.flatMap((line) => ["-e", line])}`.env(env).quiet();
  const security = password === undefined ? "None" : "VncAuth";
  const flags = [`-SecurityTypes=${security}`, "-FullScreen=0", "-RemoteResize=0", "-geometry=1300x850+0+0"];
  const child = Bun.spawn(["xtigervncviewer", ...flags, `127.0.0.1::${port}`], {
    env: { ...env, ...(password !== undefined && { VNC_PASSWORD: password }) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  stack.defer(async () => {
    child.kill("SIGKILL");
    await child.exited;
  });
  const said = child.stderr.text();
  const xdotool = async (...args: string[]) => {
    const { stdout: out, stderr: err, exitCode } = await runToEnd(["xdotool", ...args], { env });
    if (exitCode !== 0) throw new Error(`xdotool ${args[0]}: ${err}`);
    return out.trim();
  };
  const rest = stack.move();
  return {
    env,
    /** Waits for a window whose title holds `words`: that of the screen has the name that it was sent. */
    async shows(words: string): Promise<string> {
      const found = xdotool("search", "--sync", "--onlyvisible", "--name", words);
      const gone = said.then((text) => {
        throw new Error(`the viewer has ended: ${text}`);
      });
      return ((await Promise.race([found, gone])).split("\n")[0] ?? "").trim();
    },
    /** Clicks into the window at a place of the screen, and types. */
    async click(window: string, x: number, y: number): Promise<void> {
      await xdotool(
        "windowfocus",
        "--sync",
        window,
        "mousemove",
        "--window",
        window,
        `${x}`,
        `${y}`,
        "click",
        "1",
      );
    },
    type: (text: string) => xdotool("type", "--delay", "40", text),
    enter: () => xdotool("key", "Return"),
    /** All that it said on stderr, once it has ended. */
    said,
    exited: child.exited,
    [Symbol.asyncDispose]: () => rest.disposeAsync(),
  };
}
