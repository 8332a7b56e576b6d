/**
 * Sends the link statistics of a process that is not a server, such as `svc sync`, to the server on the same
 * `{config_dir}`, where people look.
 */
import { askOwner } from "../../client/owner";
import type { LinkSample } from "../../core/answer-schemas";
import { inspectorRecord } from "./operations";

/** Several samples go in one call, in milliseconds. */
const EVERY_MS = 10_000;

/** Collects samples and sends them to the server on `configDir` if one runs; a failure to send is ignored. */
export function createForwarder(configDir: string) {
  const waiting = new Map<string, Array<{ at: number; sample: LinkSample }>>();
  const forward = async () => {
    const batches = [...waiting];
    waiting.clear();
    for (const [session, readings] of batches) {
      const samples = readings.map(({ at, sample }) => ({
        ...sample,
        age_seconds: (performance.now() - at) / 1_000,
      }));
      await askOwner(configDir, inspectorRecord, { samples, session }).catch(() => {});
    }
  };
  return {
    take(sample: LinkSample, session: string): void {
      if (waiting.size === 0) setTimeout(forward, EVERY_MS).unref();
      waiting.set(session, [...(waiting.get(session) ?? []), { at: performance.now(), sample }]);
    },
    /** Sends what is left. Never rejects. */
    end: forward,
  };
}
