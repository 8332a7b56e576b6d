/**
 * Requests with an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07): a repeat gets the first answer, and nothing is
 * done again. `idempotency.ts` has the promise.
 */
import type { Operation } from "../core/operation";
import { badInput, unavailable } from "../lib/errors";
import type { Log } from "../lib/log";
import { once } from "../lib/once";
import type { Answer, Exchange } from "./exchange";
import type { Ending, FirstAnswers, RequestState } from "./idempotency";
import { errorResponse } from "./responses";

/** How long a key is, in characters. What seals an answer must not be guessed: a UUID has 36. */
const MIN_KEY = 16;
const MAX_KEY = 255;

/** A string of RFC 8941 section 3.3.3, or the same without its quotes where no character needs them. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;
const BARE = /^[\w.~:+/=-]+$/;

/** Whether a repeat of it must not do the same again. What is signed detects a repeat in its own way. */
export const takesIdempotencyKey = ({ changes, http }: Operation): boolean =>
  changes !== undefined && http !== undefined && http.public === undefined && !http.repeatable;

/** @throws a `bad_input` failure for a header that is no key. */
export function keyIn(header: string | null): string | undefined {
  if (header === null) return undefined;
  const key = QUOTED.exec(header)?.[1]?.replaceAll(/\\(.)/g, "$1") ?? (BARE.test(header) ? header : "");
  if (key.length >= MIN_KEY && key.length <= MAX_KEY) return key;
  throw badInput(
    `Idempotency-Key: expected ${MIN_KEY} to ${MAX_KEY} characters that nobody guesses, in double quotes: a UUID`,
  );
}

/** Requests that are answered once, however often they are sent. */
export interface Repeats {
  /**
   * The answer of `work`, or the first one to the same request.
   *
   * @param request what is asked for, without the key.
   * @param counted counts an answer that is sent again, until its client has read it.
   * @param work never throws. It hands over what may be large; other answers are kept as they are.
   */
  once(
    exchange: Exchange,
    options: {
      readonly name: string;
      readonly key: string;
      readonly request: unknown;
      readonly counted?: (answer: Response) => Answer;
    },
    work: (keeper: Keeper) => Answer,
  ): Promise<Response>;
  close(): void;
}

/** The largest answer that is kept. */
const MAX_ANSWER_BYTES = 1_048_575;

/** @param path says where the file of the answers is. The first request with a key makes it. */
export function createRepeats(path: () => string, log: Log): Repeats {
  const made = once(async () => (await import("./idempotency")).createFirstAnswers(path()));
  let first: FirstAnswers | undefined;

  const begin = async ({ grant }: Exchange, key: string, request: string): Promise<RequestState> => {
    try {
      first = await made();
      return first.begin(grant ?? { name: null }, key, request);
    } catch (error) {
      const failure = unavailable("the Idempotency-Key cannot be kept: nothing was done");
      failure.cause = error;
      throw failure;
    }
  };

  return {
    async once(exchange, { name, key, request, counted = (answer) => answer }, work) {
      const found = await begin(exchange, key, JSON.stringify([name, request]));
      if (found.kind !== "new") return counted(await repeated(found, exchange, name));
      let isKept = false;
      let hasEnded = false;
      const keep: Keep = (answer) => {
        isKept = true;
        if (hasEnded) return;
        hasEnded = true;
        try {
          found.end(answer);
        } catch (error) {
          log.error(
            "an answer to a request with an Idempotency-Key was not kept: repeats are refused",
            error,
          );
        }
      };
      let hasBegun = false;
      const { announce } = exchange;
      exchange.announce = async (subject) => {
        await announce(subject);
        hasBegun = true;
      };
      const keeper: Keeper = {
        nothing: () => keep(null),
        text: (body) => keep(answerOf(200, JSON_TYPE, body)),
        lines(response) {
          isKept = true;
          return keptWhole(response, keep);
        },
      };
      try {
        const response = await work(keeper);
        if (isKept) return response;
        // What was refused before it was on record has changed nothing: it may be tried again.
        if (!hasBegun && !response.ok) keep(null);
        else keep(answerOf(response.status, headersOf(response), await response.clone().text()));
        return response;
      } catch (error) {
        keep("interrupted");
        throw error;
      }
    },
    close: () => first?.close(),
  };
}

type Keep = (answer: Ending) => void;

/** Takes answers that may be large. */
export interface Keeper {
  /** It was refused, and nothing was done: the key is free again. */
  nothing(): void;
  /** The JSON of an answer. */
  text(body: string): void;
  /** @returns a response that is read in place of `response`, whose lines are kept once all have been read. */
  lines(response: Response): Response;
}

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

const headersOf = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => name === "content-type" || name === "location"));

const answerOf = (status: number, headers: Readonly<Record<string, string>>, body: string) =>
  body.length > MAX_ANSWER_BYTES || Buffer.byteLength(body) > MAX_ANSWER_BYTES
    ? { status }
    : { status, headers, body };

/** A stream that fails, or whose reader goes, is broken off, as its work is then: a repeat is answered that it was interrupted. */
function keptWhole(response: Response, keep: Keep): Response {
  const source = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const next = await source?.read().catch((error) => {
      keep("interrupted");
      throw error;
    });
    if (!next || next.done) {
      keep(answerOf(response.status, headersOf(response), text));
      return controller.close();
    }
    if (text.length <= MAX_ANSWER_BYTES) text += decoder.decode(next.value, { stream: true });
    controller.enqueue(next.value);
  };
  const cancel = (reason: unknown) => {
    keep("interrupted");
    return source?.cancel(reason);
  };
  return new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), response);
}

/** Says that an answer is the first one once more. */
const REPEATED = {
  "idempotency-replayed": "true",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

async function repeated(
  found: Exclude<RequestState, { kind: "new" }>,
  { announce }: Exchange,
  name: string,
): Promise<Response> {
  switch (found.kind) {
    case "answered": {
      // It may have a secret.
      await announce(`repeated ${name}`);
      const { status, headers, body } = found.answer;
      return new Response(body, { status, headers: { ...headers, ...REPEATED } });
    }
    case "large":
      return errorResponse(
        409,
        `this was answered with ${found.status}, and the answer was too large to be kept`,
      );
    case "running":
      return errorResponse(409, "the first request with this Idempotency-Key has no answer yet", {
        "retry-after": "1",
      });
    case "interrupted":
      return errorResponse(409, INTERRUPTED);
    case "other":
      return errorResponse(422, "this Idempotency-Key was used for another request");
    case "full":
      return errorResponse(429, "too many Idempotency-Keys within a day: send this without one, or later", {
        "retry-after": "3600",
      });
  }
}

const INTERRUPTED =
  "interrupted: svc or the connection ended before this was done. Look how far it came, then ask again with another Idempotency-Key";
