/**
 * Requests to hosts as a hub offers them, of the calls that a link carries: with their deadlines, their bounds and their repeats.
 */
import { type Answer, askAgain } from "../client/again";
import {
  type Deadline,
  deadlineIn,
  type Limits,
  MAX_REFUSAL_BYTES,
  RemoteError,
  type Request,
} from "../client/carrier";
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

/**
 * @param begin begins a call to a host. It throws an `unreachable` {@link RemoteError} where there is no way to it now.
 * @param anew sends a request again that its host has refused for now; it is the same request, with the same key.
 */
export function createAsking(
  begin: (hostId: string, request: Request, about: About) => Call,
  anew = <T>(send: () => Promise<T>): Promise<T> => send(),
): Pick<Hub, "ask" | "open"> {
  // Without an async function, a race or an abort controller: a desk asks tens of thousands of hosts.
  const askOnce = (
    hostId: string,
    request: Request,
    { deadline, answerWithinMs, maxBytes }: Limits,
    signal?: AbortSignal,
    key?: string,
  ) =>
    new Promise<Answer>((resolve, reject) => {
      if (signal?.aborted) throw new RemoteError("cancelled", "cancelled", false);
      const within_ms = Math.max(1, Math.ceil(deadline.at - performance.now() + (answerWithinMs ?? 0)));
      const call = begin(hostId, request, { accept: "application/json", key, within_ms });
      let isOver = false;
      let timer: Timer | undefined;
      const end = () => {
        isOver = true;
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
        call[Symbol.dispose]();
      };
      const fail = (error: unknown) => {
        // First: a call that is ended fails.
        reject(error);
        end();
      };
      const aborted = () => fail(new RemoteError("cancelled", "cancelled", true));
      const answerBy = ({ at, ms }: Deadline) => {
        if (isOver) return;
        clearTimeout(timer);
        const late = () => fail(new RemoteError("timeout", `timeout after ${ms / 1_000} s`, true));
        timer = setTimeout(late, Math.max(0, at - performance.now()));
      };
      const answered = (answer: Answer) => {
        resolve(answer);
        end();
      };
      signal?.addEventListener("abort", aborted);
      if (answerWithinMs === undefined) answerBy(deadline);
      else if (!call.written) answerBy(deadlineIn(answerWithinMs));
      else {
        answerBy(deadline);
        call.written.then(() => answerBy(deadlineIn(answerWithinMs)), fail);
      }
      gather(call, Math.min(maxBytes, MAX_BODY_BYTES), answered, fail);
    });
  const askWithKey = async (hostId: string, request: Request, limits: Limits, signal?: AbortSignal) => {
    const key = crypto.randomUUID();
    const send = () => anew(() => askOnce(hostId, request, limits, signal, key));
    try {
      return await send();
    } catch (error) {
      const isLost = error instanceof RemoteError && error.fault === "unreachable" && error.sent;
      if (!isLost) throw error;
      return askAgain(send, error, limits, signal);
    }
  };

  return {
    ask(hostId, request, limits, signal) {
      if (request.method === "POST" && !request.once) return askWithKey(hostId, request, limits, signal);
      return anew(() => askOnce(hostId, request, limits, signal));
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
        const { promise, resolve, reject } = Promise.withResolvers<Answer>();
        gather(call, MAX_REFUSAL_BYTES, resolve, reject);
        const whole = await within(deadline, signal, () => true, promise);
        end();
        return { ...opened, body: whole.body };
      } catch (error) {
        end();
        throw error;
      }
    },
  };
}

/** Takes the answer as it comes. Calls `done` at its end; `failed` where it breaks off, or is too large. */
function gather(
  call: Call,
  maxBytes: number,
  done: (answer: Answer) => void,
  failed: (error: unknown) => void,
): void {
  // Most bodies are one piece.
  let first: Uint8Array = new Uint8Array();
  let all: Bun.ArrayBufferSink | undefined;
  let bytes = 0;
  const look = () => {
    // What comes before its head is not read: it fills the window.
    if (!call.answered && !call.ended) return;
    for (let piece = call.take(); piece; piece = call.take()) {
      bytes += piece.length;
      if (bytes > maxBytes) return failed(tooLarge(maxBytes));
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
    const { ended } = call;
    if (!ended) return;
    if ("error" in ended) return failed(ended.error);
    const { status = 0, retry_after_s } = call.answered ?? {};
    const body = all ? new Uint8Array(all.end()) : first;
    const isEarly = status === 409 && retry_after_s !== undefined;
    done({
      ...{ status, body, knowsRepeats: true, isEarly },
      ...(retry_after_s !== undefined && retry_after_s > 0 && { retryAfterS: retry_after_s }),
    });
  };
  call.listen(look);
  look();
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
