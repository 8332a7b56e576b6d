/**
 * The process that replaces the program of a daemon, apart from it: the daemon has started it, and ends in the middle.
 */
import { dirname } from "node:path";
import { requireKnownFormat } from "../lib/format";
import { verifyingKey } from "../release/key";
import { carryOut } from "../release/order";
import { programPath, target, version } from "../version";
import { daemonsRunning } from "./daemons";

/** @param args the folder of the files for upgrades, where the order is. */
export default async function upgradeChild([folder = ""]: readonly string[]): Promise<void> {
  const key = verifyingKey(undefined);
  if (key === null) return;
  const binary = programPath();
  await carryOut(folder, {
    ...{ binary, version, target, key, daemons: await daemonsRunning(binary) },
    requireReadable: (reader) => requireKnownFormat(dirname(folder), reader),
  });
}
