/**
 * One request on a connection, and its response: whole, or as it comes. Deadlines and the caller's signal end the wait.
 */
import { deadline } from "../lib/deadline";
import { type Answer, repeatsIn } from "./again";
import { type Deadline, deadlineIn, type Limits, RemoteError } from "./carrier";
import { dialError } from "./dial";
import { createGrowingBuffer } from "./growing-buffer";
import type { AnswerIntake } from "./intake";
import type { Line } from "./line";
import type { Head } from "./response";

/** What a whole answer may take beside the most that it may have, in bytes, and for each of those: heads, and what chunks need. */
const BESIDE = 65_536;
const BESIDE_BYTE = 2;

/** What came and was not taken yet, from which on the rest waits, in bytes. */
const MAX_WAITING_BYTES = 1_048_576;

/** How soon it is looked again whether a deadline has passed that waits, at the earliest, in milliseconds. */
const LOOK_MS = 20;

/**
 * What `work` resolves to.
 *
 * @param waitedMs how long the deadline has waited, in milliseconds.
 * @throws a {@link RemoteError}, also when it is late or `signal` is aborted first.
 */
export const within = <T>(
  { at, ms }: Deadline,
  signal: AbortSignal | undefined,
  sent: () => boolean,
  work: Promise<T>,
  waitedMs = () => 0,
): Promise<T> => {
  const late = () => new RemoteError("timeout", `timeout after ${ms / 1_000} s`, sent());
  const until = async (leftMs: number, counted: number): Promise<T> => {
    const ended = await deadline(
      work.then((value) => ({ value })),
      {
        ms: Math.max(0, leftMs),
        late: () => undefined,
        signal,
        aborted: () => new RemoteError("cancelled", "cancelled", sent()),
      },
    );
    if (ended) return ended.value;
    const waited = waitedMs();
    if (waited === counted) throw late();
    return until(Math.max(LOOK_MS, at + waited - performance.now()), waited);
  };
  return until(at - performance.now(), 0);
};

/** The answer is larger than it may be. */
export const tooLarge = (maxBytes: number) =>
  new RemoteError("answer", `answer larger than ${maxBytes / 1_048_576} MiB`, true);

/** What went wrong with a connection, as a {@link RemoteError}. */
const faultOf = (error: unknown, sent: boolean): RemoteError =>
  error instanceof RemoteError ? error : new RemoteError("unreachable", dialError(error), sent);

/**
 * The response to `request`. `wasStale`: a connection that had been used before brought none; within `headWithinMs`, no head.
 *
 * @param request as it goes out.
 */
export function sendRequest(
  line: Line,
  request: string,
  {
    deadline: until,
    answerWithinMs,
    headWithinMs,
    maxBytes,
    taking,
  }: Limits & { readonly headWithinMs?: number },
  signal: AbortSignal | undefined,
) {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const written = answerWithinMs === undefined ? undefined : Promise.withResolvers<void>();
  const begun = headWithinMs === undefined ? undefined : Promise.withResolvers<void>();
  const wasUsed = line.wasUsed();
  let sent = false;
  let head: Head | undefined;
  const flow = { pause: () => line.pause(), resume: () => line.resume(), giveUp: reject };
  const body = createBody(maxBytes, reject, taking);
  taking?.begin(flow);
  line.send(request, {
    sent() {
      sent = true;
    },
    ...(written && { written: written.resolve }),
    head(found) {
      head = found;
      begun?.resolve();
      body.expect(found);
    },
    maxBytes: BESIDE + (1 + BESIDE_BYTE) * maxBytes,
    data: body.add,
    end() {
      if (head) resolve(answerOf(head, body.whole()));
    },
    failed: (error) => reject(faultOf(error, sent)),
  });
  const inTime = <T>(by: Deadline, work: Promise<T>) =>
    within(by, signal, () => sent, work, taking?.waitedMs);
  const response = async () => {
    if (begun && headWithinMs !== undefined)
      await inTime(deadlineIn(headWithinMs), Promise.race([begun.promise, promise]));
    if (answerWithinMs === undefined) return inTime(until, promise);
    await inTime(until, Promise.race([written?.promise, promise]));
    return inTime(deadlineIn(answerWithinMs), promise);
  };
  return { response: response(), wasStale: () => wasUsed && head === undefined };
}

function answerOf(head: Head, body: Uint8Array<ArrayBuffer>): Answer {
  const { status, headers } = head;
  // Whole seconds (RFC 9110 section 10.2.3): a host that says less would be asked again at once, as often as it says so.
  const retryAfterS = Math.ceil(Number(headers["retry-after"]));
  return { status, body, ...repeatsIn(status, headers), ...(retryAfterS > 0 && { retryAfterS }) };
}

/** A body of up to `maxBytes`; of more, `refuse` hears. */
function createBody(maxBytes: number, refuse: (error: RemoteError) => void, taking?: AnswerIntake) {
  const body = createGrowingBuffer();
  return {
    expect({ headers }: Head): void {
      const bytes = Number(headers["content-length"] ?? 0);
      if (bytes > maxBytes) refuse(tooLarge(maxBytes));
      else body.expect(bytes);
    },
    add(piece: Uint8Array): void {
      if (body.length() + piece.length > maxBytes) refuse(tooLarge(maxBytes));
      else {
        body.add(piece);
        taking?.add(piece.length);
      }
    },
    whole: body.take,
  };
}

/** A response as soon as its head is here; the rest as it comes. */
export async function openRequest(
  line: Line,
  request: string,
  until: Deadline,
  signal: AbortSignal | undefined,
) {
  const { promise, resolve, reject } = Promise.withResolvers<Head>();
  const coming = createPieces(line);
  line.send(request, {
    head: resolve,
    data: coming.add,
    end: () => coming.end(),
    failed(error) {
      reject(faultOf(error, true));
      coming.end(faultOf(error, true));
    },
  });
  const head = await within(until, signal, () => true, promise);
  const { status, headers } = head;
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  return {
    status,
    type: type.trim().toLowerCase(),
    pieces: (silentMs: number) => piecesOf(coming.next, silentMs, signal, () => line.close()),
    /** @throws a {@link RemoteError} where it is larger than `maxBytes`. */
    async whole(maxBytes: number): Promise<Answer> {
      const refused = Promise.withResolvers<never>();
      const body = createBody(maxBytes, refused.reject);
      const read = async () => {
        for (let piece = await coming.next(); piece; piece = await coming.next()) body.add(piece);
        return answerOf(head, body.whole());
      };
      return within(until, signal, () => true, Promise.race([read(), refused.promise]));
    },
  };
}

/**
 * The pieces of an answer, as they come.
 *
 * @param next gives one; undefined after the last. @param silentMs how long none may come, in milliseconds. @param end is called when nobody
 *   reads on.
 * @throws a {@link RemoteError}.
 */
export async function* piecesOf(
  next: () => Promise<Uint8Array | undefined>,
  silentMs: number,
  signal: AbortSignal | undefined,
  end: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const piece = await within(deadlineIn(silentMs), signal, () => true, next());
      if (!piece) return;
      yield piece;
    }
  } finally {
    end();
  }
}

/** Pieces that come faster than they are taken: the line waits while they are many. */
function createPieces(line: Line) {
  const waiting = createGrowingBuffer();
  let ending: { readonly error?: RemoteError | undefined } | undefined;
  let wake = () => {};
  return {
    add(piece: Uint8Array): void {
      waiting.add(piece);
      if (waiting.length() > MAX_WAITING_BYTES) line.pause();
      wake();
    },
    end(error?: RemoteError): void {
      ending ??= { error };
      wake();
    },
    /** All that is here, once there is something; undefined at the end. @throws a {@link RemoteError}. */
    async next(): Promise<Uint8Array | undefined> {
      if (waiting.length() === 0 && !ending) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const all = waiting.take();
      line.resume();
      if (all.length > 0) return all;
      if (ending?.error) throw ending.error;
      return undefined;
    },
  };
}
