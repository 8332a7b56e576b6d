/**
 * Asking many servers the same: one operation, one answer from each.
 */
import type * as v from "valibot";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import { serverOver } from "../lib/per-server";
import { patienceFor, runPool } from "../lib/pool";
import { type LabelledServer, RemoteError } from "./carrier";
import { callRemote, type Patience } from "./remote-call";

/** How many servers are asked at once by default, over each NATS server and otherwise; answers may be large. */
const SLOTS = 16;

/** One server's answer, or why there is none. */
export type Answer<Body> =
  | { readonly label: string; readonly ok: true; readonly result: Body }
  | { readonly label: string; readonly ok: false; readonly error: string };

/** How long each server is waited for. */
interface FanOutLimits {
  /** Milliseconds for the whole call, or until the request was sent and from then on. */
  readonly timeoutMs: number | Patience;
  /** The caller's: who has not answered when it is aborted is not waited for. */
  readonly signal: AbortSignal;
  /** How many are asked at once (default: 16): more where each takes a while, and answers little. */
  readonly atOnce?: number | undefined;
  /** The largest answer, in bytes (default: 32 MiB). */
  readonly maxBytes?: number | undefined;
  /** What follows the error of a server that has been asked and not waited for until its answer. */
  readonly goesOn?: (label: string) => string;
}

/**
 * The answers of `servers`, in their order. What a server does wrong is its answer, never an exception.
 */
export function askServers<I extends InputSchema, O extends OutputSchema>(
  servers: readonly LabelledServer[],
  operation: Operation<I, O>,
  input: v.InferInput<I>,
  { timeoutMs, signal, atOnce = SLOTS, maxBytes, goesOn }: FanOutLimits,
): Promise<Array<Answer<v.InferOutput<O>>>> {
  const pool = {
    slots: atOnce,
    patienceMs: patienceFor(typeof timeoutMs === "number" ? timeoutMs : timeoutMs.sendMs),
    serverOf: ({ server }: LabelledServer) => serverOver(server.url),
  };
  return runPool(servers, pool, async ({ label, server }) => {
    try {
      const result = await callRemote(server, operation, input, timeoutMs, signal, null, maxBytes);
      return { label, ok: true as const, result };
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      const isLeft = error.sent && (error.fault === "timeout" || error.fault === "cancelled");
      const more = isLeft && goesOn ? `: ${goesOn(label)}` : "";
      return { label, ok: false as const, error: `${error.message}${more}` };
    }
  });
}
