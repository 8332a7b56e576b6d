/**
 * Asking hosts how they differ from a state.
 */
import type * as v from "valibot";
import { RemoteError, type RemoteServer } from "../../../client/carrier";
import { callRemote } from "../../../client/remote-call";
import type { Endpoint, InputSchema } from "../../../core/operation";
import { patienceFor, runPool } from "../../../lib/pool";
import type { COMPARED } from "../../../wire/state/messages";
import type { HostCompared } from "./compared";

/** How many hosts are asked at once: each may be sent a whole state. */
const SLOTS = 32;

/** The largest answer of a host. */
const MAX_BYTES = 2 * 1_048_576;

/** How hosts are asked. */
interface Asking {
  /** Milliseconds for each host. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** In whose share of the connections they count; null for the owner. */
  readonly client: string | null;
  /** Takes each answer as it comes. */
  readonly asked?: (answer: HostCompared) => void;
}

/** The answers of hosts, in their order. Never throws: why there is none is an answer too. */
export function compareHosts<I extends InputSchema>(
  servers: ReadonlyArray<{ readonly label: string; readonly server: RemoteServer }>,
  endpoint: Endpoint<I, typeof COMPARED>,
  input: v.InferInput<I>,
  { timeoutMs, signal, client, asked }: Asking,
): Promise<HostCompared[]> {
  const pool = { slots: SLOTS, patienceMs: patienceFor(timeoutMs) };
  return runPool(servers, pool, async ({ label, server }) => {
    const answer = await answerOf(label, () =>
      callRemote(server, endpoint, input, timeoutMs, signal, client, MAX_BYTES),
    );
    asked?.(answer);
    return answer;
  });
}

async function answerOf(
  label: string,
  ask: () => Promise<v.InferOutput<typeof COMPARED>>,
): Promise<HostCompared> {
  try {
    const { drift, differences, applied } = await ask();
    return { label, state: drift ? "drift" : "same", why: null, differences, applied };
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const none = { label, differences: [], applied: null };
    const { refusal, fault, message } = error;
    if (!refusal && fault !== "unauthorized") return { ...none, state: "unreachable", why: message };
    const why = refusal?.status === 404 ? "its svc knows no states of files: upgrade it" : message;
    return { ...none, state: "refused", why };
  }
}
