/**
 * A broadcast: one action list for many hosts.
 *
 * Promises. Each host has exactly one result, and the results are in the order of the hosts. At most `maxParallel` hosts
 * run at once. The canaries go first; unless all of them are ok, no other host starts. Once more than `maxFailures` hosts
 * have failed, or the broadcast is cancelled, no further host starts.
 */
import { runPool } from "../lib/pool";
import { printable } from "../lib/sanitize";
import type { Host } from "./host";
import type { Delivered } from "./results";

export interface BroadcastOptions {
  readonly maxParallel: number;
  readonly maxFailures: number;
  /** How many of the first hosts are canaries. */
  readonly canary: number;
  readonly signal?: AbortSignal | undefined;
  /** Receives each result when it is complete. */
  readonly done?: ((result: Delivered) => void) | undefined;
  /** What is kept of a result until the end (default: all of it). */
  readonly keep?: ((result: Delivered) => Delivered) | undefined;
}

/** @param deliver sends the list to one host; when it throws, that is a bug, and the host's result. */
export async function broadcast(
  hosts: readonly Host[],
  { maxParallel, maxFailures, canary, signal, done, keep = (result) => result }: BroadcastOptions,
  deliver: (host: Host) => Promise<Delivered>,
): Promise<Delivered[]> {
  let failures = 0;
  let stopped: string | undefined;

  const visit = async (host: Host): Promise<Delivered> => {
    const started = performance.now();
    const notOk = (status: "cancelled" | "failed", error: string): Delivered => {
      const duration_ms = Math.round(performance.now() - started);
      return { label: host.label, ok: false, status, delivered: status === "failed", duration_ms, error };
    };
    const reason = signal?.aborted ? "cancelled" : stopped;
    const result =
      reason === undefined
        ? await deliver(host).catch(() => notOk("failed", "internal error"))
        : notOk("cancelled", reason);
    if (!result.ok && result.status !== "cancelled") failures++;
    if (failures > maxFailures) stopped ??= `not begun: ${failures} failed`;
    done?.(result);
    return keep(result);
  };

  const pool = { slots: maxParallel, patienceMs: Number.POSITIVE_INFINITY };
  const canaries = await runPool(hosts.slice(0, canary), pool, visit);
  const bad = canaries.find(({ ok }) => !ok);
  if (bad) stopped ??= `not begun: the canary ${printable(bad.label, 130)} is not ok`;
  return [...canaries, ...(await runPool(hosts.slice(canary), pool, visit))];
}
