/**
 * What upgrades the program of this process from its desk.
 */
import { configFiles } from "../lib/paths";
import { createFromDesk, type FromDesk } from "../release/from-desk";
import { verifyingKey } from "../release/key";
import { compiled, programPath, target, version } from "../version";
import { daemonsRunning } from "./daemons";

/** @throws the system error once the program has been removed. */
export function openFromDesk(configDir: string): FromDesk {
  const binary = compiled ? programPath() : process.execPath;
  const folder = configFiles(configDir).upgrade;
  return createFromDesk({
    ...{ folder, binary, version, target, key: verifyingKey(undefined), compiled, pid: process.pid },
    daemons: () => daemonsRunning(binary),
  });
}
