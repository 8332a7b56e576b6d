/**
 * The links of a hub in the log of its server.
 *
 * The promise: each link that comes up or ends has a line while they are few; of many at once, the rest is counted.
 */
import { createBuckets } from "../../lib/buckets";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";

const LINES = { ratePerMinute: 30, burst: 10 };

/** @param now milliseconds since any point in time. */
export function createLinkLog(log: Pick<Log, "info">, now: () => number) {
  const mayLog = createBuckets(LINES);
  const counted = { up: 0, down: 0 };
  const say = (text: string, kind: keyof typeof counted) => {
    if (mayLog("", now()) === 0) log.info(text);
    else counted[kind]++;
  };
  return {
    up: (label: string, address: string): void =>
      say(`${printable(label, 130)} is linked, from ${printable(address, 60)}`, "up"),
    down: (label: string, why: string): void => say(`${printable(label, 130)} is not linked: ${why}`, "down"),
    /** Logs how many had no line, once there may be one. @returns whether that waits. */
    flush(): boolean {
      const { up, down } = counted;
      if (up + down === 0) return false;
      if (mayLog("", now()) > 0) return true;
      log.info(`besides: ${up} came up, ${down} ended (\`svc link list\` shows all links)`);
      Object.assign(counted, { up: 0, down: 0 });
      return false;
    },
  };
}
