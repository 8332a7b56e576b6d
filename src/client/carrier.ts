/**
 * The seam between calling another server and the way to it: a carrier takes a request there and brings back the response.
 */

import type { ConnectionPool } from "./connection-pool";
import type { AnswerIntake } from "./intake";
import type { Refusals } from "./refusals";

/** A server that speaks the REST API. */
export interface RemoteServer {
  /** http or https, perhaps with a path, no trailing slash; of another scheme where there is a `via`. */
  readonly url: string;
  /** The bearer token: visible ASCII. */
  readonly token: string | undefined;
  readonly trust: Trust;
  /** Where a refusal of the token is remembered; then it is not sent again for a while. */
  readonly refusals?: Pick<Refusals, "has" | "add"> | undefined;
  /** Where its connection is left afterwards, and looked for before. */
  readonly kept?: Pick<ConnectionPool, "take" | "give"> | undefined;
  /** What to show to a server that asks for a certificate, PEM. */
  readonly identity?: { readonly key: string; readonly cert: string } | undefined;
  /** What makes a carrier to it, where its address is not that of an http server. */
  readonly via?: Via | undefined;
}

/** A server by the label that its host has in the address book. */
export interface LabelledServer {
  readonly label: string;
  readonly server: RemoteServer;
}

/** What gives the servers of the hosts that a selection stands for. */
export interface ServerBook {
  servers(selection: string): Promise<readonly LabelledServer[]>;
}

/**
 * Makes a carrier to the server with that address.
 *
 * @param client in whose share it counts: the named token for which it is; null for the owner.
 * @throws a {@link RemoteError}.
 */
export type Via = (url: string, signal: AbortSignal | undefined, client: string | null) => Promise<Carrier>;

/**
 * When the certificate of an https server is good: `system`, one of the usual authorities signed it for the server's name;
 * `ca`, one of these PEM certificates did; `pin`, it has one of these pins (`lib/spki.ts`), whatever its name and dates; `any`,
 * always.
 */
export type Trust =
  | { readonly kind: "system" | "any" }
  | { readonly kind: "ca"; readonly pem: string }
  | { readonly kind: "pin"; readonly pins: readonly string[] };

export interface Request {
  readonly method: "GET" | "POST";
  /** Path and query, below the address of the server. */
  readonly path: string;
  /** JSON text. */
  readonly body?: string;
  /** Not sent again when its answer is lost: the caller decides that anew. */
  readonly once?: boolean;
}

export interface Response {
  readonly status: number;
  readonly body: Uint8Array<ArrayBuffer>;
  /** When the server wants to be asked again, in seconds. */
  readonly retryAfterS?: number;
}

export interface Limits {
  /** For the response; with `answerWithinMs`, for sending the request. */
  readonly deadline: Deadline;
  /** How long the response may take once the request was sent, milliseconds. */
  readonly answerWithinMs?: number;
  /** The largest body of a response. */
  readonly maxBytes: number;
  /** Counts it as it comes. */
  readonly taking?: AnswerIntake;
}

/** The largest body of a response that is no stream, where one was asked for. */
export const MAX_REFUSAL_BYTES = 65_536;

/** A response that goes on for as long as the server likes. */
export interface ResponseStream extends Response {
  /** All of it where the status is not 200, else nothing. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Its media type, without parameters. */
  readonly type: string;
  /** What comes, as it comes; ends where the response does. @throws a {@link RemoteError}. */
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** A point in time of `performance.now()`, and how far away it was when it was set; milliseconds. */
export interface Deadline {
  readonly at: number;
  readonly ms: number;
}

export const deadlineIn = (ms: number): Deadline => ({ at: performance.now() + ms, ms });

/** A way to one server, for one request after the other. */
export interface Carrier extends Disposable {
  /** The response, whatever its status. @throws a {@link RemoteError}. */
  ask(request: Request, limits: Limits): Promise<Response>;
  /**
   * The response to a GET that may never end, whatever its status. The carrier takes no other request meanwhile.
   *
   * @param silentMs how long nothing may come, in milliseconds.
   * @throws a {@link RemoteError}.
   */
  open(path: string, deadline: Deadline, silentMs: number): Promise<ResponseStream>;
  /** The one of the pins to trust that the server's certificate had; undefined before a response, and without pins. */
  pin(): string | undefined;
}

/** Why a call to another server failed. */
export class RemoteError extends Error {
  override readonly name = "RemoteError";

  /**
   * @param fault `unreachable`: no connection, or it broke (`sent` says whether the request may have arrived); `unauthorized`: it refused the token;
   * `timeout`: a deadline passed; `cancelled`: the caller stopped waiting; `answer`: it answered, but not what was expected.
   * @param message for operators; what the server said in it is printable.
   * @param sent whether the whole request may have reached the server, which may then have acted on it.
   * @param refusal what the server answered instead of a result: the status, and the `error` of its body; its `code`, where programs are to
   *   tell it from others of that status.
   */
  constructor(
    readonly fault: "unreachable" | "unauthorized" | "timeout" | "cancelled" | "answer",
    message: string,
    readonly sent: boolean,
    readonly refusal?: { readonly status: number; readonly error: string; readonly code?: string },
  ) {
    super(message);
  }
}

/** What a {@link RemoteError} says. @throws any other error. */
export function remoteMessage(error: unknown): string {
  if (error instanceof RemoteError) return error.message;
  throw error;
}

/** The answer is not that of a svc host. */
export const notSvc = () => new RemoteError("answer", "not a svc host", true);
