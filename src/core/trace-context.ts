/**
 * W3C trace context (https://www.w3.org/TR/trace-context/): which trace a request or a run belongs to, and below which span of it.
 *
 * It decides nothing and is nobody's right: it says only what belongs together.
 */
import type { AsyncLocalStorage } from "node:async_hooks";

/** A place in a trace. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** 16 of them. */
  readonly spanId: string;
  /** 2 of them; `01`: whoever began the trace records it. */
  readonly flags: string;
}

/** Of version 00; a later version begins in the same way, and `ff` is none. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** What a `traceparent` says; undefined for anything that is none, which counts as if it were not there. */
export function parseTraceparent(text: unknown): TraceContext | undefined {
  if (typeof text !== "string" || text.length > 200) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = TRACEPARENT.exec(text.trim()) ?? [];
  const isFit = version !== undefined && !(version === "00" && more !== undefined);
  return isFit && /[1-9a-f]/.test(traceId) && /[1-9a-f]/.test(spanId)
    ? { traceId, spanId, flags }
    : undefined;
}

export const traceparentOf = ({ traceId, spanId, flags }: TraceContext): string =>
  `00-${traceId}-${spanId}-${flags}`;

/** A new span below `parent`; without one, of a new trace. */
export const childOf = (parent: TraceContext | undefined): TraceContext => ({
  traceId: parent?.traceId ?? randomHex(16),
  spanId: randomHex(8),
  flags: parent?.flags ?? "01",
});

const randomHex = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes)).toHex();

/** What is under way, and below which span. What it leaves behind, such as a timer, has none once it is over. */
interface Work {
  readonly context: TraceContext;
  isOver: boolean;
}

let storage: AsyncLocalStorage<Work> | undefined;

/** Does `work`: the requests to other hosts that it makes until it has ended are below `context`. */
export function withTrace<T>(context: TraceContext | undefined, work: () => T): T {
  if (!context) return work();
  storage ??= new (process.getBuiltinModule("node:async_hooks").AsyncLocalStorage)<Work>();
  const one: Work = { context, isOver: false };
  const over = () => {
    one.isOver = true;
  };
  const result = storage.run(one, work);
  if (result instanceof Promise) result.then(over, over);
  else over();
  return result;
}

/** The `traceparent` of a request that is made now to another host; undefined where nothing that is traced makes it. */
export function outgoingTraceparent(): string | undefined {
  const work = storage?.getStore();
  return work && !work.isOver ? traceparentOf(work.context) : undefined;
}
