/**
 * Asking a host of the address book for a caller of this desk, who gets the answer.
 *
 * Promises. It counts in the share of the caller's token, and ends once the caller has gone. A failure names the host.
 */
import type * as v from "valibot";
import type { Caller } from "../core/caller";
import type { Endpoint, InputSchema, OutputSchema } from "../core/operation";
import { shareOf } from "../core/rights";
import { Failure, timedOut, unavailable } from "../lib/errors";
import { printable } from "../lib/sanitize";
import { deadlineIn, type LabelledServer, RemoteError, type Response } from "./carrier";
import { carrierTo } from "./connection";
import { bodyOf, callRemote, failureIn } from "./remote-call";

/** The largest answer at an endpoint, in bytes: a session description, or who watches a screen, has a fraction of it. */
const MAX_ANSWER_BYTES = 262_144;

type RequestCaller = Pick<Caller, "grant" | "request" | "signal">;

/**
 * The answer of the host at `endpoint`.
 *
 * @param ms how long it may take, in milliseconds. @param maxBytes the largest answer.
 * @throws the failure that the host answers with; `timeout`, or `unavailable` where it cannot be reached.
 */
export function callHost<I extends InputSchema, O extends OutputSchema>(
  { label, server }: LabelledServer,
  endpoint: Endpoint<I, O>,
  input: v.InferInput<I>,
  caller: RequestCaller,
  ms: number,
  maxBytes = MAX_ANSWER_BYTES,
): Promise<v.InferOutput<O>> {
  return askHostFor(label, caller, (signal, client) =>
    callRemote(server, endpoint, input, ms, signal, client, maxBytes),
  );
}

/**
 * What `ask` resolves with, which calls the host with that label.
 *
 * @throws the failure that the host answers with; `timeout`, or `unavailable` where it cannot be reached; what else `ask` throws.
 */
export function askHostFor<T>(
  label: string,
  caller: RequestCaller,
  ask: (signal: AbortSignal, client: string | null) => Promise<T>,
): Promise<T> {
  return answered(caller, ask, (error) => {
    const refused = failureIn(error);
    return refused ? new Failure(refused.code, said(label, refused.message)) : noAnswer(label, error);
  });
}

/**
 * The answer of the host to a GET that a client repeats: its status is 200, or 304 where that was asked for.
 *
 * @param how.ms how long it may take, in milliseconds. @param how.maxBytes the largest answer.
 * @param how.mayBeSame whether `path` has a condition, by which nothing is sent that is still the same.
 * @throws `timeout` or `unavailable`, also where the host refuses: the client would take a 429 or 403 for one of this desk.
 */
export function getFromHost(
  { label, server }: LabelledServer,
  path: string,
  { ms, maxBytes, mayBeSame = false }: { ms: number; maxBytes: number; mayBeSame?: boolean },
  caller: RequestCaller,
): Promise<Response> {
  const ask = async (signal: AbortSignal, client: string | null) => {
    using carrier = await carrierTo(server, signal, client);
    const answer = await carrier.ask({ method: "GET", path }, { deadline: deadlineIn(ms), maxBytes });
    if (answer.status !== 200 && !(mayBeSame && answer.status === 304)) bodyOf(answer);
    return answer;
  };
  return answered(caller, ask, (error) => noAnswer(label, error));
}

async function answered<T>(
  { grant, request, signal }: RequestCaller,
  ask: (signal: AbortSignal, client: string | null) => Promise<T>,
  failure: (error: RemoteError) => Failure,
): Promise<T> {
  const gone = request?.gone;
  try {
    return await ask(gone ? AbortSignal.any([gone, signal]) : signal, shareOf(grant));
  } catch (error) {
    throw error instanceof RemoteError ? failure(error) : error;
  }
}

const noAnswer = (label: string, { fault, message }: RemoteError): Failure =>
  (fault === "timeout" ? timedOut : unavailable)(said(label, message));

const said = (label: string, message: string) => `${printable(label, 130)}: ${printable(message, 300)}`;
