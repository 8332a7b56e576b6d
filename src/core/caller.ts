/** Who asks for an operation, as the audit log and the operations themselves see them. */
import { failureOf, HTTP_STATUS } from "../lib/errors";
import { Requester } from "../lib/slots";
import type { ActedOn } from "./acted";
import { type Grant, OWNER, shareOf } from "./rights";
import type { RunContext } from "./run";
import type { TraceContext } from "./trace-context";

export interface Caller {
  /** The surface the call came through; `link`: as `rest`, over the link to the desk. */
  readonly kind: "rest" | "link" | "cli" | "script" | "scheduler" | "api";
  /** Whether this process goes on after the answer, and with it what the call has started: false for a command of a terminal. */
  readonly lasts: boolean;
  /** The client's address for `rest`, the desk's for `link`; otherwise null. */
  readonly client: string | null;
  /** What it may do. Every operation and every action of a list is checked against it. */
  readonly grant: Grant;
  /** The request that carries the call, for `rest` and `link`: what streams, relays and sockets need. Made when it is first read. */
  readonly request?: RequestContext | undefined;
  /**
   * Aborted when the caller has gone, the run was cancelled or the process is about to stop: whatever takes long ends then.
   * A client that goes ends nothing that changes something (`changes` of the operation): half a change helps nobody.
   */
  readonly signal: AbortSignal;
  /** The job of a plan that the run is; absent for any other. */
  readonly job?: JobContext;
  /** The trace to which it belongs, by the word of whoever asks; absent for none. */
  readonly trace?: TraceContext | undefined;
  /** The run that the operation is an action of; absent when it was called by itself. */
  readonly run?: RunContext;
  /** Set when nobody waits for the answer: takes the id of the run, once it is on record and has begun. */
  readonly begun?: ((runId: string) => void) | undefined;
  /**
   * Takes how far a long operation is; absent when nobody looks.
   *
   * @returns a promise where it is not handed over at once: then who has much more to hand over waits for it.
   */
  readonly progress?: (step: Progress) => unknown;
  /** Takes each message that a script logs, without secrets, as it comes; absent when nobody looks. */
  readonly logged?: ((message: string) => void) | undefined;
  /** The session of an agent (MCP) that makes the call; absent for any other. */
  readonly agent?: AgentSession | undefined;
  /** Takes what was done to what the screen shows; absent where nobody remembers it. */
  readonly acted?: ((act: ActedOn) => void) | undefined;
  /** Takes what the caller should know besides the answer; absent when nobody looks. */
  readonly warn?: ((text: string) => void) | undefined;
  /**
   * Puts on record that the call is about to change or reveal something. Resolves when the audit row is on disk.
   *
   * @param subject what will change or be revealed, for the row's `detail`; never a secret.
   * @throws an `unavailable` failure when the row cannot be written: then nothing may be changed or revealed.
   */
  announce(subject: string): Promise<void>;
  /** Puts on record that what was announced failed; absent where the surface or the run records outcomes itself. */
  recordFailure?(subject: string, error: unknown): Promise<void>;
}

/** A session of an agent. */
export interface AgentSession {
  /** What the connection or the client calls it; empty where it has none. */
  readonly key: string;
  /** What the agent calls itself: a claim. */
  readonly name: string;
}

/** An HTTP request, as an operation may use it. */
export interface RequestContext {
  /** What limits count the client by: its IPv4 address or IPv6 /64. */
  readonly clientKey?: string | undefined;
  /** What a page needs to know of encodings and ETags. */
  readonly headers?: Headers;
  /**
   * What the process says after its call, where the call came over the socket of the owner. Ends when the process has gone; throws an
   * `unavailable` failure when the server ends.
   */
  readonly more?: (() => AsyncIterable<unknown>) | undefined;
  /** Aborted when its client has gone: also while it changes something. Absent where no client waits for the answer. */
  readonly gone?: AbortSignal | undefined;
  /**
   * Callers must call it when an answer that stays open (`stream` of the route) has ended, whoever ended it: its client has
   * some seconds to read the rest.
   */
  readonly ended?: (() => void) | undefined;
  /** As `signal` of the caller, but it goes on when its client has gone, or its answer ends that stays open. */
  readonly lasting?: () => AbortSignal;
  /**
   * For what goes on after the answer: `signal` is aborted with a failure when the token of the request has been removed, replaced, has
   * expired, or allows something else. Callers must call `ended` when nobody listens any more.
   */
  readonly untilTokenEnds?: (() => { readonly signal: AbortSignal; ended(): void }) | undefined;
  /**
   * The rows of a call that the request carries, in place of the request's own. @param agent who makes it, by its own word. @param trace to
   * which it belongs, where it says so.
   */
  readonly rowsOf?: (agent: string, trace?: TraceContext) => CallRows;
  /** Of a request that is handed on to another host (`relays` of the route). */
  readonly relay?: Relay | undefined;
}

/** A job of a plan, on the host that runs it. */
export interface JobContext {
  readonly id: string;
  readonly plan: string;
  /** Whether whoever made the plan may do anything here: by the token, or by the word of the desk that this host has joined, which has signed it. */
  readonly isOfAdmin: boolean;
}

/** The rows of a call inside a request. */
export interface CallRows {
  /** As of {@link Caller}. */
  announce(subject: string): Promise<void>;
  /** Puts on record how it ended: `ok:200`, `failed:404`, `error`. Never throws. */
  ended(outcome: string, subject: string): Promise<void>;
}

/** What an operation says of a request that it hands on to another host. What it does not hand on is limited and on record here. */
export interface Relay {
  /**
   * To be called before: a token may hand on so much to each host.
   *
   * @param host its label in the address book.
   * @throws a `too_many` failure.
   */
  to(host: string): void;
  /** The request needs no row here: the other host has one. */
  recorded(): void;
}

/** Whether the call came over a network. */
export const isRemote = ({ kind }: Pick<Caller, "kind">): boolean => kind === "rest" || kind === "link";

/** A caller as one of those who wait for what several share. @param signal ends the wait (default: that of the caller). */
export const requesterOf = (
  caller: Pick<Caller, "grant" | "signal">,
  signal: AbortSignal = caller.signal,
): Requester => new Requester(shareOf(caller.grant), signal);

/** How far a long operation is. */
export interface Progress {
  /** What is counted: `rows verified`. */
  readonly what: string;
  readonly done: number;
  readonly total: number;
  /** A result that is complete, for callers that show results as they come. */
  readonly item?: unknown;
}

/** Where a caller in this process leaves its audit rows. */
export interface CallerService {
  /** Null without an audit log. */
  audit(): Promise<{
    append(
      event: {
        readonly event_type: string;
        readonly host_id: string | null;
        readonly viewer_id: string | null;
        readonly detail: string | null;
      },
      /** `quiet`: the row makes no event by itself. */
      options?: { readonly quiet?: boolean },
    ): Promise<unknown>;
  } | null>;
}

/**
 * A caller in this process: it may see what is never sent over a network, such as the token.
 *
 * @param options.grant default: the owner of the host. @param options.lasts default: unless `kind` is `cli`.
 */
export function localCaller(
  service: CallerService,
  kind: "cli" | "script" | "scheduler" | "api",
  options: Partial<Pick<Caller, "progress" | "warn" | "logged" | "grant" | "lasts">> & {
    readonly signal?: AbortSignal | undefined;
  } = {},
): Caller {
  const {
    signal = new AbortController().signal,
    progress,
    warn,
    logged,
    grant = OWNER,
    lasts = kind !== "cli",
  } = options;
  const append = async (detail: string) => {
    const audit = await service.audit();
    await audit?.append({ event_type: kind, host_id: null, viewer_id: null, detail });
  };
  return {
    kind,
    lasts,
    client: null,
    grant,
    signal,
    ...(progress && { progress }),
    warn,
    logged,
    announce: append,
    ...(kind === "cli" && {
      recordFailure(subject: string, error: unknown) {
        const failure = failureOf(error);
        return append(`${subject} -> ${failure ? `failed:${HTTP_STATUS[failure.code]}` : "error"}`);
      },
    }),
  };
}
