/**
 * The limit of large answers that wait in memory until their clients read them.
 *
 * The promise: the answers that wait for one client have at most {@link MAX_UNREAD_BYTES}, or one alone has more. A client
 * that reads gets all its answers; one that does not is refused what it asks for next. An answer to a change always comes, that to
 * a run without its results.
 * An answer that grows while its work goes on breaks off when too much of it waits, and its work learns of that.
 * What was too large once is not made again, only to be refused, before the client has read something.
 */
import { unavailable } from "../lib/errors";
import { errorResponse, jsonText } from "./responses";

/** From this size on, an answer counts: smaller ones are soon in the buffers of the connection. */
const LARGE_BYTES = 65_536;

/** Twice the largest answer that svc takes from another host (`client/remote-call.ts`). */
const MAX_UNREAD_BYTES = 64 * 1_048_576;

/** How much of an answer that waits for its reader is read ahead of it. */
const AHEAD_BYTES = 1_048_576;

/** How much of an answer is handed to the connection at a time. */
const PIECE_BYTES = 262_144;

/** Who waits for an answer. */
export interface Reader {
  /** What the limit counts by. */
  readonly name: string;
  /** What it asked for: the name of the operation. */
  readonly asked: string;
  /** Its signal is aborted when it has gone. Most requests are answered without ever making one. */
  readonly request: Pick<Request, "signal">;
}

/** What clients have not read yet. */
export interface UnreadAnswers {
  /** The refusal of a request whose client does not read its answers; undefined when it may ask. */
  refusal(reader: Reader): Response | undefined;
  /**
   * The response with the JSON `text`.
   *
   * @param size.isRead it answers a read, which may be refused for its size.
   * @param size.brief makes a short text for a change that has too large a one.
   */
  respond(
    text: string,
    reader: Reader,
    options: { readonly isRead: boolean; readonly brief?: (() => string) | undefined },
  ): Response;
  /** `response`, whose body is in memory already. @param isRead as of {@link respond}. */
  whole(response: Response, reader: Reader, isRead: boolean): Promise<Response>;
  /**
   * `response`, whose body grows; what waits is counted.
   *
   * @param waits whether the body waits for its reader: then it is read no further ahead than {@link AHEAD_BYTES}.
   */
  follow(response: Response, reader: Reader, waits: boolean): Response;
}

/** @param most {@link MAX_UNREAD_BYTES} by default. */
export function createUnreadAnswers(most = MAX_UNREAD_BYTES): UnreadAnswers {
  /** Of each client that has not read all: the bytes that wait, and what was refused since it last read some. */
  const waiting = new Map<string, { bytes: number; readonly refused: Set<string> }>();
  const bytesOf = (name: string) => waiting.get(name)?.bytes ?? 0;

  /** Counts `bytes` until the function that it returns is called for the first time. */
  const hold = (name: string, bytes: number) => {
    const client = waiting.get(name) ?? { bytes: 0, refused: new Set() };
    client.bytes += bytes;
    waiting.set(name, client);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      client.bytes -= bytes;
      client.refused.clear();
      if (client.bytes === 0) waiting.delete(name);
    };
  };

  const isTooMuch = ({ name }: Reader, bytes: number) => bytesOf(name) > 0 && bytesOf(name) + bytes > most;
  const refused = ({ name, asked }: Reader) => {
    waiting.get(name)?.refused.add(asked);
    return tooMuch();
  };

  /** Hands out a body of so many bytes as it is read; from now until then, it counts. */
  const inPieces = (
    size: number,
    pieceAt: (at: number) => Uint8Array | Promise<Uint8Array>,
    { name, request }: Reader,
  ) => {
    const release = hold(name, size);
    request.signal.addEventListener("abort", release, { once: true });
    let at = 0;
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      // The connection asks for more once it has taken the last piece too.
      if (at >= size) {
        controller.close();
        return release();
      }
      controller.enqueue(await pieceAt(at));
      at += PIECE_BYTES;
    };
    return new ReadableStream({ pull, cancel: release }, { highWaterMark: 0 });
  };

  return {
    refusal({ name, asked }) {
      const isRefused = waiting.get(name)?.refused.has(asked);
      return bytesOf(name) < most && !isRefused ? undefined : tooMuch();
    },
    respond(text, reader, { isRead, brief }) {
      if (text.length < LARGE_BYTES || reader.request.signal.aborted) return jsonText(text);
      // No character has fewer bytes: a text that is too long is not encoded first.
      const hasLimit = isRead || brief !== undefined;
      const body = hasLimit && isTooMuch(reader, text.length) ? undefined : new TextEncoder().encode(text);
      if (body === undefined || (hasLimit && isTooMuch(reader, body.length)))
        return !isRead && brief ? jsonText(brief()) : refused(reader);
      return jsonText(inPieces(body.length, (at) => body.subarray(at, at + PIECE_BYTES), reader));
    },
    async whole(response, reader, isRead) {
      if (response.body === null) return response;
      const body = await response.blob();
      const { status, headers } = response;
      if (body.size < LARGE_BYTES || reader.request.signal.aborted)
        return new Response(body, { status, headers });
      if (isRead && isTooMuch(reader, body.size)) return refused(reader);
      return new Response(
        inPieces(body.size, (at) => body.slice(at, at + PIECE_BYTES).bytes(), reader),
        { status, headers },
      );
    },
    follow({ body, status, headers }, { name, request }, waits) {
      const stream = countedStream(
        body,
        request.signal,
        (bytes) => hold(name, bytes),
        () => bytesOf(name) > most,
        waits ? AHEAD_BYTES : Number.POSITIVE_INFINITY,
      );
      return new Response(stream, { status, headers });
    },
  };
}

/**
 * `body` for a client that may be slow: it is read as it grows, and what waits is counted.
 *
 * @param signal is aborted when the client has gone.
 * @param hold counts bytes until the function that it returns is called.
 * @param isTooMuch whether too many bytes wait: then it breaks off.
 * @param ahead with so many bytes that wait, `body` is read no further for now.
 */
function countedStream(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal,
  hold: (bytes: number) => () => void,
  isTooMuch: () => boolean,
  ahead: number,
): ReadableStream<Uint8Array> {
  const source = body?.getReader();
  let waiting = 0;
  let taken = () => {};
  const pieces: Array<{ readonly bytes: Uint8Array; release(): void }> = [];
  let end: ((controller: ReadableStreamDefaultController<Uint8Array>) => void) | undefined;
  let wake = () => {};
  const leave = (reason: unknown) => {
    for (const { release } of pieces.splice(0)) release();
    end ??= (controller) => controller.error(reason);
    wake();
    taken();
    source?.cancel(reason).catch(() => {});
  };
  signal.addEventListener("abort", () => leave(signal.reason), { once: true });
  const take = async () => {
    for (let next = await source?.read(); next && !next.done; next = await source?.read()) {
      // Whoever has left gets no further piece, which nobody would release.
      if (end) return;
      const { value } = next;
      pieces.push({ bytes: value, release: hold(value.length) });
      waiting += value.length;
      wake();
      if (pieces.length > 1 && isTooMuch()) return leave(unavailable(UNREAD));
      while (waiting > ahead && !end) {
        const { promise, resolve } = Promise.withResolvers<void>();
        taken = resolve;
        await promise;
      }
    }
    end ??= (controller) => controller.close();
    wake();
  };
  take().catch(leave);
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (pieces.length === 0 && !end) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    }
    const piece = pieces.shift();
    if (!piece) return end?.(controller);
    piece.release();
    waiting -= piece.bytes.length;
    taken();
    controller.enqueue(piece.bytes);
  };
  return new ReadableStream({ pull, cancel: leave }, { highWaterMark: 0 });
}

const UNREAD = "this client has not read the answers that it has";

const tooMuch = () => errorResponse(429, UNREAD, { "retry-after": "1" });
