/**
 * Notifications to systemd: the server is ready, alive, about to stop (sd_notify(3)).
 *
 * The keep-alive is sent from the event loop and only while the listener answers, so a server that hangs, or that nobody can
 * reach any longer, misses it and is restarted.
 */
import { openLibc } from "./libc";

/** From Linux's socket.h and un.h. */
const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 0o2000002;
const MSG_NOSIGNAL = 0x4000;

const NOBODY = { ready(_lives: () => Promise<boolean>) {}, stopping() {} };

/**
 * Who supervises this process; without a supervisor, each method does nothing.
 *
 * @param env has systemd's variables; they are removed, since child processes must not talk to systemd.
 */
export async function findSupervisor(env: NodeJS.ProcessEnv = process.env) {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdog } = env;
  for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) delete env[name];
  if (!socket || process.platform !== "linux") return NOBODY;
  const send = await createDatagramSender(socket);
  let keepAlive: Timer | undefined;
  return {
    /** The server answers; from now on the keep-alive is sent, as long as `lives` says so. */
    ready(lives: () => Promise<boolean>) {
      send("READY=1");
      // Twice as often as required, as sd_watchdog_enabled(3) recommends.
      const everyMs = Number(watchdog ?? 0) / 2_000;
      if (everyMs > 0) keepAlive = setInterval(async () => (await lives()) && send("WATCHDOG=1"), everyMs);
    },
    stopping() {
      clearInterval(keepAlive);
      send("STOPPING=1");
    },
  };
}

/**
 * A function that sends a text as a datagram to a Unix socket.
 * A text that cannot be sent is lost, as with any datagram.
 *
 * @param path of the socket; one that begins with `@` is in the abstract namespace (unix(7)).
 * @throws when no C library is found.
 */
async function createDatagramSender(path: string): Promise<(text: string) => void> {
  const { ptr } = await import("bun:ffi");
  const { socket, sendto } = openLibc({
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
  });
  const family = new Uint8Array(new Uint16Array([AF_UNIX]).buffer);
  const address = Buffer.concat([family, Buffer.from(path.replace(/^@/, "\0"))]);
  const descriptor = socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0);
  return (text) => {
    const message = Buffer.from(text);
    sendto(descriptor, ptr(message), message.length, MSG_NOSIGNAL, ptr(address), address.length);
  };
}
