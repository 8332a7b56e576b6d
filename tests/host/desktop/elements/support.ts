/** A session bus of a test's own, with a display, and programs on both. */
import { desktopOn, startDisplay } from "../support";

/** What the tests of elements need. */
export const PROGRAMS = ["Xvfb", "openbox", "dbus-daemon", "zenity"] as const;

/** A display with a session bus and a desktop on both; all end with the scope. */
export async function startSession(options: Parameters<typeof startDisplay>[0] = {}) {
  await using stack = new AsyncDisposableStack();
  const display = stack.use(await startDisplay(options));
  const flags = ["--session", "--nofork", "--print-address"];
  const daemon = Bun.spawn(["dbus-daemon", ...flags], {
    env: display.env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  stack.defer(async () => {
    daemon.kill();
    await daemon.exited;
  });
  const { value } = await daemon.stdout.getReader().read();
  const env = { ...display.env, DBUS_SESSION_BUS_ADDRESS: new TextDecoder().decode(value).trim() };
  const { desktop } = stack.use(desktopOn(env));
  const own = stack.move();
  return {
    env,
    desktop,
    elements: desktop.elements,
    /** Starts a program that ends with the session. */
    start(...command: string[]) {
      const program = Bun.spawn(command, { env, stdio: ["ignore", "pipe", "ignore"] });
      own.defer(async () => {
        program.kill("SIGKILL");
        await program.exited;
      });
      return program;
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}
