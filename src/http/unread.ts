/**
 * The limit of large answers that wait in memory until their clients read them.
 *
 * The promise: the answers that wait for one client have at most {@link MAX_UNREAD_BYTES}, or one alone has more. A client
 * that reads gets all its answers; one that does not is refused what it asks for next. An answer to a change always comes.
 */
import { errorResponse, jsonText } from "./responses";

/** From this size on, an answer counts: smaller ones are soon in the buffers of the connection. */
const LARGE_BYTES = 1_048_576;

/** Twice the largest answer that svc takes from another host (`client/call.ts`). */
const MAX_UNREAD_BYTES = 64 * 1_048_576;

/** How much of an answer is handed to the connection at a time. */
const PIECE_BYTES = 262_144;

/** Who waits for an answer. */
export interface Reader {
  /** What the limit counts by. */
  readonly name: string;
  /** Aborted when it has gone. */
  readonly gone: AbortSignal;
}

export type Unread = ReturnType<typeof createUnread>;

/** @param most {@link MAX_UNREAD_BYTES} by default. */
export function createUnread(most = MAX_UNREAD_BYTES) {
  const waiting = new Map<string, number>();
  const bytesOf = (name: string) => waiting.get(name) ?? 0;

  /** Counts `bytes` until the function that it returns is called for the first time. */
  const hold = (name: string, bytes: number) => {
    waiting.set(name, bytesOf(name) + bytes);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const left = bytesOf(name) - bytes;
      if (left > 0) waiting.set(name, left);
      else waiting.delete(name);
    };
  };

  return {
    /** The refusal of a request whose client does not read its answers; undefined when it may ask. */
    refusal: (name: string): Response | undefined => (bytesOf(name) < most ? undefined : tooMuch()),
    /** The response with the JSON `text`. @param isRead it answers a read, which may be refused for its size. */
    respond(text: string, { name, gone }: Reader, isRead: boolean): Response {
      if (text.length < LARGE_BYTES || gone.aborted) return jsonText(text);
      const body = new TextEncoder().encode(text);
      if (isRead && bytesOf(name) > 0 && bytesOf(name) + body.length > most) return tooMuch();
      const release = hold(name, body.length);
      gone.addEventListener("abort", release, { once: true });
      let at = 0;
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        controller.enqueue(body.subarray(at, at + PIECE_BYTES));
        at += PIECE_BYTES;
        if (at < body.length) return;
        controller.close();
        release();
      };
      return jsonText(new ReadableStream({ pull, cancel: release }, { highWaterMark: 0 }));
    },
  };
}

const tooMuch = () =>
  errorResponse(429, "this client has not read the answers that it has", { "retry-after": "1" });
