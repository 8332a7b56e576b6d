/**
 * How long what the black box keeps stays, and how much of it: as this server says, else as the one that kept it did.
 */
import { messageOf } from "../../../../lib/errors";
import type { Log } from "../../../../lib/log";
import { orElse } from "../../../../lib/or-else";
import { printable } from "../../../../lib/sanitize";
import type { BoxSettings } from "./calls";
import { type BoxLimits, keepLimits, limitsIn } from "./limits";
import { dropSegments, type Segment, segmentsIn } from "./segments";

/** How often what is too old is removed, in milliseconds. */
const DROP_MS = 15_000;
/** How long what is kept for a failure stays where the black box is off, in milliseconds: the longest span. */
const KEPT_OFF_MS = 7 * 86_400_000;

/** What it needs of the service. */
export interface RetentionParts {
  /** `{config_dir}/black-box`. */
  readonly folder: string;
  /** Undefined where this process keeps none: then it only reads. */
  readonly settings: BoxSettings | undefined;
  readonly log: Log;
}

/** Removes what is too old. */
export class Retention {
  #dropping: Timer | undefined;

  constructor(private readonly parts: RetentionParts) {}

  /** Begins, where there is something to remove. @returns as {@link until}, of now. */
  start(): string | null {
    const { settings } = this.parts;
    if (settings) this.#keepLimits();
    this.#drop();
    const left = this.#leftNow();
    if (settings || left !== null) {
      this.#dropping ??= setInterval(() => this.#drop(), DROP_MS);
      this.#dropping.unref();
    }
    return left;
  }

  stop(): void {
    clearInterval(this.#dropping);
  }

  /** Where the black box is off: when the last of these will have gone, ISO 8601; null where there is none, or it is on. */
  until(all: readonly Segment[]): string | null {
    if (this.parts.settings || all.length === 0) return null;
    const { span_ms } = this.#limits();
    const ends = all.map(({ end, isKept }) => end + (isKept ? Math.max(KEPT_OFF_MS, span_ms) : span_ms));
    return new Date(Math.max(...ends)).toISOString();
  }

  #limits(): BoxLimits {
    const { folder, settings } = this.parts;
    return settings ? { span_ms: settings.spanMs, max_bytes: settings.maxBytes } : limitsIn(folder);
  }

  /** Writes down how long it may stay, for a server that starts without `--black-box`. */
  #keepLimits(): void {
    const { folder, log } = this.parts;
    try {
      keepLimits(folder, this.#limits());
    } catch (error) {
      log.warn(
        `the black box cannot write down how long it keeps what it has: ${printable(messageOf(error), 500)}`,
      );
    }
  }

  #drop(): void {
    const { folder, settings, log } = this.parts;
    try {
      const { span_ms, max_bytes } = this.#limits();
      const now = Date.now();
      const kept = settings ? {} : { oldestKept: now - KEPT_OFF_MS };
      dropSegments(folder, { oldest: now - span_ms, maxBytes: max_bytes, ...kept });
      if (!settings && segmentsIn(folder).length === 0) clearInterval(this.#dropping);
    } catch (error) {
      log.warn(`the black box cannot remove what is too old: ${printable(messageOf(error), 500)}`);
    }
  }

  /** Null also where that cannot be seen, which keeps no server from starting: {@link #drop} has said why. */
  #leftNow(): string | null {
    const { settings, folder } = this.parts;
    return settings ? null : orElse(() => this.until(segmentsIn(folder)), null);
  }
}
