/**
 * Connections that wait for the next request to the same servers: who polls them again and again need not dial again and again.
 *
 * Promises. Each is to a server that was trusted in the same way. There are never more than `most`, and none waits for long.
 */
import { descriptorLimit, keptOf } from "../lib/descriptors";
import type { Line } from "./line";

/** How long one waits at least, in milliseconds; at most twice that. Hosts end theirs after ten seconds. */
const WAIT_MS = 15_000;

/** How long one is used, in milliseconds: a name may lead elsewhere meanwhile, and a certificate ends. */
const MAX_AGE_MS = 10 * 60_000;

/** Connections that wait for the next request to the same server. */
export interface ConnectionPool {
  /** The one of that key, if it is still good. */
  take(key: string): Line | undefined;
  /** Keeps `line`, or closes it. @param key whatever it depends on. */
  give(key: string, line: Line): void;
  /** Closes all of them, and from here on each that is given: that of a poll which is under way, too. */
  stop(): void;
}

/** @param most how many there may be now. */
export function createConnectionPool(most = withinLimit()): ConnectionPool {
  const lines = new Map<string, { readonly line: Line; readonly since: number }>();
  let timer: Timer | undefined;
  let isStopped = false;

  const drop = (key: string) => {
    lines.get(key)?.line.close();
    lines.delete(key);
  };
  const sweep = () => {
    const before = performance.now() - WAIT_MS;
    for (const [key, { line, since }] of lines) if (since < before || !line.isFree()) drop(key);
    if (lines.size === 0) rest();
  };
  const rest = () => {
    clearInterval(timer);
    timer = undefined;
  };

  return {
    take(key) {
      const line = lines.get(key)?.line;
      lines.delete(key);
      return line?.isFree() ? line : undefined;
    },
    give(key, line) {
      drop(key);
      const now = performance.now();
      if (isStopped || !line.isFree() || lines.size >= most() || now - line.since > MAX_AGE_MS) {
        line.close();
        return;
      }
      lines.set(key, { line, since: now });
      timer ??= setInterval(sweep, WAIT_MS).unref();
    },
    stop() {
      isStopped = true;
      rest();
      for (const key of lines.keys()) drop(key);
    },
  };
}

function withinLimit(): () => number {
  const limit = descriptorLimit();
  return () => keptOf(limit);
}
