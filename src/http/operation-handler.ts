/**
 * The call of an operation: its input from the request, its answer or failure as a response.
 */
import { callOperation } from "../core/call";
import type { Caller, RequestContext } from "../core/caller";
import { parseInput } from "../core/input";
import { type HttpRoute, takesText } from "../core/operation";
import { PacedAnswer } from "../core/paced-answer";
import { ANYBODY, shareOf } from "../core/rights";
import { SocketAnswer } from "../core/socket";
import { fromQuery } from "../core/text";
import { withTrace } from "../core/trace-context";
import { badInput, Failure, failureOf, isNoScreen, messageOf } from "../lib/errors";
import { hasLongList, jsonInSlices } from "../lib/json-slices";
import type { Log } from "../lib/log";
import { Requester } from "../lib/slots";
import { readJson, readText } from "./body";
import type { Connections } from "./connections";
import { type Answer, after, type Exchange, type Handler } from "./exchange";
import { type Gate, passAgain } from "./gate";
import type { OpenAnswers } from "./open-answers";
import { type Keeper, keyIn, type Repeats, takesIdempotencyKey } from "./repeats";
import { entryOf, type RequestAudit } from "./request-audit";
import { accepted, content, errorResponse, failureResponse, isEventStream } from "./responses";
import type { RoutedOperation } from "./route";
import type { OpenSockets } from "./sockets";
import type { Reader, UnreadAnswers } from "./unread";
import type { WorkTurns } from "./work-turns";

/** Seconds of silence after which a connection is closed; this also ends a client that drips its headers. */
export const IDLE_TIMEOUT_S = 10;

/** The largest body of a signed request: anybody can send one. */
const MAX_SIGNED_BYTES = 16_384;

export interface HandlerParts {
  /** What operations run on. */
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

/** Does work of a request, once it may begin. @param since when it could have, as of `performance.now()`. */
type InTurn = <T>(
  exchange: Exchange,
  since: number,
  work: (hasWaited: boolean) => T | Promise<T>,
) => T | Promise<T>;

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

function createResponder(operation: RoutedOperation, { unread, log }: Pick<HandlerParts, "unread" | "log">) {
  const { settled, line } = operation.http;
  const textOnce = createTextOnce();
  /** A file of a page, whose bytes all its readers share. */
  const isForAll = operation.http.public === true;
  const respond = (result: unknown, reader: Reader, keeper?: Keeper) => {
    if (result instanceof Response) {
      if (result instanceof PacedAnswer || isForAll) return content(result);
      if (line && result.status === 200)
        return content(unread.follow(keeper?.lines(result) ?? result, reader, true));
      if (isEventStream(result)) return content(unread.follow(result, reader, false));
      return unread.whole(content(result), reader, !operation.changes);
    }
    const written = (text: string) => {
      keeper?.text(text);
      return unread.respond(text, reader, {
        isRead: !operation.changes,
        brief: operation.brief && (() => JSON.stringify(operation.brief?.(result))),
      });
    };
    if (settled) return written(textOnce(result));
    return hasLongList(result) ? jsonInSlices(result).then(written) : written(JSON.stringify(result));
  };
  const fail = (thrown: unknown, exchange: Exchange) => {
    if (isNoScreen(thrown)) exchange.lacks = "screen";
    const failure = failureOf(thrown);
    if (failure === undefined) {
      log.error(`${operation.name} failed: ${messageOf(thrown)}`, thrown);
      return errorResponse(500, "internal error");
    }
    // A client that has gone is no fault of this host.
    if (failure !== thrown && failure.code !== "cancelled")
      log.error(`${operation.name}: ${messageOf(thrown)}`);
    return failureResponse(failure);
  };
  return { respond, fail };
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

/** `JSON.stringify`, once as long as it is given the same object. */
function createTextOnce(): (value: unknown) => string {
  let last: { readonly value: unknown; readonly text: string } = { value: undefined, text: "" };
  return (value) => {
    if (value !== last.value) last = { value, text: JSON.stringify(value) };
    return last.text;
  };
}

/** Whether the answer shall be the id of a run. @throws a `bad_input` failure for another `wait` than 0. */
function asksToStart(url: string): boolean {
  const waits = new URLSearchParams(QUERY.exec(url)?.[1]).getAll("wait");
  if (waits.some((wait) => wait !== "0") || waits.length > 1) {
    throw badInput("wait: expected 0, or none to wait for the end");
  }
  return waits.length > 0;
}

/** The query without what {@link asksToStart} reads. */
function queryIn(url: string, { long }: HttpRoute): URLSearchParams {
  const query = new URLSearchParams(QUERY.exec(url)?.[1]);
  if (long) query.delete("wait");
  return query;
}

/** The query of an address, which may have no `Host` or one that is no host name: then it is no URL. */
const QUERY = /^[^?#]*\?([^#]*)/;

/** Reads the input of an operation: from the query of a GET, the body of a POST, and the parameters of the path. */
function createReader(
  operation: RoutedOperation,
  { maxBytes, inTurn }: { readonly maxBytes: number; readonly inTurn: InTurn },
): (exchange: Exchange) => unknown {
  const { http, input } = operation;
  const { method, path, body } = http;
  const inPath = path.includes("{");
  const largeOf =
    (exchange: Exchange) =>
    <T>(parse: () => T) =>
      inTurn(exchange, performance.now(), parse);
  if (method === "POST" && body === undefined) {
    const ofPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
    return (exchange) => {
      const { request } = exchange;
      if (request.url.includes("?") && !(http.long && queryIn(request.url, http).size === 0))
        throw badInput("query: expected none, the fields go in the body");
      // Nobody can hold back a body that is empty.
      const isEmpty = request.raw.headers.get("content-length") === "0";
      const read = isEmpty ? {} : readJson(request.raw, { maxBytes, large: largeOf(exchange) });
      return inPath ? after(read, (fields) => withPath(fields, ofPath, request.param())) : read;
    };
  }
  const inQuery = (name: string) => name !== body && !path.includes(`{${name}}`);
  const readsQuery = !http.public || Object.keys(input.entries).some(inQuery);
  // Links to a page may carry any query, and load balancers add one to what they ask; neither means anything here.
  const queryOf = ({ request: { url } }: Exchange) =>
    url.includes("?") && readsQuery ? fromQuery(input, queryIn(url, http)) : {};
  const readBody = takesText(operation) ? readText : readJson;
  if (body !== undefined) {
    return async (exchange) => {
      const query = queryOf(exchange);
      if (Object.hasOwn(query, body)) throw badInput(`${body}: expected in the body, not in the query`);
      const fields = { ...query, ...(inPath && exchange.request.param()) };
      return {
        ...fields,
        [body]: await readBody(exchange.request.raw, { maxBytes, large: largeOf(exchange) }),
      };
    };
  }
  if (inPath) return (exchange) => ({ ...queryOf(exchange), ...exchange.request.param() });
  return queryOf;
}

/** The fields of a body and those of the path. @throws a `bad_input` failure for a body that has one of the latter. */
function withPath(body: unknown, names: readonly string[], values: Record<string, string>): unknown {
  // The check of the input says what else may be wrong with it.
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const twice = names.find((name) => Object.hasOwn(body, name));
  if (twice !== undefined) throw badInput(`${twice}: expected in the path, not in the body`);
  return { ...body, ...values };
}
