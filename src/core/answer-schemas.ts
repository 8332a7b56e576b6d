/**
 * Records that several features answer with: each schema once, and the type that follows from it.
 */
import * as v from "valibot";

/** What became of a request for each host: `entries` where it went well. */
export const perHost = <E extends v.ObjectEntries>(entries: E) =>
  v.array(
    v.variant("ok", [
      v.object({ label: v.string(), ok: v.literal(true), ...entries }),
      v.object({ label: v.string(), ok: v.literal(false), error: v.string() }),
    ]),
  );

/** The metrics of a link, in the order in which they are shown. */
export const LINK_METRICS = ["rtt_ms", "fps", "bitrate_kbps", "packet_loss_pct", "jitter_ms"] as const;
export type LinkMetric = (typeof LINK_METRICS)[number];

const measured = (max: number, description: string) =>
  v.pipe(
    v.optional(v.nullable(v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(max))), null),
    v.description(description),
  );

/** One reading of a link; a metric that was not measured is null or left out. */
export const LINK_SAMPLE = v.strictObject({
  rtt_ms: measured(1e9, "Round-trip time, milliseconds"),
  fps: measured(1e6, "Frames a second"),
  bitrate_kbps: measured(1e9, "Kilobits a second, received"),
  packet_loss_pct: measured(100, "Packets lost, per cent"),
  jitter_ms: measured(1e9, "Inter-arrival jitter, milliseconds (RFC 3550 section 6.4.1)"),
});

export type LinkSample = v.InferOutput<typeof LINK_SAMPLE>;

/** The statistics of one metric; all null when it was never measured. */
const METRIC_SUMMARY = v.object(
  v.entriesFromList(["last", "min", "max", "avg", "p95"], v.nullable(v.number())),
);

/** The statistics of all samples in the inspector's window. */
export const LINK_SUMMARY = v.object({
  sample_count: v.number(),
  /** From the oldest sample to the newest. */
  window_seconds: v.number(),
  /** Empty when the window is. */
  metrics: v.partial(v.object(v.entriesFromList(LINK_METRICS, METRIC_SUMMARY))),
});

/** A peer session; null for what is not known yet. */
export const SESSION = v.object({
  id: v.string(),
  role: v.picklist(["host", "viewer"]),
  /** What it is for. Hosts of 0.1.0 do not send it. */
  kind: v.optional(v.picklist(["files", "screen"]), "files"),
  peer: v.string(),
  /** The token that opened it; null for the owner's. Hosts of 0.1.0 do not send it. */
  token: v.optional(v.nullable(v.string()), null),
  state: v.picklist(["connecting", "open", "closed"]),
  since: v.string(),
  route: v.nullable(v.string()),
  rtt_ms: v.nullable(v.number()),
  bytes_sent: v.number(),
  bytes_received: v.number(),
  files_received: v.number(),
});

/** The peer sessions: `host`, those that others opened to this host; `viewer`, those that it opened to others. */
export const SESSIONS = v.object({
  host: v.object({
    running: v.boolean(),
    port: v.number(),
    connected_clients: v.number(),
    host_id: v.nullable(v.string()),
  }),
  viewer: v.object({ connected: v.boolean(), host_id: v.nullable(v.string()) }),
  // Hosts of other makers send the two above only.
  sessions: v.optional(v.array(SESSION), []),
});

export type SessionList = v.InferOutput<typeof SESSIONS>;

/** Requests since the server's service was made. */
export const REQUEST_TOTALS = v.object({
  total: v.number(),
  client_errors: v.number(),
  server_errors: v.number(),
  /** Requests with a wrong or malformed token, also among `client_errors`. */
  failed_auth: v.number(),
});

export type RequestTotals = v.InferOutput<typeof REQUEST_TOTALS>;
