/**
 * From the counters of a connection to link statistics.
 */
import type { LinkSample } from "../core/records";
import type { LinkCounters } from "./protocol";

/** Counters and when they were read, milliseconds of a clock that only goes forward. */
export type LinkReading = LinkCounters & { readonly at: number };

/**
 * The statistics between two readings. A counter that went back is a gap, and so is a first reading: the rate is then
 * not measured. The bitrate is of both directions together; what a session without media cannot measure is null.
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
