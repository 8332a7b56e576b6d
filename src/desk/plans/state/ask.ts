/**
 * Asking hosts how they differ from a state.
 */
import type * as v from "valibot";
import { RemoteError, type RemoteServer } from "../../../client/carrier";
import { callRemote } from "../../../client/remote-call";
import type { Endpoint, InputSchema } from "../../../core/operation";
import { serverOver } from "../../../lib/per-server";
import { patienceFor, runPool } from "../../../lib/pool";
import type { STATE_COMPARISON } from "../../../wire/state/messages";
import { type HostCompared, isToApply } from "./compared";

/** How many hosts are asked at once: each may be sent a whole state. */
const SLOTS = 32;

/** A host, and what it is asked. */
export interface AskedHost<I> {
  readonly label: string;
  readonly server: RemoteServer;
  readonly input: I;
}

interface AskOptions<T> {
  /** Milliseconds for each host. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** In whose share of the connections they count; null for the owner. */
  readonly client: string | null;
  /** The largest answer of a host, in bytes. */
  readonly maxBytes: number;
  /** What is kept of each answer as it comes: the rest of it is forgotten, so that all of them need not fit into memory. */
  readonly keep: (answer: HostCompared) => T;
}

/** What is kept of the answers of hosts, in their order. Never throws: why there is none is an answer too. */
export function compareHosts<I extends InputSchema, T>(
  hosts: ReadonlyArray<AskedHost<v.InferInput<I>>>,
  endpoint: Endpoint<I, typeof STATE_COMPARISON>,
  { timeoutMs, signal, client, maxBytes, keep }: AskOptions<T>,
): Promise<T[]> {
  const pool = {
    slots: SLOTS,
    patienceMs: patienceFor(timeoutMs),
    serverOf: ({ server }: AskedHost<unknown>) => serverOver(server.url),
  };
  return runPool(hosts, pool, async ({ label, server, input }) =>
    keep(
      await answerOf(label, () => callRemote(server, endpoint, input, timeoutMs, signal, client, maxBytes)),
    ),
  );
}

async function answerOf(
  label: string,
  ask: () => Promise<v.InferOutput<typeof STATE_COMPARISON>>,
): Promise<HostCompared> {
  try {
    const { drift, differences, applied, count = 0 } = await ask();
    const left_out = Math.max(0, count - differences.length);
    const counts = { to_apply: differences.filter(isToApply).length, left_out };
    return { label, state: drift ? "drift" : "same", why: null, differences, applied, ...counts };
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const none = { label, differences: [], applied: null, to_apply: 0, left_out: 0 };
    const { refusal, fault, message } = error;
    if (!refusal && fault !== "unauthorized") return { ...none, state: "unreachable", why: message };
    const why = refusal?.status === 404 ? "its svc knows no states of files: upgrade it" : message;
    return { ...none, state: "refused", why };
  }
}
