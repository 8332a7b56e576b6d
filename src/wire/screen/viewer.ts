/** A viewer of the live screen as it is shown. */
import * as v from "valibot";

/** How its stream travels. */
const CARRIERS = ["websocket", "channel", "proxy"] as const;
export type CarrierKind = (typeof CARRIERS)[number];

/** The stream of the last second; a number that is not known is null. */
const STREAM = v.object({
  fps: v.number(),
  bitrate_kbps: v.number(),
  rtt_ms: v.nullable(v.number()),
  jitter_ms: v.nullable(v.number()),
  loss_pct: v.nullable(v.number()),
});

export const VIEWER = v.object({
  id: v.string(),
  /** The token and the address. */
  name: v.string(),
  /** Null for the host's own. */
  token: v.nullable(v.string()),
  client: v.nullable(v.string()),
  carrier: v.picklist(CARRIERS),
  /** How the stream gets there, where the carrier says. */
  route: v.nullable(v.string()),
  since: v.string(),
  /** `waiting`: for an approval, or for its stream to begin. */
  state: v.picklist(["waiting", "open"]),
  /** Whether it uses pointer and keyboard, and whether it waits for them. */
  control: v.boolean(),
  wants_control: v.boolean(),
  /** What it waits for a person to allow; null where it waits for nobody. */
  approval_id: v.nullable(v.string()),
  stats: v.nullable(STREAM),
});

export type ViewerView = v.InferOutput<typeof VIEWER>;

/** Why the stream of a viewer ended: codes of a WebSocket (RFC 6455 section 7.4.2 leaves these to applications). */
export const CLOSE = {
  /** The stream broke, or the screen could not be shown: a viewer may come again by itself. */
  broken: 1_011,
  /** Its client has gone, or the server stops. */
  gone: 1_001,
  ended: 4_001,
  denied: 4_002,
  expired: 4_003,
  full: 4_004,
  token: 4_006,
  /** Its client sends text, or more than is taken: it would do so again. */
  misused: 4_007,
} as const;

/** How a viewer ended. */
export interface Ending {
  readonly code: number;
  readonly reason: string;
}
