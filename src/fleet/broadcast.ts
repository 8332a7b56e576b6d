/**
 * A broadcast: one action list to many hosts.
 *
 * Promises. Each host has exactly one result, whatever becomes of it, and results are in the order of the hosts. No more
 * than `maxParallel` hosts are at work at once; the canaries come first, and unless all of them are ok, nobody else does.
 * Once more than `maxFailures` have failed, or the broadcast is cancelled, no further host is begun.
 */

import { inLanes } from "../lib/pool";
import { printable } from "../lib/sanitize";
import type { Delivered } from "./delivered";
import type { Host } from "./host";

export interface BroadcastOptions {
  readonly maxParallel: number;
  readonly maxFailures: number;
  /** How many of the first hosts are canaries. */
  readonly canary: number;
  readonly signal?: AbortSignal | undefined;
  /** Told of each host as it is done. */
  readonly done?: ((result: Delivered) => void) | undefined;
}

/** @param deliver brings the list to one host; what it throws is a bug, and that host's result. */
export async function broadcast(
  hosts: readonly Host[],
  { maxParallel, maxFailures, canary, signal, done }: BroadcastOptions,
  deliver: (host: Host) => Promise<Delivered>,
): Promise<Delivered[]> {
  let failures = 0;
  let stopped: string | undefined;

  const visit = async (host: Host) => {
    const reason = signal?.aborted ? "cancelled" : stopped;
    const result = reason === undefined ? await orFailed(host, deliver) : notBegun(host, reason);
    if (!result.ok && result.status !== "cancelled") failures++;
    if (failures > maxFailures) stopped ??= `not begun: ${failures} failed`;
    done?.(result);
    return result;
  };

  const lanes = { lanes: maxParallel, patienceMs: Number.POSITIVE_INFINITY };
  const first = await inLanes(hosts.slice(0, canary), lanes, visit);
  const dead = first.find(({ ok }) => !ok);
  if (dead) stopped ??= `not begun: the canary ${printable(dead.label, 130)} is not ok`;
  return [...first, ...(await inLanes(hosts.slice(canary), lanes, visit))];
}

async function orFailed(host: Host, deliver: (host: Host) => Promise<Delivered>): Promise<Delivered> {
  const started = performance.now();
  try {
    return await deliver(host);
  } catch {
    const duration_ms = Math.round(performance.now() - started);
    return {
      label: host.label,
      ok: false,
      status: "failed",
      delivered: true,
      duration_ms,
      error: "internal error",
    };
  }
}

const notBegun = ({ label }: Host, error: string): Delivered => ({
  label,
  ok: false,
  status: "cancelled",
  delivered: false,
  duration_ms: 0,
  error,
});
