/**
 * Calling an operation on another server: over its HTTP route or, without one, as a command through `POST /execute`.
 */
import * as v from "valibot";
import type { Endpoint, HttpRoute, InputSchema, OutputSchema } from "../core/operation";
import { mapParts } from "../core/schema";
import { literal } from "../core/written";
import { badInput, Failure, type FailureCode, HTTP_STATUS } from "../lib/errors";
import { excessIn, MAX_JSON_DEPTH } from "../lib/json-bounds";
import { orElse } from "../lib/or-else";
import { printable } from "../lib/sanitize";
import { valueAs } from "../lib/value-in";
import { deadlineIn, notSvc, RemoteError, type RemoteServer, type Request, type Response } from "./carrier";
import { carrierTo } from "./connection";

/** The largest answer, unless a caller takes less: the screenshot of a large screen fits. */
const MAX_ANSWER_BYTES = 32 * 1_048_576;

/** How long a call may take, in milliseconds, once this process may have one more connection. */
export interface Patience {
  /** Until the request was sent. */
  readonly sendMs: number;
  /** From then on, until the answer is there. */
  readonly answerMs: number;
}

/**
 * The answer of `server` to `operation`, of the operation's output type; further fields are dropped.
 *
 * @param input sent without defaults: a server of another version may not know every field that has one.
 * @param patience milliseconds for the whole call, or for its two parts, once this process may have one more connection.
 * @param client in whose share of the connections it counts; null for the owner.
 * @param maxBytes the largest answer: reading it takes the event loop some 10 ms a mebibyte.
 * @throws a {@link RemoteError}; `bad_input` for an operation that has neither a route nor a command.
 */
export async function callRemote<I extends InputSchema, O extends OutputSchema>(
  server: RemoteServer,
  { name, http, command, input: schema, output }: Endpoint<I, O>,
  input: v.InferInput<I>,
  patience: number | Patience,
  signal?: AbortSignal,
  client?: string | null,
  maxBytes = MAX_ANSWER_BYTES,
): Promise<v.InferOutput<O>> {
  const route = http && isSent(http) ? http : undefined;
  if (!route && !command) throw badInput(`${name} cannot be called on another host`);
  const request = route ? routeRequest(schema, route, input) : runRequest(`${command}`, input);
  using carrier = await carrierTo(server, signal, client);
  const { sendMs, answerMs }: Partial<Patience> & Pick<Patience, "sendMs"> =
    typeof patience === "number" ? { sendMs: patience } : patience;
  const limits = {
    deadline: deadlineIn(sendMs),
    maxBytes,
    ...(answerMs !== undefined && { answerWithinMs: answerMs }),
  };
  const response = await carrier.ask(request, limits);
  const answer = withNulls(output, route ? bodyOf(response) : onlyResult(response));
  const checked = v.safeParse(output, answer, FIRST_FAULT);
  if (checked.success) return checked.output;
  const path = checked.issues[0] && v.getDotPath(checked.issues[0]);
  throw new RemoteError("answer", `unexpected answer: ${printable(path ?? "not of its type", 100)}`, true);
}

/** An answer may have millions of faults. */
const FIRST_FAULT = { abortEarly: true } as const;

/** `value` with null for missing nullable fields: a server of another version may not have them. */
function withNulls(schema: v.GenericSchema, value: unknown): unknown {
  const filled = mapParts(schema, value, withNulls);
  if (filled === undefined) return value;
  if (!("entries" in schema)) return filled;
  const nullable = Object.entries(schema.entries as v.ObjectEntries).filter(
    ([, { type }]) => type === "nullable",
  );
  return {
    ...Object.fromEntries(nullable.map(([name]) => [name, null])),
    ...Object(value),
    ...Object(filled),
  };
}

/** A route whose answer is JSON, of a method that links carry. */
type SentRoute = HttpRoute & { readonly method: "GET" | "POST" };

const isSent = (http: HttpRoute): http is SentRoute => !http.content && http.method !== "DELETE";

function routeRequest(
  schema: InputSchema,
  { method, path, body }: SentRoute,
  input: Readonly<Record<string, unknown>>,
): Request {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(`${input[name]}`));
  const given = Object.keys(schema.entries).filter((name) => input[name] !== undefined);
  const fields = given.filter((name) => name !== body && !path.includes(`{${name}}`));
  if (method === "POST" && body === undefined) {
    const picked = Object.fromEntries(fields.map((name) => [name, input[name]]));
    return { method, path: filled, body: JSON.stringify(picked) };
  }
  const query = new URLSearchParams();
  for (const name of fields) for (const value of [input[name]].flat()) query.append(name, `${value}`);
  const asked = query.size > 0 ? `${filled}?${query}` : filled;
  return { method, path: asked, ...(body !== undefined && { body: JSON.stringify(input[body] ?? {}) }) };
}

/** A list of one action, in which nothing is filled in: `${name}` is what was given. @throws `bad_input` where that cannot be written. */
function runRequest(command: string, input: object): Request {
  const given = literal(input);
  if (given === undefined)
    throw badInput("expected } at the end of each expression that begins with ${=, as another host reads it");
  return { method: "POST", path: "/execute", body: JSON.stringify({ actions: [[command, given]] }) };
}

/** The JSON of a response with the status 200. @throws a {@link RemoteError} for any other. */
export function bodyOf({ status, body }: Response): unknown {
  const value = parsed(body);
  if (status === 200 && value !== undefined) return value;
  if (status === 200) throw notSvc();
  const isRefused = status === 401 || status === 403;
  const refusal = status === 401 ? undefined : valueAs(ERROR_BODY, value);
  const said = refusal && { status, error: refusal.error, ...codeIn(value) };
  // Of a token that is over, its host says what became of it.
  const why = said?.error ?? (status === 401 ? reasonIn(value) : undefined);
  const words = why === undefined ? "" : `: ${printable(why, 200)}`;
  throw new RemoteError(isRefused ? "unauthorized" : "answer", `HTTP ${status}${words}`, true, said);
}

/** The failure that the server answered with, as if it had happened here; undefined when the call itself failed. */
export function failureIn({ refusal }: RemoteError): Failure | undefined {
  const codes = Object.keys(HTTP_STATUS) as FailureCode[];
  const code = codes.find((one) => HTTP_STATUS[one] === refusal?.status);
  return refusal && code && new Failure(code, refusal.error);
}

const REASON = v.object({ reason: v.string() });

const reasonIn = (body: unknown) => valueAs(REASON, body)?.reason;

const ERROR_BODY = v.object({ error: v.string() });

const CODE = v.object({ code: v.pipe(v.string(), v.maxLength(100)) });

/** What tells programs a refusal from others of its status; nothing where it has none. */
const codeIn = (body: unknown): { readonly code?: string } => valueAs(CODE, body) ?? {};

/**
 * What an answer may have: more would hold up everybody while it is parsed, and JSON can be too deep to be serialized again. Far
 * more than any answer needs.
 */
const LIMITS = { values: 100_000, depth: MAX_JSON_DEPTH };

const UTF_8 = new TextDecoder("utf-8", { fatal: true });

/** An answer has more values than may be. */
export class TooManyValues extends RemoteError {
  constructor() {
    super("answer", `answer with more than ${LIMITS.values} values, or ${LIMITS.depth} levels`, true);
  }
}

/** @throws a {@link TooManyValues}. */
function parsed(body: Uint8Array): unknown {
  // Half of them may be names.
  if (excessIn(body, 2 * LIMITS.values, LIMITS.depth)) throw new TooManyValues();
  return orElse(() => JSON.parse(UTF_8.decode(body)), undefined);
}

/** The JSON of a response, of the type that `schema` says. @throws a {@link RemoteError} for anything else. */
export function typed<S extends v.GenericSchema>(schema: S, response: Response): v.InferOutput<S> {
  const checked = v.safeParse(schema, bodyOf(response), FIRST_FAULT);
  if (!checked.success) throw notSvc();
  return checked.output;
}

const RUN = v.object({
  result: v.record(v.string(), v.unknown()),
  outcomes: v.optional(
    v.array(v.object({ ok: v.boolean(), result: v.optional(v.unknown()), error: v.optional(v.string()) })),
  ),
});

/** The result of a run's only action; hosts that report no outcomes have it in `result`. */
function onlyResult(response: Response): unknown {
  const { result, outcomes } = typed(RUN, response);
  const [outcome] = outcomes ?? [];
  if (!outcome) return Object.values(result)[0];
  if (!outcome.ok) throw new RemoteError("answer", printable(outcome.error ?? "failed", 200), true);
  return outcome.result;
}
