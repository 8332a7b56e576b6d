/**
 * Streams of events: server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) and long polls.
 *
 * The promise: a stream has every event of its filter once and in order, or a `reset`. It holds a place in the ring and no
 * queue: a reader that does not read costs the buffer of its connection, and is ended when it lags too far.
 * Streams that stand at the same place share what is written.
 */
import { ANY_PART, jitter } from "../lib/backoff";
import { tooMany } from "../lib/errors";
import type { Bus } from "./bus";
import type { Filter } from "./filter";
import type { PollAnswer } from "./operations";
import { idOf, placeOf } from "./place";
import {
  type Batch,
  batchOf,
  createReaders,
  createTexts,
  type Reader,
  type Readers,
  SLOTS,
  type Texts,
} from "./readers";

/** How many streams and waiting polls there are at once: of one token, and of all; the owner of the host has the last of them. */
const MAX_STREAMS = { token: 64, all: 1_000 };

const POLL_BYTES = 1_048_576;

/** Who has a stream: the name of a token; null for the owner of the host. */
type Owner = string | null;

interface StreamRequest {
  readonly filter: Filter;
  readonly owner: Owner;
  /** As of `placeOf`. */
  readonly after: string | undefined;
  readonly signal: AbortSignal;
}

/** The streams and polls of a server. */
export interface Streams {
  /** How many streams and waiting polls there are. */
  count(): number;
  /**
   * A stream from a place on.
   *
   * @param ended is called when the stream has ended, whoever ended it.
   * @throws `too_many` beyond {@link MAX_STREAMS}.
   */
  open(request: StreamRequest, ended: () => void): ReadableStream<Uint8Array>;
  /**
   * The events after a place, as soon as there are any, or none after `waitMs`.
   *
   * @throws `too_many` beyond {@link MAX_STREAMS}.
   */
  poll(request: StreamRequest, waitMs: number): Promise<PollAnswer>;
}

export function createStreams(bus: Bus): Streams {
  const places = createPlaces();
  const texts = createTexts(bus);
  const readers = createReaders(bus, texts);
  return {
    count: places.count,
    open: (request, ended) => openStream(request, { bus, places, texts, readers }, ended),
    poll: (request, waitMs) => poll(request, { bus, places }, waitMs),
  };
}

/** Counts the streams of each owner. */
interface Places {
  count(): number;
  /** Counts a stream of `owner`. @returns a function that ends that. @throws `too_many`. */
  enter(owner: Owner): () => void;
}

function createPlaces(): Places {
  const owners: Owner[] = [];
  return {
    count: () => owners.length,
    enter(owner) {
      const own = owners.filter((one) => one === owner).length;
      if (own >= MAX_STREAMS.token)
        throw tooMany(`${MAX_STREAMS.token} streams of events of this token are open, which is the limit`);
      const named = owners.filter((one) => one !== null).length;
      if (owner !== null && named >= MAX_STREAMS.all - MAX_STREAMS.token)
        throw tooMany(`${named} streams of events are open on this host, which is the limit`);
      owners.push(owner);
      let isOver = false;
      return () => {
        if (!isOver) owners.splice(owners.indexOf(owner), 1);
        isOver = true;
      };
    },
  };
}

interface StreamParts {
  readonly bus: Bus;
  readonly places: Places;
  readonly texts: Texts;
  readonly readers: Readers;
}

function openStream(
  { filter, owner, after, signal }: StreamRequest,
  { bus, places, texts, readers }: StreamParts,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const leave = places.enter(owner);
  const { seq, reset } = placeOf(bus, after);
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let wait: PromiseWithResolvers<void> | undefined;
  let isOver = false;
  let greeting = reset && texts.reset(reset);
  let hasMark = false;
  const finish = () => {
    if (isOver) return;
    isOver = true;
    readers.remove(reader);
    leave();
    signal.removeEventListener("abort", end);
    wait?.resolve();
    ended();
  };
  const end = () => {
    if (!isOver) controller?.close();
    finish();
  };
  const reader: Reader = { filter, seq, slot: Math.floor(jitter(SLOTS, ANY_PART)), take: undefined, end };
  const take = (chunk: Uint8Array) => {
    reader.take = undefined;
    controller?.enqueue(chunk);
    wait?.resolve();
  };
  /** What comes first: a reset, the events that happened already, and a mark. After the mark, the stream is up to date. */
  const first = () => {
    if (greeting) {
      const chunk = greeting;
      greeting = undefined;
      return chunk;
    }
    const chunk = texts.next(reader);
    if (chunk || hasMark) return chunk;
    hasMark = true;
    return texts.mark();
  };
  const stream = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      pull() {
        const chunk = first();
        if (chunk) return controller?.enqueue(chunk);
        reader.take = take;
        wait = Promise.withResolvers<void>();
        return wait.promise;
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
  readers.add(reader);
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  return stream;
}

async function poll(
  { filter, owner, after, signal }: StreamRequest,
  { bus, places }: Pick<StreamParts, "bus" | "places">,
  waitMs: number,
): Promise<PollAnswer> {
  const { seq, reset } = placeOf(bus, after);
  let isReset = reset !== undefined;
  let found = batchOf(bus, filter, seq, POLL_BYTES);
  if (found.events.length > 0 || isReset || waitMs === 0) return pollAnswer(bus, found, isReset);
  const leave = places.enter(owner);
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = () => {
    isReset = found.upTo < bus.oldest - 1;
    found = isReset ? { upTo: bus.newest, events: [] } : batchOf(bus, filter, found.upTo, POLL_BYTES);
    if (isReset || found.events.length > 0) resolve();
  };
  const unlisten = bus.listen(look);
  const timer = setTimeout(resolve, waitMs);
  const end = () => resolve();
  signal.addEventListener("abort", end);
  if (signal.aborted) resolve();
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    unlisten();
    signal.removeEventListener("abort", end);
    leave();
  }
  return pollAnswer(bus, found, isReset);
}

function pollAnswer(bus: Bus, { upTo, events }: Batch, reset: boolean): PollAnswer {
  return {
    events: events.map(({ seq, event: { type, text } }) => {
      const { at, ...data } = JSON.parse(text) as { at: string } & Record<string, unknown>;
      return { id: idOf(bus, seq), type: type.name, at, data };
    }),
    next: idOf(bus, upTo),
    reset,
  };
}
