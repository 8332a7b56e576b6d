/**
 * Link statistics of a process that is no server, such as `svc sync`, on their way to the server that runs beside it:
 * that is where people look.
 */
import { callLocalServer } from "../client/local-server";
import type { LinkSample } from "../core/records";
import { inspectorRecord } from "./operations";

/** Several readings go in one request: each request costs a row of the audit log. */
const EVERY_MS = 10_000;

export interface Forwarder {
  take(sample: LinkSample, session: string): void;
  /** Hands over what is left. Never rejects. */
  end(): Promise<void>;
}

/** Takes readings, and hands them to the server on `configDir` if one runs; nothing depends on their getting there. */
export function createForwarder(configDir: string): Forwarder {
  const waiting = new Map<string, Array<{ at: number; sample: LinkSample }>>();
  const forward = async () => {
    const batches = [...waiting];
    waiting.clear();
    for (const [session, readings] of batches) {
      const samples = readings.map(({ at, sample }) => ({
        ...sample,
        age_seconds: (performance.now() - at) / 1_000,
      }));
      await callLocalServer(configDir, inspectorRecord, { samples, session }).catch(() => {});
    }
  };
  return {
    take(sample, session) {
      if (waiting.size === 0) setTimeout(forward, EVERY_MS).unref();
      waiting.set(session, [...(waiting.get(session) ?? []), { at: performance.now(), sample }]);
    },
    end: forward,
  };
}
