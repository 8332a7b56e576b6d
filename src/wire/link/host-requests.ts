/**
 * Requests to hosts as a hub offers them, of the calls that a link carries: with their deadlines, their bounds and their repeats.
 */

import { type Answer, askAgain } from "../../client/again";
import {
  type Carrier,
  type Deadline,
  type Limits,
  MAX_REFUSAL_BYTES,
  RemoteError,
  type Request,
  type Response,
  type ResponseStream,
} from "../../client/carrier";
import { piecesOf, within } from "../../client/line-request";
import { outgoingTraceparent } from "../../core/trace-context";
import {
  AnswerReader,
  type Asker,
  type Begin,
  cancelled,
  HostRequest,
  type LinkRequest,
} from "./host-request";

/** Hosts that can be asked by their id. */
export interface HostRequests {
  /**
   * As `ask` of a carrier, with the same errors: `unreachable`, unsent, where the host has no link.
   *
   * @throws a {@link RemoteError}.
   */
  ask(
    hostId: string,
    request: Request,
    limits: Limits,
    signal?: AbortSignal,
    asker?: Asker,
  ): Promise<Response>;
  /** As `open` of a carrier. @throws a {@link RemoteError}. */
  open(
    hostId: string,
    path: string,
    deadline: Deadline,
    silentMs: number,
    signal?: AbortSignal,
    asker?: Asker,
  ): Promise<ResponseStream>;
}

/**
 * @param begin throws an `unreachable` {@link RemoteError} where there is no way to it now.
 * @param isRefusedForNow whether a request that failed so is sent again, once, as the same request with the same key.
 * @param full resolves once another request may be sent to the host; undefined where one may now. Its time is that of the request.
 */
export function createHostRequests(
  begin: Begin,
  isRefusedForNow: (error: unknown) => boolean = () => false,
  full: (hostId: string, until: Deadline) => Promise<void> | undefined = () => undefined,
): HostRequests {
  /** What `act` returns, once the request may be sent. */
  const inTurn = <T>(
    hostId: string,
    until: Deadline,
    signal: AbortSignal | undefined,
    act: () => Promise<T>,
  ): Promise<T> => {
    const waits = full(hostId, until);
    return waits ? within(until, signal, () => false, waits).then(act) : act();
  };
  const askOnce = (asked: LinkRequest) =>
    new Promise<Answer>((resolve, reject) => {
      new HostRequest(begin, isRefusedForNow, asked, resolve, reject).begin();
    });
  const askWithKey = async (asked: LinkRequest) => {
    try {
      return await askOnce(asked);
    } catch (error) {
      const isLost = error instanceof RemoteError && error.fault === "unreachable" && error.sent;
      if (!isLost) throw error;
      return askAgain(() => askOnce(asked), error, asked.limits, asked.signal);
    }
  };
  const openOnce: HostRequests["open"] = async (hostId, path, deadline, silentMs, signal, asker) => {
    if (signal?.aborted || asker?.isClosed) throw cancelled(false);
    const accept = "text/event-stream, application/json";
    const call = begin(hostId, { method: "GET", path }, { accept });
    asker?.began(call);
    // Here too: whoever has given up may never have begun to read.
    const end = () => {
      signal?.removeEventListener("abort", end);
      call[Symbol.dispose]();
    };
    signal?.addEventListener("abort", end);
    try {
      const { status, type } = await within(deadline, signal, () => true, call.head);
      const opened = { status, type, pieces: piecesOf(() => call.next(), silentMs, signal, end) };
      if (status === 200) return { ...opened, body: new Uint8Array() };
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      new AnswerReader(call, MAX_REFUSAL_BYTES, { done: resolve, failed: reject }).begin();
      const whole = await within(deadline, signal, () => true, promise);
      end();
      return { ...opened, body: whole.body };
    } catch (error) {
      end();
      throw error;
    }
  };

  return {
    ask(hostId, request, limits, signal, asker) {
      const traceparent = outgoingTraceparent();
      const asked = { hostId, request, limits, signal, asker, key: undefined, traceparent };
      const isPlain = request.method !== "POST" || request.once;
      return inTurn(hostId, limits.deadline, signal, () =>
        isPlain ? askOnce(asked) : askWithKey({ ...asked, key: crypto.randomUUID() }),
      );
    },
    open: (...asked) => {
      const [hostId, , until, , signal] = asked;
      return inTurn(hostId, until, signal, () => openOnce(...asked)).catch((error) => {
        if (isRefusedForNow(error)) return openOnce(...asked);
        throw error;
      });
    },
  };
}

/** The carrier to one host. Its disposal ends what is under way. */
export class HostCarrier implements Carrier, Asker {
  isClosed = false;
  private call: Disposable | undefined;

  constructor(
    private readonly asking: HostRequests,
    private readonly hostId: string,
    private readonly signal: AbortSignal | undefined,
  ) {}

  ask(request: Request, limits: Limits): Promise<Response> {
    return this.asking.ask(this.hostId, request, limits, this.signal, this);
  }

  open(path: string, deadline: Deadline, silentMs: number): Promise<ResponseStream> {
    return this.asking.open(this.hostId, path, deadline, silentMs, this.signal, this);
  }

  pin(): undefined {}

  began(call: Disposable): void {
    this.call = call;
  }

  [Symbol.dispose](): void {
    this.isClosed = true;
    this.call?.[Symbol.dispose]();
  }
}
