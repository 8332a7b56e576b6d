/**
 * How the stream of one viewer does: frames and bytes, and the round trips of fences.
 */
import type { ViewerStats } from "../calls";
import { BLOCK_BEFORE, FENCE_REQUEST, fence } from "./server-messages";

/** RFC 3550, section 6.4.1: the gain of the smoothed jitter. */
const JITTER_GAIN = 1 / 16;

/** How many updates may be on their way before the viewer has answered the fence of the first. */
const MAX_OUTSTANDING = 8;
/** How many fences are remembered of a viewer that answers none. */
const MAX_SENT = 64;
/** What waits on the way, in milliseconds beyond the shortest round trip; each halves how many updates may be on their way. */
const QUEUED_MS = [50, 100, 200];
/** How many round trips the shortest is one of: another way may be longer. */
const REMEMBERED = 32;

/** What was measured within some time. */
type StreamFigures = Pick<
  ViewerStats,
  "fps" | "bitrate_kbps" | "rtt_ms" | "jitter_ms" | "loss_pct" | "bytes_sent"
>;

/** The gauge of the way to one viewer. */
export interface Gauge {
  sent(count: number): void;
  /** Counts an update with pixels. */
  frame(): void;
  /** How many fences are unanswered. */
  outstanding(): number;
  /**
   * How many may be unanswered. On a slow way, and to a viewer that is slow itself, less is sent, and not later: what waits
   * there is as late as it is much.
   */
  window(): number;
  /** The next fence, which asks for an answer. */
  fence(): Buffer;
  /** An answer; one to a fence that is not unanswered counts for nothing. */
  answered(payload: Uint8Array): void;
  /** What there was since the last call. */
  read(): StreamFigures;
}

/** @param clock the time, in milliseconds. */
export function createGauge(clock = () => performance.now()): Gauge {
  /** Fences that were not answered, the oldest first. */
  let sent: Array<{ readonly id: number; readonly at: number; readonly isAlone: boolean }> = [];
  let lastId = 0;
  let roundTrip: number | null = null;
  let jitter: number | null = null;
  /** Round trips of fences with nothing on the way before them: the others have also waited for the viewer. */
  const recent: number[] = [];
  let since = clock();
  let [frames, bytes, total] = [0, 0, 0];

  return {
    sent(count) {
      bytes += count;
      total += count;
    },
    frame() {
      frames += 1;
    },
    outstanding: () => sent.length,
    window() {
      const queued = (roundTrip ?? 0) - Math.min(...recent);
      return QUEUED_MS.reduce((most, ms) => (queued > ms ? most / 2 : most), MAX_OUTSTANDING);
    },
    fence() {
      lastId += 1;
      sent.push({ id: lastId, at: clock(), isAlone: sent.length === 0 });
      if (sent.length > MAX_SENT) sent.shift();
      const payload = Buffer.alloc(4);
      payload.writeUInt32BE(lastId);
      return fence(BLOCK_BEFORE | FENCE_REQUEST, payload);
    },
    answered(payload) {
      if (payload.length !== 4) return;
      const id = Buffer.from(payload).readUInt32BE(0);
      const found = sent.find((one) => one.id === id);
      if (!found) return;
      sent = sent.filter((one) => one.id > id);
      const time = clock() - found.at;
      if (roundTrip !== null)
        jitter = (jitter ?? 0) + (Math.abs(time - roundTrip) - (jitter ?? 0)) * JITTER_GAIN;
      roundTrip = time;
      if (found.isAlone) recent.push(time);
      if (recent.length > REMEMBERED) recent.shift();
    },
    read() {
      const now = clock();
      const seconds = Math.max(0.001, (now - since) / 1_000);
      const figures = {
        fps: round(frames / seconds),
        bitrate_kbps: round((bytes * 8) / 1_000 / seconds),
        rtt_ms: roundTrip === null ? null : round(roundTrip),
        jitter_ms: jitter === null ? null : round(jitter),
        loss_pct: null,
        bytes_sent: total,
      };
      since = now;
      frames = bytes = 0;
      return figures;
    },
  };
}

const round = (value: number) => Math.round(value * 10) / 10;
