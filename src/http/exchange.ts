/**
 * A request on its way to its answer. It passes steps, each one concern in a file of its own; `app.ts` has their order.
 */
import type { HonoRequest } from "hono";
import type { Caller, Relay, RequestContext } from "../core/caller";
import type { Grant } from "../core/rights";
import { parseTraceparent, type TraceContext } from "../core/trace-context";
import type { Client } from "./client-address";
import type { Refusal } from "./gate";
import type { Route } from "./route";

/** A response; not a promise where it is ready, so that nobody waits for a turn of the event loop. */
export type Answer = Response | Promise<Response>;
export type Handler = (exchange: Exchange) => Answer;

/** A step answers a request itself, or hands it to the next step and may look at the answer. */
export type Step = (next: Handler) => Handler;

/** The steps as one handler: the first step gets the request first and the answer last. */
export const chain = (steps: readonly Step[], last: Handler): Handler =>
  steps.reduceRight((next, step) => step(next), last);

/** A step that requests pass for which `applies` holds; the others skip it. */
export const where =
  (applies: (exchange: Exchange) => boolean, step: Step): Step =>
  (next) => {
    const through = step(next);
    return (exchange) => (applies(exchange) ? through(exchange) : next(exchange));
  };

/** `next` of a value, at once where it is not a promise. */
export function after<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** What a request needs of the listener that it came to. */
export type Listener = Pick<Bun.Server<unknown>, "timeout" | "requestIP" | "upgrade">;

/** How a request gets in that came over the link to the desk, or over NATS. */
export interface LinkEntry {
  /** Which of both, as rows show it. */
  readonly via: "link" | "nats";
  /** The desk, as limits and rows show it. */
  readonly client: Client;
  /** What the desk may do now; undefined where its token is not in force. */
  grant(): Grant | undefined;
}

const noRecord = async () => {};
const NO_ROWS = { announce: noRecord, ended: noRecord };

/** One request, and what the steps found out about it. */
export class Exchange {
  /** Milliseconds of a clock that only goes forward. */
  readonly started = performance.now();
  /** Null on a public route, which counts nobody's requests. */
  client: Client | null = null;
  /** The other end of its connection; null where {@link client} is. */
  peer: { readonly address: string; readonly port: number } | null = null;
  /** What its token allows, once it has passed the gate. */
  grant: Grant | null = null;
  /** Why it did not get as far as its route. */
  refusal: Refusal | null = null;
  /** Puts a change on record; a public route changes nothing. */
  announce: Caller["announce"] = noRecord;
  /** What its operation says of it as it hands it on (`relays` of the route); null elsewhere. */
  relay: Relay | null = null;
  /** Whether it needs no row, as another host has one. */
  isElsewhere = false;
  /** What the host lacks that it asks for, where that is no fault of the server; null for nothing. */
  lacks: "screen" | null = null;
  /** Who makes the call that it carries, by its own word; null for what is no such call. That has rows of its own. */
  agent: string | null = null;
  /** The trace to which it belongs, as its `traceparent` says. */
  trace: TraceContext | undefined;
  rowsOf: NonNullable<RequestContext["rowsOf"]> = () => NO_ROWS;

  constructor(
    readonly request: HonoRequest,
    readonly server: Listener,
    readonly route: Route,
    /** Set where it came over the link to the desk. */
    readonly link: LinkEntry | null = null,
  ) {
    this.trace = parseTraceparent(request.raw.headers.get("traceparent"));
  }
}
