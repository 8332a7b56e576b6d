/**
 * Sending a change again whose answer was lost: only to a server that knows repeats by their `Idempotency-Key`
 * (draft-ietf-httpapi-idempotency-key-header-07), as it says with each answer. It then has done it, does it, or begins it now.
 */
import { sleep } from "../lib/deadline";
import { type Limits, RemoteError, type Response } from "./carrier";

/** A response, and what its head says. */
export interface Answer extends Response {
  readonly knowsRepeats: boolean;
  /** Whether the first request with this key has no answer yet. */
  readonly isEarly: boolean;
}

/** What the head of a response says of repeats. */
export const repeatsIn = (status: number, headers: Readonly<Record<string, unknown>>) => ({
  knowsRepeats: headers["svc-repeats"] === "idempotency-key",
  isEarly: status === 409 && headers["retry-after"] !== undefined,
});

/** How long to wait before it is sent again, in milliseconds, and how often in a row without a connection. */
const PAUSE_MS = 1_000;
const MAX_LOST = 5;

/**
 * @param send sends the same with the same key.
 * @throws `lost`, why there was no answer, when the server cannot be reached any more, or has none in time.
 */
export async function askAgain(
  send: () => Promise<Answer>,
  lost: RemoteError,
  { deadline: { at }, answerWithinMs }: Limits,
  signal = new AbortController().signal,
): Promise<Response> {
  const until = answerWithinMs === undefined ? at : performance.now() + answerWithinMs;
  for (let times = 0; times < MAX_LOST && performance.now() + PAUSE_MS < until; ) {
    await sleep(PAUSE_MS, signal, () => new RemoteError("cancelled", "cancelled", true));
    try {
      const answer = await send();
      if (!answer.isEarly) return answer;
      times = 0;
    } catch (error) {
      if (!(error instanceof RemoteError) || error.fault !== "unreachable") throw lost;
      times++;
    }
  }
  throw lost;
}
