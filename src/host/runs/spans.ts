/**
 * Runs as spans of OpenTelemetry: a span for each run and its actions, posted as OTLP/JSON
 * (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
 *
 * The promise: no run waits for it, fails by it or is slowed down by it. What a collector does not take waits in a bounded queue; what has
 * no room there is dropped, and counted. No span has arguments or results of actions.
 */
import { hostname } from "node:os";
import { doubled, jitter } from "../../lib/backoff";
import { resolvesWithin } from "../../lib/deadline";
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { orElse } from "../../lib/or-else";
import { printable } from "../../lib/sanitize";
import { version } from "../../version";
import type { BeginSpan } from "./executor-parts";

/** The most spans that wait, that one request has, and that a run has for its actions. */
const MAX_WAITING = 4_096;
const MAX_BATCH = 512;
const MAX_STEPS = 500;

/** How long spans wait for others, a request may take, and the last one at the end, in milliseconds. */
const COLLECT_MS = 2_000;
const POST_MS = 10_000;
const LAST_MS = 2_000;

const PAUSES = { firstMs: 2_000, longestMs: 60_000 };

/** Statuses after which a request is sent again (OTLP, "Retryable response codes"). */
const AGAIN = [429, 502, 503, 504];

/** Longest text of an attribute, in characters. */
const MAX_TEXT = 500;

type Span = ReturnType<typeof spanOf>;

/** What posts spans. */
export interface SpanExporter {
  readonly begin: BeginSpan;
  counts(): { readonly sent: number; readonly dropped: number };
  /** Posts what waits, once, and ends. */
  stop(): Promise<void>;
}

/** @param url of the collector; without a path, `/v1/traces` there. @param headers besides the usual ones, such as a key. */
export function createSpanExporter(
  url: string,
  log: Log,
  { headers = {}, collectMs = COLLECT_MS, waiting: most = MAX_WAITING } = {} as {
    readonly headers?: Readonly<Record<string, string>>;
    readonly collectMs?: number;
    readonly waiting?: number;
  },
): SpanExporter {
  const target = endpointOf(url);
  const waiting: Span[] = [];
  const counted = { sent: 0, dropped: 0 };
  let timer: Timer | undefined;
  let posting: Promise<void> | undefined;
  let failures = 0;
  let isOver = false;

  const add = (span: Span) => {
    if (isOver || waiting.length >= most) counted.dropped++;
    else waiting.push(span);
    if (!posting && !isOver) timer ??= later(waiting.length >= MAX_BATCH ? 0 : collectMs);
  };
  const later = (ms: number) => setTimeout(begin, ms).unref();
  const begin = () => {
    timer = undefined;
    posting = post(POST_MS).finally(() => {
      posting = undefined;
      if (waiting.length === 0 || isOver) return;
      timer ??= later(failures > 0 ? jitter(doubled(PAUSES, failures - 1)) : 0);
    });
  };
  /** Posts the oldest; they stay where they may be posted again. Never rejects. */
  const post = async (ms: number): Promise<void> => {
    const batch = waiting.slice(0, MAX_BATCH);
    if (batch.length === 0) return;
    const outcome = await send(target, headers, batch, ms);
    if (outcome.again) {
      if (failures++ === 0) log.warn(`traces for ${target.host} wait: ${outcome.fault}`);
      return;
    }
    waiting.splice(0, batch.length);
    counted[outcome.fault === undefined ? "sent" : "dropped"] += batch.length;
    if (outcome.fault !== undefined)
      log.warn(`traces: ${target.host} refuses ${batch.length} spans: ${outcome.fault}`);
    else if (failures > 0) log.info(`traces go to ${target.host} again`);
    failures = 0;
  };

  return {
    begin: (run) => runSpan(run, add, () => counted.dropped++),
    counts: () => ({ ...counted }),
    async stop() {
      isOver = true;
      clearTimeout(timer);
      // A collector that hangs holds up the end no longer than one that answers late.
      if (!posting || (await resolvesWithin(LAST_MS, posting))) await post(LAST_MS);
      counted.dropped += waiting.length;
      waiting.length = 0;
    },
  };
}

/** @param add takes each span that has ended. @param drop counts one that is left out. */
function runSpan(
  run: Parameters<BeginSpan>[0],
  add: (span: Span) => void,
  drop: () => void,
): ReturnType<BeginSpan> {
  const { context, parent } = run;
  const { traceId, spanId } = context;
  const clock = createClock();
  const started = clock();
  let steps = 0;
  return {
    step(command, place) {
      if (++steps > MAX_STEPS) return void drop();
      const at = clock();
      const id = crypto.getRandomValues(new Uint8Array(8)).toHex();
      return (error) =>
        add(
          spanOf({
            traceId,
            spanId: id,
            parentSpanId: spanId,
            name: command,
            started: at,
            ended: clock(),
            attributes: { "svc.command": command, "svc.place": place },
            error,
          }),
        );
    },
    end(status, error) {
      const { run_id, source_type, source_id, token, script_path, commands } = run;
      const attributes = {
        "svc.run_id": run_id,
        "svc.source": source_type,
        "svc.source_id": source_id,
        "svc.status": status,
        "svc.script": script_path,
        "svc.commands": commands.join(","),
        ...(token !== null && { "svc.token": token }),
        ...(steps > MAX_STEPS && { "svc.actions_left_out": `${steps - MAX_STEPS}` }),
      };
      add(
        spanOf({
          traceId,
          spanId,
          parentSpanId: parent?.spanId,
          name: script_path || "svc run",
          started,
          ended: clock(),
          attributes,
          error: status === "ok" ? null : (error ?? status),
          kind: 2,
        }),
      );
    },
  };
}

/** Nanoseconds since 1970, of a clock that goes forward from now on. */
function createClock(): () => bigint {
  const [wall, steady] = [Date.now(), performance.now()];
  return () => BigInt(wall) * 1_000_000n + BigInt(Math.round((performance.now() - steady) * 1e6));
}

/** @param of.kind as of OTLP: 1 internal, 2 server. */
function spanOf(of: {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly started: bigint;
  readonly ended: bigint;
  readonly attributes: Readonly<Record<string, string>>;
  readonly error: string | null;
  readonly kind?: 1 | 2;
}) {
  const { traceId, spanId, parentSpanId, name, started, ended, error, kind = 1 } = of;
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name: printable(name, MAX_TEXT),
    kind,
    startTimeUnixNano: `${started}`,
    endTimeUnixNano: `${ended}`,
    attributes: attributesOf(of.attributes),
    status: error === null ? { code: 1 } : { code: 2, message: printable(error, MAX_TEXT) },
  };
}

const attributesOf = (attributes: Readonly<Record<string, string>>) =>
  Object.entries(attributes)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => ({ key, value: { stringValue: printable(value, MAX_TEXT) } }));

/** Never rejects. `again`: whether the same may be sent again; `fault`: why it was not taken. */
async function send(
  target: URL,
  headers: Readonly<Record<string, string>>,
  spans: readonly Span[],
  ms: number,
): Promise<{ readonly again: boolean; readonly fault?: string }> {
  const resource = { "service.name": "svc", "service.version": version, "host.name": hostname() };
  const body = JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: "svc", version }, spans }],
      },
    ],
  });
  try {
    const { status } = await fetch(target, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(ms),
    });
    if (status >= 200 && status < 300) return { again: false };
    return { again: AGAIN.includes(status), fault: `HTTP ${status}` };
  } catch (error) {
    return { again: true, fault: printable(messageOf(error), MAX_TEXT) };
  }
}

function endpointOf(url: string): URL {
  const target = new URL(url);
  if (target.pathname === "/") target.pathname = "/v1/traces";
  return target;
}

/** The headers in `OTEL_EXPORTER_OTLP_HEADERS`: `name=value`, separated by commas, percent-encoded. */
export const headersIn = (text = ""): Record<string, string> =>
  Object.fromEntries(
    text.split(",").flatMap((one) => {
      const [, name, value] = /^\s*([\w.!#$%&'*+^`|~-]+)\s*=(.*)$/.exec(one) ?? [];
      if (name === undefined || value === undefined) return [];
      return orElse(() => [[name, decodeURIComponent(value.trim())]], []);
    }),
  );
