/**
 * Asking many servers the same: one operation, one answer from each.
 */
import type * as v from "valibot";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import { patienceFor, runPool } from "../lib/pool";
import { RemoteError, type RemoteServer } from "./carrier";
import { callRemote } from "./remote-call";

/** How many servers are asked at once; answers may be large. */
const SLOTS = 16;

/** One server's answer, or why there is none. */
export type Answer<Body> =
  | { readonly label: string; readonly ok: true; readonly result: Body }
  | { readonly label: string; readonly ok: false; readonly error: string };

/**
 * The answers of `servers`, in their order. What a server does wrong is its answer, never an exception.
 *
 * @param limits.signal the caller's: who has not answered when it is aborted is not waited for.
 */
export function askServers<I extends InputSchema, O extends OutputSchema>(
  servers: ReadonlyArray<{ readonly label: string; readonly server: RemoteServer }>,
  operation: Operation<I, O>,
  input: v.InferInput<I>,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Array<Answer<v.InferOutput<O>>>> {
  const pool = { slots: SLOTS, patienceMs: patienceFor(timeoutMs) };
  return runPool(servers, pool, async ({ label, server }) => {
    try {
      const result = await callRemote(server, operation, input, timeoutMs, signal);
      return { label, ok: true as const, result };
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      return { label, ok: false as const, error: error.message };
    }
  });
}
