/**
 * Requests of a desk to a host about an upgrade.
 */
import type * as v from "valibot";
import { typed } from "../../client/call";
import {
  type Carrier,
  deadlineIn,
  type RemoteError,
  type Request,
  type Response,
} from "../../client/carrier";
import { carrierTo } from "../../client/connection";
import { sleep } from "../../lib/deadline";
import type { DeliverOptions, Target } from "../job/job";
import { HOST_STATUS, type HostStatus, RECEIVE_ANSWER, RECEIVE_PATH, STATUS_PATH } from "./host";

/** The largest answer, in bytes. */
const MAX_BYTES = 65_536;

/** How long the answer to a piece may take, in milliseconds: to the last one, the host reads the whole file. */
const PIECE_MS = 60_000;

/** How often in a row a host may want to be asked later: its requests in a minute are limited. */
const MAX_WAITS = 10;

/** The host has an svc that no desk can upgrade. */
export class TooOld extends Error {}

/** Why a host is not upgraded that is {@link TooOld}. */
export const TOO_OLD = "its svc cannot be upgraded by a desk yet: upgrade it by hand once";

/** Ways to one host, for one request after the other. */
export interface Asking extends Disposable {
  /** @throws {@link TooOld}; a {@link RemoteError}. */
  status(): Promise<HostStatus>;
  /** @param body JSON text. @throws a {@link RemoteError}. */
  send(body: string): Promise<v.InferOutput<typeof RECEIVE_ANSWER>>;
}

/**
 * A way to the host, which is made anew after an error.
 *
 * @param withinMs how long a question may take, in milliseconds.
 */
export function askingOf(
  { server }: Pick<Target, "server">,
  { signal, client }: Pick<DeliverOptions, "signal" | "client">,
  withinMs: number,
): Asking {
  let carrier: Carrier | undefined;
  const close = () => {
    carrier?.[Symbol.dispose]();
    carrier = undefined;
  };
  const ask = async (request: Request, answerWithinMs?: number): Promise<Response> => {
    try {
      carrier ??= await carrierTo(server, signal, client);
      for (let waits = 0; ; waits++) {
        const limits = {
          ...{ deadline: deadlineIn(withinMs), maxBytes: MAX_BYTES },
          ...(answerWithinMs !== undefined && { answerWithinMs }),
        };
        const response = await carrier.ask(request, limits);
        const { status, retryAfterS } = response;
        const isBusy = (status === 429 || status === 503) && retryAfterS !== undefined;
        if (!isBusy || waits === MAX_WAITS) return response;
        await sleep(retryAfterS * 1_000 * (1 + Math.random() / 4), signal);
      }
    } catch (error) {
      close();
      throw error;
    }
  };
  return {
    async status() {
      const response = await ask({ method: "GET", path: STATUS_PATH });
      if (NO_ROUTE.includes(response.status)) throw new TooOld(TOO_OLD);
      return typed(HOST_STATUS, response);
    },
    async send(body) {
      const response = await ask({ method: "POST", path: RECEIVE_PATH, body, once: true }, PIECE_MS);
      return typed(RECEIVE_ANSWER, response);
    },
    [Symbol.dispose]: close,
  };
}

/** What servers answer for a route that they do not have. */
const NO_ROUTE = [404, 405, 501];

/** Whether nothing of it was said by the host itself: it may be reached again later. */
export const isOffline = ({ refusal, fault }: RemoteError): boolean =>
  refusal === undefined && fault !== "unauthorized";
