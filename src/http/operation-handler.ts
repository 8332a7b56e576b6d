/**
 * The call of an operation: its input from the request, its answer or failure as a response.
 */
import { callOperation } from "../core/call";
import type { Caller, RequestContext } from "../core/caller";
import { parseInput } from "../core/input";
import { ANYBODY, shareOf } from "../core/rights";
import { SocketAnswer } from "../core/socket";
import { withTrace } from "../core/trace-context";
import { Failure } from "../lib/errors";
import type { Log } from "../lib/log";
import { Requester } from "../lib/slots";
import type { Connections } from "./connections";
import type { Answer, Exchange, Handler } from "./exchange";
import type { Gate } from "./gate";
import type { OpenAnswers } from "./open-answers";
import { createResponder } from "./operation-answer";
import { asksToStart, createReader, type InTurn, QUERY } from "./operation-input";
import { passAgain } from "./pass-gate";
import { type Keeper, keyIn, type Repeats, takesIdempotencyKey } from "./repeats";
import { entryOf, type RequestAudit } from "./request-audit";
import { accepted, errorResponse } from "./responses";
import type { RoutedOperation } from "./route";
import type { OpenSockets } from "./sockets";
import type { Reader, UnreadAnswers } from "./unread";
import type { WorkTurns } from "./work-turns";

/** Seconds of silence after which a connection is closed; this also ends a client that drips its headers. */
export const IDLE_TIMEOUT_S = 10;

/** The largest body of a signed request: anybody can send one. */
const MAX_SIGNED_BYTES = 16_384;

export interface HandlerParts {
  readonly service: object;
  readonly maxBodyBytes: number;
  readonly log: Log;
  /** Aborted when the server is about to stop without waiting any longer. */
  readonly stopping: AbortSignal;
  /** Aborted once the token of that name is revoked. */
  readonly untilRevoked: (token: string) => AbortSignal;
  readonly unread: UnreadAnswers;
  readonly turns: WorkTurns;
  readonly openAnswers: OpenAnswers;
  readonly gate: Pick<Gate, "now">;
  readonly sockets: OpenSockets;
  readonly connections: Pick<Connections, "accept">;
  readonly audit: Pick<RequestAudit, "refused">;
  readonly runOne: RunOne;
  readonly repeats: Pick<Repeats, "once">;
}

/** Runs a command as the only action of a run, whose id it hands to `caller.begun`. */
export type RunOne = (command: string, input: unknown, caller: Caller) => Promise<unknown>;

/** Never throws: a failure has its status, a bug is logged and answered with a plain 500. */
export function call(operation: RoutedOperation, parts: HandlerParts): Handler {
  const { service, maxBodyBytes, unread, gate, runOne, repeats } = parts;
  const { long, stream, public: entry } = operation.http;
  const takesKey = takesIdempotencyKey(operation);
  const inTurn = createTurnTaker(parts, entry === undefined);
  const inputOf = createReader(operation, {
    maxBytes: entry === "signed" ? Math.min(MAX_SIGNED_BYTES, maxBodyBytes) : maxBodyBytes,
    inTurn,
  });
  const staysOpen = stream !== undefined;
  const { respond, fail } = createResponder(operation, parts);
  const callerOf = createCallers(staysOpen, parts);
  const upgrade = createUpgrade(operation.http.socket ?? "", parts);

  /** Starts a run, whose end nobody waits for. What goes wrong before it begins is the answer. */
  const start = async (input: unknown, asking: Caller) => {
    const { promise: begun, resolve } = Promise.withResolvers<string>();
    const caller = { ...asking, begun: resolve };
    parseInput(operation.input, input);
    const ended =
      long === "run" || long === undefined
        ? callOperation(service, operation, input, caller)
        : runOne(long, input, caller);
    return accepted(await Promise.race([begun, Promise.resolve(ended).then(() => begun)]));
  };

  const perform = (exchange: Exchange, reader: Reader, input: unknown, keeper?: Keeper): Answer => {
    const { request, server } = exchange;
    const isStart = long !== undefined && asksToStart(request.url);
    const caller = callerOf(exchange, !isStart, isStart || operation.changes !== undefined);
    const result = withTrace(exchange.trace, () =>
      isStart ? start(input, caller) : callOperation(service, operation, input, caller),
    );
    if (result instanceof SocketAnswer) return upgrade(exchange, result);
    if (!(result instanceof Promise)) return respond(result, reader, keeper);
    // The idle timeout is for clients: an operation may take longer than a silent client may.
    server.timeout(request.raw, 0);
    let isOpen = false;
    return result
      .then((value) => {
        if (value instanceof SocketAnswer) return upgrade(exchange, value);
        isOpen = staysOpen && value instanceof Response;
        return respond(value, reader, keeper);
      })
      .finally(() => {
        if (isOpen) return;
        server.timeout(request.raw, IDLE_TIMEOUT_S);
        if (staysOpen) caller.request?.ended?.();
      });
  };
  const performOnce = (exchange: Exchange, reader: Reader, input: unknown): Answer => {
    const { raw, url } = exchange.request;
    const key = takesKey ? keyIn(raw.headers.get("idempotency-key")) : undefined;
    if (key === undefined) return perform(exchange, reader, input);
    // The same body with another query is another request.
    const request = [QUERY.exec(url)?.[1] ?? "", input];
    const counted = (answer: Response) => unread.whole(answer, reader, false);
    const asked = { name: operation.name, key, request, counted };
    return repeats.once(exchange, asked, async (keeper) => {
      try {
        return await perform(exchange, reader, input, keeper);
      } catch (thrown) {
        if (thrown instanceof Failure && thrown.hasDoneNothing) keeper.nothing();
        return fail(thrown, exchange);
      }
    });
  };

  return (exchange) => {
    const { request, client, grant } = exchange;
    const name = grant?.name ?? `at ${client?.key}`;
    const reader: Reader = { name, asked: operation.name, request: request.raw };
    const refusal = unread.refusal(reader);
    if (refusal) return refusal;
    try {
      const input = inputOf(exchange);
      const perform = (read: unknown, isLate: boolean) =>
        (isLate ? passAgain(gate, exchange) : undefined) ?? performOnce(exchange, reader, read);
      const answered =
        input instanceof Promise
          ? input.then((read) => inTurn(exchange, performance.now(), () => perform(read, true)))
          : inTurn(exchange, exchange.started, (hasWaited) => perform(input, hasWaited));
      return answered instanceof Promise ? answered.catch((thrown) => fail(thrown, exchange)) : answered;
    } catch (thrown) {
      return fail(thrown, exchange);
    }
  };
}

/** @param isShared whether the work waits for a turn; else it is done at once, as is that of requests without a token. */
function createTurnTaker({ turns }: Pick<HandlerParts, "turns">, isShared: boolean): InTurn {
  if (!isShared) return (_exchange, _since, work) => work(false);
  return (exchange, since, work) => {
    const { request, server, grant } = exchange;
    const doNow = (since: number, hasWaited: boolean) => {
      const done = work(hasWaited);
      turns.begun(since, done instanceof Promise);
      return done;
    };
    const waits = turns.wait(since, () => new Requester(shareOf(grant ?? ANYBODY), request.raw.signal));
    if (!waits) return doNow(since, false);
    // Who waits here is no silent client.
    server.timeout(request.raw, 0);
    return waits
      .finally(() => server.timeout(request.raw, IDLE_TIMEOUT_S))
      .then(() => doNow(performance.now(), true));
  };
}

/** Makes the connection that a request becomes. One with a token ends with it. */
function createUpgrade(
  protocol: string,
  { gate, openAnswers, sockets, connections, audit }: HandlerParts,
): (exchange: Exchange, answer: SocketAnswer) => Response {
  return (exchange, answer) => {
    const { peer } = exchange;
    const grant = answer.grant ?? exchange.grant;
    // It may have ended since it was looked at.
    if (answer.grant?.sha256 !== undefined && !gate.now(answer.grant.sha256))
      return errorResponse(403, "the token of this has ended");
    // Kept as long as the connection: not the whole exchange.
    const entry = entryOf(exchange);
    const open = grant === null ? undefined : openAnswers.open(grant, true);
    return sockets.upgrade(exchange, answer, protocol, {
      signal: open?.signal,
      ended: () => open?.ended(),
      accept: () => connections.accept(peer),
      refuse: () => void audit.refused(entry, "failed:403"),
    });
  };
}

/** Makes the callers of an operation. @param staysOpen whether its answer may stay open. */
function createCallers(
  staysOpen: boolean,
  { stopping, untilRevoked, openAnswers }: Pick<HandlerParts, "stopping" | "untilRevoked" | "openAnswers">,
) {
  /** @param isAwaited whether its client waits for the end. @param goesOn whether it goes on when its client has gone. */
  return (exchange: Exchange, isAwaited: boolean, goesOn: boolean): Caller => {
    const { request, server, client, grant, announce, link } = exchange;
    let open: ReturnType<OpenAnswers["open"]> | undefined;
    let signal: AbortSignal | undefined;
    let context: RequestContext | undefined;
    const contextOf = (): RequestContext => ({
      clientKey: client?.key,
      headers: request.raw.headers,
      get gone() {
        return isAwaited ? request.raw.signal : undefined;
      },
      ended: staysOpen
        ? () => {
            open?.ended();
            server.timeout(request.raw, IDLE_TIMEOUT_S);
          }
        : undefined,
      lasting: () => AbortSignal.any([stopping, ...(grant?.name == null ? [] : [untilRevoked(grant.name)])]),
      untilTokenEnds: grant === null ? undefined : () => openAnswers.open(grant, true),
      rowsOf: exchange.rowsOf,
      relay: exchange.relay ?? undefined,
    });
    return {
      kind: link ? "link" : "rest",
      lasts: true,
      client: client?.address ?? null,
      grant: grant ?? ANYBODY,
      trace: exchange.trace,
      get request() {
        context ??= contextOf();
        return context;
      },
      get signal() {
        // Most calls are over before anybody can go: they make no signal.
        if (signal) return signal;
        if (staysOpen && grant !== null) open = openAnswers.open(grant);
        signal = AbortSignal.any([
          stopping,
          ...(goesOn ? [] : [request.raw.signal]),
          ...(grant?.name == null ? [] : [untilRevoked(grant.name)]),
          ...(open === undefined ? [] : [open.signal]),
        ]);
        return signal;
      },
      announce,
    };
  };
}
