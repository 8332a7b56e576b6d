/**
 * Ending the server that runs on a folder, for a command that puts another desk into it, and starting it again where it was a daemon.
 */
import { realpathSync } from "node:fs";
import type { Daemon } from "../host/release/upgrade";
import { timedOut } from "../lib/errors";
import { isLocked } from "../lib/lock";
import { configFiles } from "../lib/paths";
import { findRunningServer } from "../lib/running-server";
import type { Service } from "./interface";

/** How long a server may take to end, in milliseconds: it waits for changes that are under way. */
const END_MS = 60_000;
const LOOK_MS = 50;

/** A server that was ended. */
export interface EndedServer {
  /** Starts it again. @returns false where it was no daemon: its user starts it. @throws a failure where that cannot be asked for. */
  start(): Promise<boolean>;
}

/**
 * Ends the server on the folder of `service`, as a service manager does.
 *
 * @returns null where none runs. @throws `timeout` where it does not end; the system error where it may not be ended.
 */
export async function endServer(
  service: Pick<Service, "configDir" | "daemonsRunning">,
): Promise<EndedServer | null> {
  const { configDir } = service;
  const server = findRunningServer(configDir);
  if (!server) return null;
  const daemons = await service.daemonsRunning(realpathSync(process.execPath));
  const daemon: Daemon | undefined = daemons.find((one) => one.answering() === server.pid);
  process.kill(server.pid, "SIGTERM");
  const until = performance.now() + END_MS;
  while (isLocked(configFiles(configDir).serveLock)) {
    if (performance.now() > until)
      throw timedOut(`the server (pid ${server.pid}) has not ended within ${END_MS / 1_000} s`);
    await Bun.sleep(LOOK_MS);
  }
  return {
    async start() {
      await daemon?.restart();
      return daemon !== undefined;
    },
  };
}
