/**
 * What upgrades the program of this process from its desk.
 */

import { createFromDesk, type FromDesk } from "../host/release/from-desk";
import { configFiles } from "../lib/paths";
import { compiled, programPath, target, version } from "../version";
import { verifyingKey } from "../wire/release/key";
import { daemonsRunning } from "./daemons";

/** @throws the system error once the program has been removed. */
export function openFromDesk(configDir: string): FromDesk {
  const binary = compiled ? programPath() : process.execPath;
  const folder = configFiles(configDir).upgrade;
  return createFromDesk({
    folder,
    binary,
    version,
    target,
    key: verifyingKey(undefined),
    compiled,
    pid: process.pid,
    daemons: () => daemonsRunning(binary),
  });
}
