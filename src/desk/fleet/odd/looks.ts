/** Looking for screens that differ, with the connections of the look before. */
import { createConnectionPool } from "../../../client/connection-pool";
import { createThrottledAudit } from "../../../core/throttled-audit";
import type { Host } from "../host";
import { lookForOdd } from "./ask";
import type { OddLooks } from "./operations";

/** @param versions the version of svc of each host, as far as it is known; asked for once for each look. */
export function createOddLooks(
  versions: () => Promise<(host: Host) => string | null>,
): OddLooks & { stop(): void } {
  const kept = createConnectionPool();
  return {
    onRecord: createThrottledAudit(),
    async look(book, hosts, { on, ...how }) {
      return lookForOdd(book, hosts, on, { ...how, kept, versionOf: await versions() });
    },
    stop: kept.stop,
  };
}
