/**
 * The daemons that run the program of this process, as an upgrade sees them.
 */
import { findRunningServer } from "../lib/running-server";
import type { Daemon } from "../release/upgrade";

/** How long a program of the platform may take, in milliseconds. */
const ASKED_MS = 20_000;

/** Those of this user and of the machine. @param binary absolute, without links. */
export async function daemonsRunning(binary: string): Promise<Daemon[]> {
  const [{ daemonsOf }, { runProgram }, { callLocalServer }, { health }] = await Promise.all([
    import("../daemon/installed"),
    import("../lib/run-program"),
    import("../client/local-server"),
    import("../http/operations"),
  ]);
  return daemonsOf(binary).map(({ system, configDir, restart }) => ({
    name: system ? "the daemon of the machine" : "the daemon of this user",
    mayRestart: !system || process.getuid === undefined || process.getuid() === 0,
    answering: () => findRunningServer(configDir)?.pid ?? null,
    async restart() {
      const last = restart.at(-1) ?? [];
      // What clears the way for the last may find nothing to clear.
      for (const line of restart.slice(0, -1)) await runProgram(line, ASKED_MS).catch(() => {});
      await runProgram(last, ASKED_MS);
    },
    async isReady(pid, version) {
      const server = findRunningServer(configDir);
      if (!server || server.pid === pid || (server.version ?? version) !== version) return false;
      return callLocalServer(configDir, health, {}).then(
        ({ status }) => status === "ok",
        () => false,
      );
    },
  }));
}
