/**
 * Asking hosts of the address book for the same thing: one operation, one result a host.
 */
import type * as v from "valibot";
import { callRemote, MAX_ANSWER_BYTES } from "../client/call";
import { deadlineIn } from "../client/connection";
import { RemoteError } from "../client/error";
import type { InputSchema, Operation, OutputSchema } from "../core/operation";
import { inLanes, patienceFor } from "../lib/pool";
import { type Host, serverOf } from "./host";

/** How many hosts are asked at once; answers may be large. */
const LANES = 16;

/** One host's answer, or why there is none. */
export type Answer<Body> =
  | { readonly label: string; readonly ok: true; readonly result: Body }
  | { readonly label: string; readonly ok: false; readonly error: string };

/** The answers of `hosts`, in their order. Never throws for what a host does: that is its answer. */
export function askHosts<I extends InputSchema, O extends OutputSchema>(
  hosts: readonly Host[],
  operation: Operation<I, O>,
  input: v.InferInput<I>,
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<Array<Answer<v.InferOutput<O>>>> {
  const { timeoutMs, signal } = options;
  return inLanes(hosts, { lanes: LANES, patienceMs: patienceFor(timeoutMs) }, async (host) => {
    const { label } = host;
    const limits = { deadline: deadlineIn(timeoutMs), maxBytes: MAX_ANSWER_BYTES };
    try {
      const result = await callRemote(serverOf(host), operation, input, limits, signal);
      return { label, ok: true as const, result };
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error;
      return { label, ok: false as const, error: error.message };
    }
  });
}
