/**
 * Requests of a desk to a host about an upgrade.
 */
import type * as v from "valibot";
import {
  type Deadline,
  deadlineIn,
  type Limits,
  notSvc,
  RemoteError,
  type Request,
} from "../../../client/carrier";
import { carrierTo } from "../../../client/connection";
import { typed } from "../../../client/remote-call";
import { jitter, NO_EARLIER } from "../../../lib/backoff";
import { sleep } from "../../../lib/deadline";
import type { DeliverOptions, Target } from "../../../wire/job/job";
import {
  HOST_STATUS,
  type HostStatus,
  RECEIVE_ANSWER,
  RECEIVE_PATH,
  STATUS_PATH,
} from "../../../wire/release/upgrade-messages";

/** The largest answer, in bytes. */
const MAX_BYTES = 65_536;

/** How long the answer to a piece may take, in milliseconds: to the last one, the host reads the whole file. */
const PIECE_MS = 60_000;

/** The host has an svc that no desk can upgrade. */
export class TooOldError extends Error {}

/** Why a host is not upgraded that is {@link TooOldError}. */
const TOO_OLD = "its svc cannot be upgraded by a desk yet: upgrade it by hand once";

/** The host has too much to do. */
export class BusyError extends RemoteError {
  /** @param ms when it wants to be asked again, in milliseconds: whatever the host says. */
  constructor(
    status: number,
    readonly ms: number,
  ) {
    super("unreachable", `HTTP ${status}: it wants to be asked again in ${Math.ceil(ms / 1_000)} s`, true);
  }
}

/** What a desk asks one host. No connection is held between two questions. */
export interface UpgradeRequests {
  /** Asks again where the host has too much to do, while there is time. @throws {@link TooOldError}; a {@link RemoteError}, such as {@link BusyError}. */
  status(): Promise<HostStatus>;
  /** @param body JSON text. @throws a {@link RemoteError}, such as {@link BusyError}. */
  send(body: string): Promise<v.InferOutput<typeof RECEIVE_ANSWER>>;
}

/** @param withinMs how long a question may take, with all of its pauses, in milliseconds. */
export function askingOf(
  { server }: Pick<Target, "server">,
  { signal, client }: Pick<DeliverOptions, "signal" | "client">,
  withinMs: number,
): UpgradeRequests {
  /** @param begin is called once there may be a connection: time counts from then on. */
  const ask = async (request: Request, begin: () => Omit<Limits, "maxBytes">) => {
    using carrier = await carrierTo(server, signal, client);
    const response = await carrier.ask(request, { ...begin(), maxBytes: MAX_BYTES });
    const { status, retryAfterS } = response;
    if ((status === 429 || status === 503) && retryAfterS !== undefined)
      throw new BusyError(status, jitter(retryAfterS * 1_000, NO_EARLIER));
    return response;
  };
  return {
    async status() {
      for (let deadline: Deadline | undefined; ; ) {
        const begin = () => {
          deadline ??= deadlineIn(withinMs);
          return { deadline };
        };
        try {
          const response = await ask({ method: "GET", path: STATUS_PATH }, begin);
          if (NO_ROUTE.includes(response.status)) throw new TooOldError(TOO_OLD);
          return typed(HOST_STATUS, response);
        } catch (error) {
          if (!(error instanceof BusyError) || performance.now() + error.ms > (deadline?.at ?? 0))
            throw error;
          await sleep(error.ms, signal, () => new RemoteError("cancelled", "cancelled", false));
        }
      }
    },
    async send(body) {
      const request = { method: "POST", path: RECEIVE_PATH, body, once: true } as const;
      const begin = () => ({ deadline: deadlineIn(withinMs), answerWithinMs: PIECE_MS });
      return typed(RECEIVE_ANSWER, await ask(request, begin));
    },
  };
}

/** What servers answer for a route that they do not have. */
const NO_ROUTE = [404, 405, 501];

/** Whether nothing of it was said by the host itself: it may be reached again later. */
export const isOffline = ({ refusal, fault, message }: RemoteError): boolean =>
  refusal === undefined && fault !== "unauthorized" && message !== notSvc().message;
