/**
 * Requests to hosts as a hub offers them, of the calls that a link carries: with their deadlines, their bounds and their repeats.
 */
import { type Answer, askAgain } from "../client/again";
import { deadlineIn, type Limits, MAX_REFUSAL_BYTES, RemoteError, type Request } from "../client/carrier";
import { tooLarge, within } from "../client/connection";
import type { Call } from "./call";
import { MAX_BODY_BYTES } from "./frames";
import type { Hub } from "./links";

/** What a call is besides its request. */
export interface About {
  readonly accept: string;
  /** `Idempotency-Key`. */
  readonly key?: string | undefined;
  readonly within_ms?: number;
}

/** @param begin begins a call to a host. It throws an `unreachable` {@link RemoteError} where there is no way to it now. */
export function createAsking(
  begin: (hostId: string, request: Request, about: About) => Call,
): Pick<Hub, "ask" | "open"> {
  const askOnce = async (
    hostId: string,
    request: Request,
    { deadline, answerWithinMs, maxBytes }: Limits,
    signal?: AbortSignal,
    key?: string,
  ): Promise<Answer> => {
    if (signal?.aborted) throw new RemoteError("cancelled", "cancelled", false);
    const within_ms = Math.max(1, Math.ceil(deadline.at - performance.now() + (answerWithinMs ?? 0)));
    using call = begin(hostId, request, { accept: "application/json", key, within_ms });
    if (answerWithinMs !== undefined) await within(deadline, signal, () => true, call.written);
    const until = answerWithinMs === undefined ? deadline : deadlineIn(answerWithinMs);
    // Awaited here: the call ends with this function.
    return await within(until, signal, () => true, wholeOf(call, Math.min(maxBytes, MAX_BODY_BYTES)));
  };

  return {
    async ask(hostId, request, limits, signal) {
      const key = request.method === "POST" && !request.once ? crypto.randomUUID() : undefined;
      const send = () => askOnce(hostId, request, limits, signal, key);
      try {
        return await send();
      } catch (error) {
        const isLost = error instanceof RemoteError && error.fault === "unreachable" && error.sent;
        if (key === undefined || !isLost) throw error;
        return askAgain(send, error, limits, signal);
      }
    },
    async open(hostId, path, deadline, silentMs, signal) {
      if (signal?.aborted) throw new RemoteError("cancelled", "cancelled", false);
      const accept = "text/event-stream, application/json";
      const call = begin(hostId, { method: "GET", path }, { accept });
      // Here too: whoever has given up may never have begun to read.
      const end = () => {
        signal?.removeEventListener("abort", end);
        call[Symbol.dispose]();
      };
      signal?.addEventListener("abort", end);
      try {
        const { status, type } = await within(deadline, signal, () => true, call.head);
        const opened = { status, type, pieces: piecesOf(call, silentMs, signal, end) };
        if (status === 200) return { ...opened, body: new Uint8Array() };
        const whole = await within(deadline, signal, () => true, wholeOf(call, MAX_REFUSAL_BYTES));
        end();
        return { ...opened, body: whole.body };
      } catch (error) {
        end();
        throw error;
      }
    },
  };
}

async function wholeOf(call: Call, maxBytes: number): Promise<Answer> {
  const { status, retry_after_s } = await call.head;
  // Most bodies are one piece.
  let first: Uint8Array = new Uint8Array();
  let all: Bun.ArrayBufferSink | undefined;
  let bytes = 0;
  for (let piece = await call.next(); piece; piece = await call.next()) {
    bytes += piece.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    if (bytes === piece.length) {
      first = piece;
      continue;
    }
    if (!all) {
      all = new Bun.ArrayBufferSink();
      all.write(first);
    }
    all.write(piece);
  }
  const body = all ? new Uint8Array(all.end()) : first;
  const isEarly = status === 409 && retry_after_s !== undefined;
  return {
    ...{ status, body, knowsRepeats: true, isEarly },
    ...(retry_after_s !== undefined && retry_after_s > 0 && { retryAfterS: retry_after_s }),
  };
}

async function* piecesOf(call: Call, silentMs: number, signal: AbortSignal | undefined, end: () => void) {
  try {
    for (;;) {
      const piece = await within(deadlineIn(silentMs), signal, () => true, call.next());
      if (!piece) return;
      yield piece;
    }
  } finally {
    end();
  }
}
