/**
 * The HTTP app: a short function over the table. A request goes through `exchange` from top to bottom.
 */
import { type Context, Hono } from "hono";
import { callOperation } from "../core/call";
import type { Caller } from "../core/caller";
import type { HttpRoute, Operation } from "../core/operation";
import { fromQuery } from "../core/text";
import { badInput, failureOf, messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import { printable } from "../lib/sanitize";
import type { Metrics } from "../metrics/metrics";
import type { Service } from "../service";
import { allows, type Grant } from "../trust/scopes";
import { readJson } from "./body";
import type { ClientResolver } from "./client-address";
import type { Gate, Verdict } from "./gate";
import type { Asked, Trail } from "./request-audit";
import { content, errorResponse, failureResponse, json } from "./responses";

/** Seconds of silence after which a connection is closed; also what ends a client that drips its headers. */
export const IDLE_TIMEOUT_S = 10;

/** What the app is made of. */
export interface AppParts {
  readonly service: Service;
  readonly operations: readonly Operation[];
  readonly gate: Gate;
  readonly clients: ClientResolver;
  /** Whether the server answers to this `Host`. */
  readonly answersTo: (host: string | null) => boolean;
  readonly metrics: Metrics;
  readonly trail: Trail;
  readonly maxBodyBytes: number;
  readonly log: Log;
  /** Aborted when the server is about to stop without waiting any longer. */
  readonly stopping: AbortSignal;
}

/** What Bun.serve hands along with a request. */
export type Bindings = { readonly server: Bun.Server<unknown> };

type RoutedOperation = Operation & { readonly http: HttpRoute };
type RequestContext = Context<{ Bindings: Bindings }>;

/** The app over the operations of the table that have an HTTP route. */
export function createApp(parts: AppParts): Hono<{ Bindings: Bindings }> {
  const app = new Hono<{ Bindings: Bindings }>();
  const routed = parts.operations.filter(
    (operation): operation is RoutedOperation => operation.http !== undefined,
  );
  for (const operation of routed) {
    app.on(operation.http.method, pathRoute(operation.http), (c) => exchange(parts, c, operation));
  }
  const routes = routed.map(({ http }) => ({ http, pattern: pathPattern(http) }));
  app.notFound((c) => {
    const path = c.req.path;
    const others = routes.filter(({ pattern }) => pattern.test(path)).map(({ http }) => http);
    return exchange(parts, c, others);
  });
  app.onError((error) => {
    parts.log.error(`request failed: ${messageOf(error)}`, error);
    return errorResponse(500, "internal error");
  });
  return app;
}

/**
 * One request and its answer.
 *
 * @param target the operation, or the routes that share the path but not the method (none: the path is unknown).
 */
function exchange(
  parts: AppParts,
  c: RequestContext,
  target: RoutedOperation | readonly HttpRoute[],
): Response | Promise<Response> {
  const started = performance.now();
  return after(respond(parts, c, target, started), (response) => {
    const template = "http" in target ? target.http.path : (target[0]?.path ?? "unmatched");
    const method =
      "http" in target && c.req.method !== "HEAD" ? target.http.method : knownMethod(c.req.method);
    parts.metrics.recordRequest(method, template, response.status, (performance.now() - started) / 1_000);
    return c.req.method === "HEAD" ? withLength(response) : response;
  });
}

/** Hono takes the body off the answer to a HEAD; its length stays to be told (RFC 9110 section 9.3.2). */
async function withLength(response: Response): Promise<Response> {
  const { byteLength } = await response.clone().arrayBuffer();
  response.headers.set("content-length", String(byteLength));
  return response;
}

function respond(
  parts: AppParts,
  c: RequestContext,
  target: RoutedOperation | readonly HttpRoute[],
  now: number,
): Response | Promise<Response> {
  const headers = c.req.raw.headers;
  const isMeant = parts.answersTo(headers.get("host"));
  const route = "http" in target ? target.http : target[0];
  if (route?.public) {
    if (!isMeant) return misdirected();
    if (!("http" in target)) return methodNotAllowed(target);
    return answer(parts, c, target, {
      kind: "rest",
      client: null,
      headers,
      signal: parts.stopping,
      announce: async () => {},
    });
  }
  const peer = c.env.server.requestIP(c.req.raw)?.address ?? "unknown";
  const client = parts.clients.resolve(peer, headers.get("x-forwarded-for"));
  const verdict = isMeant
    ? parts.gate.check(client.key, headers.get("authorization"), now)
    : ({ kind: "misdirected", guess: false } as const);
  const asked: Asked = {
    client: client.address,
    clientKey: client.key,
    method: printable(c.req.method, 20),
    // A path that was decoded could say what came of the request.
    path: printable(c.req.path, 500).replace(/\s/g, encodeURIComponent),
    token: verdict.kind === "pass" ? verdict.grant.name : null,
  };
  if (verdict.kind !== "pass") return refuse(parts, asked, verdict);
  return answerOnRecord(parts, c, target, asked, verdict.grant);
}

async function refuse(
  parts: AppParts,
  asked: Asked,
  verdict: Exclude<Verdict, { kind: "pass" }> | { readonly kind: "misdirected"; readonly guess: false },
): Promise<Response> {
  if (verdict.guess) parts.metrics.recordFailedAuth();
  await parts.trail.refused(asked, verdict.kind);
  if (verdict.kind === "misdirected") return misdirected();
  if (verdict.kind === "unauthorized")
    return errorResponse(401, "unauthorized", { "www-authenticate": "Bearer" });
  const error = verdict.kind === "rate_limited" ? "rate limited" : "too many failed auth attempts";
  return errorResponse(429, error, { "retry-after": String(verdict.retryAfterSeconds) });
}

const misdirected = () =>
  errorResponse(421, "this server does not answer to that host name (see --allow-host)");

async function answerOnRecord(
  parts: AppParts,
  c: RequestContext,
  target: RoutedOperation | readonly HttpRoute[],
  asked: Asked,
  grant: Grant,
): Promise<Response> {
  let subject: string | null = null;
  const caller: Caller = {
    kind: "rest",
    client: asked.client,
    headers: c.req.raw.headers,
    signal: parts.stopping,
    announce(told) {
      // What the actions of a run announce after it has rows of its own.
      subject ??= told;
      return parts.trail.announce(asked, told);
    },
  };
  const response = await answerAllowed(parts, c, target, caller, grant);
  await parts.trail.answered(asked, outcomeOf(response.status), subject);
  return response;
}

function answerAllowed(
  parts: AppParts,
  c: RequestContext,
  target: RoutedOperation | readonly HttpRoute[],
  caller: Caller,
  grant: Grant,
): Response | Promise<Response> {
  if (!("http" in target)) {
    return target.length > 0 ? methodNotAllowed(target) : errorResponse(404, "not found");
  }
  return allows(grant, target.scope) ? answer(parts, c, target, caller) : notAllowed(grant, target);
}

/** The operation's answer. Never throws: a failure has its status, a bug is logged and answered with a plain 500. */
function answer(
  { service, maxBodyBytes, log }: AppParts,
  c: RequestContext,
  operation: RoutedOperation,
  caller: Caller,
): Response | Promise<Response> {
  const told = (result: unknown) => (result instanceof Response ? content(result) : json(result));
  const failed = (thrown: unknown) => {
    const failure = failureOf(thrown);
    if (failure === undefined) {
      log.error(`${operation.name} failed: ${messageOf(thrown)}`, thrown);
      return errorResponse(500, "internal error");
    }
    if (failure !== thrown) log.error(`${operation.name}: ${messageOf(thrown)}`);
    return failureResponse(failure);
  };
  try {
    const answered = after(inputOf(c, operation, maxBodyBytes), (input) => {
      const result = callOperation(service, operation, input, caller);
      if (!(result instanceof Promise)) return told(result);
      // The idle timeout is for clients: an operation may take longer than a silent client may.
      c.env.server.timeout(c.req.raw, 0);
      return result.then(told).finally(() => c.env.server.timeout(c.req.raw, IDLE_TIMEOUT_S));
    });
    return answered instanceof Promise ? answered.catch(failed) : answered;
  } catch (thrown) {
    return failed(thrown);
  }
}

/** `next` of a value that may be there already: then nobody waits for a turn of the event loop. */
function after<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

function inputOf(c: RequestContext, { http, input }: RoutedOperation, maxBodyBytes: number): unknown {
  if (http.method === "POST" && http.body === undefined) {
    if (c.req.url.includes("?")) throw badInput("query: expected none, the fields go in the body");
    return readJson(c.req.raw, maxBodyBytes);
  }
  // Whoever links to a page adds what they like to its address; a page takes no configuration from there.
  const isPage = http.public && http.content !== undefined;
  const query = c.req.url.includes("?") && !isPage ? fromQuery(input, new URL(c.req.url).searchParams) : {};
  if (http.body !== undefined) return withBody(c, http.body, query, maxBodyBytes);
  return http.path.includes("{") ? { ...query, ...c.req.param() } : query;
}

/** The query, and the body as the one field that it is. */
async function withBody(
  c: RequestContext,
  field: string,
  query: Readonly<Record<string, unknown>>,
  maxBodyBytes: number,
): Promise<unknown> {
  if (Object.hasOwn(query, field)) throw badInput(`${field}: expected in the body, not in the query`);
  return { ...query, [field]: await readJson(c.req.raw, maxBodyBytes) };
}

/** RFC 6750 section 3.1. */
function notAllowed({ scopes }: Grant, { scope }: Operation): Response {
  const error = `this token allows ${scopes.join(" and ")}, and not what needs ${scope}`;
  return errorResponse(403, error, {
    "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"`,
  });
}

function methodNotAllowed(routes: readonly HttpRoute[]): Response {
  const methods = new Set(routes.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])));
  return errorResponse(405, "method not allowed", { allow: [...methods].join(", ") });
}

/** `ok` up to 399, `failed` for what the caller could have known, `error` for a crash. */
function outcomeOf(status: number): string {
  if (status === 500) return "error";
  return status < 400 ? `ok:${status}` : `failed:${status}`;
}

/** What a parameter of a path matches: a segment; all that follows in a public path, whose every name is public. */
const parameterPattern = ({ public: open }: HttpRoute) => (open ? "[^]*" : "[^/]+");

function pathRoute(http: HttpRoute): string {
  return http.path.replaceAll(/\{(\w+)\}/g, `:$1{${parameterPattern(http)}}`);
}

function pathPattern(http: HttpRoute): RegExp {
  const literal = http.path.replaceAll(/[.]/g, "\\.");
  return new RegExp(`^${literal.replaceAll(/\{\w+\}/g, parameterPattern(http))}$`);
}

const knownMethod = (method: string) => (method === "GET" || method === "POST" ? method : "other");
