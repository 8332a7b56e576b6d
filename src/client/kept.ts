/**
 * Connections that wait for the next request to the same servers: who polls them again and again need not dial again and again.
 *
 * Promises. Each is to a server that was trusted in the same way. There are never more than `most`, and none waits for long.
 */
import { descriptorLimit } from "../lib/descriptors";
import type { Line } from "./line";

/** How long one waits at least, in milliseconds; at most twice that. Hosts end theirs after ten seconds. */
const WAIT_MS = 15_000;

/** How long one is used, in milliseconds: a name may lead elsewhere meanwhile, and a certificate ends. */
const MAX_AGE_MS = 10 * 60_000;

/** The most, where the limit of open files allows it; and of how many descriptors one may be such a connection. */
const MOST = 10_000;
const SHARE = 4;

export type Kept = ReturnType<typeof createKept>;

export function createKept(most = Math.min(MOST, Math.floor(descriptorLimit() / SHARE))) {
  const lines = new Map<string, { readonly line: Line; readonly since: number }>();
  let timer: Timer | undefined;

  const drop = (key: string) => {
    lines.get(key)?.line.close();
    lines.delete(key);
  };
  const sweep = () => {
    const before = performance.now() - WAIT_MS;
    for (const [key, { line, since }] of lines) if (since < before || !line.isFree()) drop(key);
    if (lines.size === 0) stop();
  };
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    for (const key of lines.keys()) drop(key);
  };

  return {
    /** The one of that key, if it is still good. */
    take(key: string): Line | undefined {
      const line = lines.get(key)?.line;
      lines.delete(key);
      return line?.isFree() ? line : undefined;
    },
    /** Keeps `line`, or closes it. @param key whatever it depends on. */
    give(key: string, line: Line): void {
      drop(key);
      const now = performance.now();
      if (!line.isFree() || lines.size >= most || now - line.since > MAX_AGE_MS) {
        line.close();
        return;
      }
      lines.set(key, { line, since: now });
      timer ??= setInterval(sweep, WAIT_MS).unref();
    },
    /** Closes all of them. */
    stop,
  };
}
