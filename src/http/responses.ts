/**
 * Responses: the headers that all of them have, and the response to a failure.
 */
import * as v from "valibot";
import { type Failure, HTTP_STATUS, short } from "../lib/errors";
import { sizeWithin } from "../lib/json-size";
import { after, type Step } from "./exchange";

/** No browser guesses a type; no cache keeps an answer that needed a token. A response takes a copy, which costs half of making them. */
const JSON_HEADERS = new Headers({
  "content-type": "application/json; charset=utf-8",
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  // A repeat with the same `Idempotency-Key` does nothing again (`repeats.ts`): a client may send a change again.
  "svc-repeats": "idempotency-key",
});

/** The response with the JSON that `text` is. */
export const jsonText = (text: string | ReadableStream<Uint8Array>) =>
  new Response(text, { headers: JSON_HEADERS });

function json(body: unknown, status: number, more: Record<string, string> = {}): Response {
  const response = new Response(JSON.stringify(body), { status, headers: JSON_HEADERS });
  for (const [name, value] of Object.entries(more)) response.headers.set(name, value);
  return response;
}

/** The response to what goes on as a run: where that can be seen (RFC 9110 section 15.3.3). */
export const accepted = (run_id: string) => json({ run_id }, 202, { location: `/runs/${run_id}` });

/** A response that an operation made itself (a page, an asset, the metrics), with the header that all have. */
export function content(response: Response): Response {
  response.headers.set("x-content-type-options", "nosniff");
  return response;
}

/** What stays open until its client or its token goes. */
const EVENT_STREAM = "text/event-stream";

/** The most of each field beside the message of a failure, in bytes of its JSON: a list keeps its first values. */
const MAX_FIELD = { bytes: 16_384, depth: 64 };

export const isEventStream = ({ headers }: Response): boolean =>
  headers.get("content-type")?.startsWith(EVENT_STREAM) === true;

/** `{"error": text}`, and the fields of `more`, all of them short. */
export const errorResponse = (
  status: number,
  error: string,
  headers?: Record<string, string>,
  more: Failure["more"] = {},
) => json({ error: short(error), ...shortFields(more) }, status, headers);

/** `fields` without what is too large; of a list, the first values that are not. */
function shortFields(fields: Failure["more"]): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (sizeWithin(value, MAX_FIELD) !== undefined) kept[name] = value;
    else if (Array.isArray(value)) kept[name] = firstOf(value);
    else if (typeof value === "string") kept[name] = short(value);
  }
  return kept;
}

function firstOf(values: readonly unknown[]): unknown[] {
  let bytes = MAX_FIELD.bytes;
  const end = values.findIndex((value) => {
    bytes -= sizeWithin(value, { ...MAX_FIELD, bytes }) ?? Number.POSITIVE_INFINITY;
    return bytes < 0;
  });
  return values.slice(0, end);
}

/** The response to an expected failure. */
export function failureResponse({ code, message, more }: Failure): Response {
  // After a body that was not read to its end, the connection cannot carry another request (RFC 9112 section 9.3).
  const closing = code === "too_large" || code === "slow_client" ? { connection: "close" } : undefined;
  return errorResponse(HTTP_STATUS[code], message, closing, more);
}

/** Answers failures as the protocol of the route has them: what went wrong is measured and on record as what it is. */
export const speakFaults: Step = (next) => (exchange) => {
  const { fault } = exchange.route;
  if (!fault) return next(exchange);
  return after(next(exchange), async (response) => {
    const { status } = response;
    // Whoever has no token in force speaks HTTP first.
    if (status < 400 || status === 401) return response;
    // What its operation answers itself has that form already.
    const read = v.safeParse(ERROR, await response.clone().json());
    if (!read.success) return response;
    const answer = content(fault(status, read.output.error));
    for (const name of ["connection", "retry-after"]) {
      const value = response.headers.get(name);
      if (value !== null) answer.headers.set(name, value);
    }
    return answer;
  });
};

const ERROR = v.object({ error: v.string() });

/** Hono removes the body of the answer to a HEAD; this keeps its length (RFC 9110 section 9.3.2). */
export const completeHead: Step = (next) => (exchange) =>
  exchange.request.method === "HEAD" ? after(next(exchange), withLength) : next(exchange);

async function withLength(response: Response): Promise<Response> {
  // What stays open has no length.
  if (response.headers.get("content-type") === EVENT_STREAM) {
    await response.body?.cancel();
    return new Response(null, response);
  }
  // A blob shares the bytes of an asset; an array would be a copy of them.
  const { size } = await response.clone().blob();
  response.headers.set("content-length", String(size));
  return response;
}
