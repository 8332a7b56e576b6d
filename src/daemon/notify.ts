/**
 * Telling systemd that the server is ready, still alive, and about to stop (sd_notify(3)).
 *
 * The keep-alive is sent from the event loop, so a server that hangs misses it and is started again.
 */

/** What is told to whoever supervises this process; where nobody does, each does nothing. */
export interface Supervisor {
  /** The server answers; from now on it is kept alive. */
  ready(): void;
  stopping(): void;
}

/** @param env where systemd says whether and where it listens; children of this process are not to talk to it. */
export async function findSupervisor(env: NodeJS.ProcessEnv = process.env): Promise<Supervisor> {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdog } = env;
  for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) delete env[name];
  if (!socket || process.platform !== "linux") return { ready() {}, stopping() {} };
  const { createDatagramSender } = await import("./datagram");
  const send = createDatagramSender(socket);
  let keepAlive: Timer | undefined;
  return {
    ready() {
      send("READY=1");
      // Twice as often as asked for, as sd_watchdog_enabled(3) recommends.
      const everyMs = Number(watchdog ?? 0) / 2_000;
      if (everyMs > 0) keepAlive = setInterval(() => send("WATCHDOG=1"), everyMs);
    },
    stopping() {
      clearInterval(keepAlive);
      send("STOPPING=1");
    },
  };
}
