/**
 * The requests of a desk that come over the link, and their answers: each enters this host's own app.
 */
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { type Outlet, Receiver, Sender } from "./body";
import { type FromHub, MAX_ASKS, MAX_BODY_BYTES } from "./frames";

type Ask = Extract<FromHub, { t: "ask" }>;

/** What answers requests: the app of this host. */
export type Enter = (request: Request) => Promise<Response>;

interface OpenRequest {
  readonly control: AbortController;
  /** After it, nobody waits for the answer. */
  readonly timer: Timer | undefined;
  /** The body, and how much of it is still to come. */
  readonly body: Receiver | undefined;
  left: number;
  readonly sender: Sender;
}

/** The requests of one link. */
export interface Answers {
  /** @returns false for a frame that breaks the protocol. */
  frame(frame: Extract<FromHub, { t: "ask" | "cancel" | "more" }>): void;
  /** @returns false for more than was announced. */
  piece(id: number, bytes: Uint8Array): boolean;
  /** Takes no further request. Resolves when those under way are answered. */
  finish(): Promise<void>;
  /** The link has ended, and with it all requests. */
  endAll(): void;
}

/** @param ended is called when one has ended. */
export function createAnswers(
  outlet: Outlet,
  enter: Enter,
  log: Pick<Log, "error">,
  ended: () => void = () => {},
): Answers {
  const asked = new Map<number, OpenRequest>();
  /** Set once no further request is taken: called when the last one is answered. */
  let finished: (() => void) | undefined;
  const say = (frame: object) => outlet.send(JSON.stringify(frame));

  const answer = async (ask: Ask, one: OpenRequest): Promise<void> => {
    const { id } = ask;
    const response = await enter(requestOf(ask, one));
    const head = headOf(id, response);
    say(head);
    const isStream = head.type.startsWith("text/event-stream");
    let sent = 0;
    const reader = response.body?.getReader();
    try {
      for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
        // The desk refuses what is larger, once it sees that.
        if (sent > MAX_BODY_BYTES && !isStream) return say({ t: "end", id, error: "it is too large" });
        if (!(await one.sender.write(read.value))) return;
        sent += read.value.length;
      }
      say({ t: "end", id });
    } finally {
      void reader?.cancel().catch(() => {});
    }
  };

  const begin = (ask: Ask) => {
    const { id, bytes = 0, within_ms } = ask;
    if (asked.has(id)) return;
    if (finished) return say({ t: "end", id, error: "svc stops" });
    if (asked.size >= MAX_ASKS) return say({ t: "end", id, error: `${MAX_ASKS} requests are under way` });
    if (!ask.path.startsWith("/")) return say({ t: "end", id, error: "the path has no / in front" });
    const control = new AbortController();
    const one: OpenRequest = {
      control,
      timer: within_ms === undefined ? undefined : setTimeout(() => control.abort(), within_ms),
      body: bytes > 0 ? new Receiver((read) => say({ t: "more", id, bytes: read })) : undefined,
      left: bytes,
      sender: new Sender(id, outlet),
    };
    asked.set(id, one);
    answer(ask, one)
      .catch((error) => {
        if (!one.control.signal.aborted)
          log.error(`a request of the desk failed: ${messageOf(error)}`, error);
        say({ t: "end", id, error: "it broke off" });
      })
      .finally(() => end(id));
  };

  /** Nobody waits for its answer any longer. */
  const end = (id: number) => {
    const one = asked.get(id);
    if (!one) return;
    asked.delete(id);
    clearTimeout(one.timer);
    one.control.abort();
    one.sender.stop();
    one.body?.finish(new Error("the desk has ended its request"));
    ended();
    if (asked.size === 0) finished?.();
  };

  return {
    frame(frame) {
      if (frame.t === "ask") begin(frame);
      else if (frame.t === "cancel") end(frame.id);
      else asked.get(frame.id)?.sender.more(frame.bytes);
    },
    piece(id, bytes) {
      const one = asked.get(id);
      if (!one) return true;
      one.left -= bytes.length;
      if (!one.body || one.left < 0 || !one.body.push(bytes)) return false;
      if (one.left === 0) one.body.finish();
      return true;
    },
    finish() {
      const { promise, resolve } = Promise.withResolvers<void>();
      finished = resolve;
      if (asked.size === 0) resolve();
      return promise;
    },
    endAll() {
      for (const id of asked.keys()) end(id);
    },
  };
}

const requestOf = ({ method, path, accept, key, traceparent, bytes }: Ask, { control, body }: OpenRequest) =>
  new Request(`http://link${path}`, {
    method,
    headers: {
      accept,
      ...(key !== undefined && { "idempotency-key": `"${key}"` }),
      ...(traceparent !== undefined && { traceparent }),
      ...(bytes !== undefined && { "content-type": "application/json", "content-length": String(bytes) }),
    },
    ...(body && { body: streamOf(body) }),
    signal: control.signal,
  });

function headOf(id: number, { status, headers }: Response) {
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  const retry_after_s = Number(headers.get("retry-after") ?? Number.NaN);
  return {
    t: "head",
    id,
    status,
    type: type.trim().toLowerCase(),
    ...(retry_after_s > 0 && { retry_after_s: Math.ceil(retry_after_s) }),
  };
}

const streamOf = (body: Receiver) =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await body.next();
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
