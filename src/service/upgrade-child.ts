/**
 * The process that replaces the program of a daemon, apart from it: the daemon has started it, and ends in the middle.
 */
import { dirname } from "node:path";
import { carryOut } from "../host/release/order";
import { unavailable } from "../lib/errors";
import { requireKnownFormat } from "../lib/format";
import { programPath, target, version } from "../version";
import { verifyingKey } from "../wire/release/key";
import { daemonsRunning } from "./daemons";

/** @param args the folder of the files for upgrades, where the order is, and the id of the order. */
export default async function upgradeChild([folder = "", id = ""]: readonly string[]): Promise<void> {
  await carryOut(folder, id, async () => {
    const key = verifyingKey(undefined);
    if (key === null) throw unavailable("this svc has no release key");
    const binary = programPath();
    return {
      binary,
      version,
      target,
      key,
      daemons: await daemonsRunning(binary),
      requireReadable: (reader) => requireKnownFormat(dirname(folder), reader),
    };
  });
}
