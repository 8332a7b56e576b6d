/**
 * The inspector: a rolling window of link statistics and their summary.
 *
 * A metric that a sample did not measure is null and left out of every statistic; an impossible number is refused, not
 * corrected. The window has a fixed number of samples, so memory and the cost of a summary are bounded.
 */
import * as v from "valibot";
import { LINK_METRICS, LINK_SAMPLE, type LinkMetric, type LinkSample } from "../../core/answer-schemas";
import { type Publish, unheard } from "../../core/events";
import { parseInput } from "../../core/input";
import { atMost } from "../../lib/at-most";
import { inspectorReset, inspectorSampled } from "./events";

/** Samples in the window by default: ten minutes at one a second. */
export const DEFAULT_CAPACITY = 600;

/** The time between two events about new samples at least, in milliseconds. */
const EVENT_MS = 1_000;

/** A sample in an answer: `age_seconds` counts back from the newest sample of the same answer. */
export const TIMED_SAMPLE = v.object({ age_seconds: v.number(), ...LINK_SAMPLE.entries });

type TimedSample = v.InferOutput<typeof TIMED_SAMPLE>;

/** The statistics of one metric; null where no sample has measured it. */
interface MetricSummary {
  last: number | null;
  min: number | null;
  max: number | null;
  avg: number | null;
  p95: number | null;
}

interface WindowSummary {
  sample_count: number;
  window_seconds: number;
  metrics: Record<string, MetricSummary>;
}

interface Sample {
  readonly at: number;
  readonly session: string | null;
  readonly stats: LinkSample;
}

/** The window of samples of links. */
export interface Inspector {
  /**
   * Adds a sample, of the session it belongs to if any, taken `ageSeconds` ago.
   *
   * @throws a `bad_input` failure that names the impossible values.
   */
  record(sample: LinkSample, session?: string | null, ageSeconds?: number): void;
  /** The newest `n` samples, oldest first; of one session, if given. */
  recent(n: number, session?: string): TimedSample[];
  /** The statistics of the whole window; of one session, if given. */
  summary(session?: string): WindowSummary;
  /** The sessions that samples in the window belong to, in the order of their first samples. */
  sessions(): string[];
  /** Empties the window; returns how many samples it held. */
  reset(): number;
}

/**
 * @param now milliseconds of a clock that only goes forward.
 * @param recorded called with each sample, and whether no other was taken later.
 */
export function createInspector({
  capacity = DEFAULT_CAPACITY,
  now = () => performance.now(),
  recorded = () => {},
  publish = unheard,
}: {
  capacity?: number;
  now?: () => number;
  recorded?: (sample: LinkSample, isNewest: boolean) => void;
  publish?: Publish;
} = {}): Inspector {
  /** The newest ones, in the order of arrival. */
  let kept: Sample[] = [];
  let newestAt = Number.NEGATIVE_INFINITY;
  /** In the order in which they were taken. */
  const samplesOf = (session: string | undefined) => {
    const samples = kept.toSorted((a, b) => a.at - b.at);
    return session === undefined ? samples : samples.filter((sample) => sample.session === session);
  };

  const publishSummary = atMost(EVENT_MS, () => publish(inspectorSampled, inspector.summary()));
  const inspector = {
    record(sample: LinkSample, session: string | null = null, ageSeconds = 0): void {
      const stats = parseInput(LINK_SAMPLE, sample);
      const at = now() - ageSeconds * 1_000;
      kept.push({ at, session, stats });
      if (kept.length > capacity) kept.shift();
      newestAt = Math.max(newestAt, at);
      recorded(stats, at === newestAt);
      publishSummary.call();
    },
    recent(n: number, session?: string) {
      const samples = n > 0 ? samplesOf(session).slice(-n) : [];
      const newest = samples.at(-1)?.at ?? 0;
      return samples.map(({ at, stats }) => ({ age_seconds: (newest - at) / 1_000, ...stats }));
    },
    summary(session?: string) {
      const samples = samplesOf(session);
      const [oldest, newest] = [samples[0], samples.at(-1)];
      if (!oldest || !newest) return { sample_count: 0, window_seconds: 0, metrics: {} };
      const metrics = LINK_METRICS.map((metric) => [metric, summarize(samples, metric)] as const);
      return {
        sample_count: samples.length,
        window_seconds: (newest.at - oldest.at) / 1_000,
        metrics: Object.fromEntries(metrics),
      };
    },
    sessions: (): string[] => [...new Set(kept.flatMap(({ session }) => session ?? []))],
    reset(): number {
      const cleared = kept.length;
      kept = [];
      newestAt = Number.NEGATIVE_INFINITY;
      publish(inspectorReset, { cleared });
      return cleared;
    },
  };
  return inspector;
}

function summarize(samples: readonly Sample[], metric: LinkMetric): MetricSummary {
  const values = samples.flatMap(({ stats }) => stats[metric] ?? []);
  if (values.length === 0) return { last: null, min: null, max: null, avg: null, p95: null };
  const sorted = values.toSorted((a, b) => a - b);
  return {
    last: values.at(-1) ?? null,
    min: sorted[0] ?? null,
    max: sorted.at(-1) ?? null,
    avg: values.reduce((sum, value) => sum + value) / values.length,
    p95: percentile(sorted, 0.95),
  };
}

/** Linear between the two nearest ranks: rank = `share` × (count − 1) (wire format; NIST's method R-7). */
function percentile(sorted: readonly number[], share: number): number {
  const rank = share * (sorted.length - 1);
  const below = sorted[Math.floor(rank)] ?? 0;
  const above = sorted[Math.ceil(rank)] ?? below;
  return below + (above - below) * (rank - Math.floor(rank));
}
