/**
 * From the counters of a connection to link statistics.
 */
import type { LinkSample } from "../core/records";
import type { LinkCounters } from "./protocol";

/** Counters and when they were read, in milliseconds of a monotonic clock. */
export type LinkReading = LinkCounters & { readonly at: number };

/**
 * The statistics between two readings. After a first reading, or a counter that decreased, the bitrate is null. It is the
 * sum of both directions. What a session without media cannot measure is null.
 */
export function linkSample(previous: LinkReading | null, current: LinkReading): LinkSample {
  const sent = previous && current.bytesSent - previous.bytesSent;
  const received = previous && current.bytesReceived - previous.bytesReceived;
  const seconds = previous ? (current.at - previous.at) / 1_000 : 0;
  const measured = sent !== null && received !== null && sent >= 0 && received >= 0 && seconds > 0;
  return {
    rtt_ms: current.rttMs,
    fps: null,
    bitrate_kbps: measured ? ((sent + received) * 8) / 1_000 / seconds : null,
    packet_loss_pct: null,
    jitter_ms: null,
  };
}
