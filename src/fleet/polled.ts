/**
 * What a poll finds, and what deployed hosts answer to it.
 */
import * as v from "valibot";

const COUNT = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const HOST_ID = v.optional(v.nullable(v.pipe(v.string(), v.maxLength(256))), null);

/** The answer to `GET /sessions`; what a host says beyond it is dropped. */
export const POLLED_SESSIONS = v.object({
  host: v.object({
    running: v.boolean(),
    port: v.optional(v.nullable(COUNT), null),
    connected_clients: v.optional(COUNT, 0),
    host_id: HOST_ID,
  }),
  viewer: v.object({ connected: v.boolean(), host_id: HOST_ID }),
});

/** The answer to `GET /jobs`. */
export const POLLED_JOBS = v.object({ jobs: v.array(v.unknown()) });

/**
 * What became of one host's poll: `healthy`, it answered everything, and as a host does; `latency_ms`, from the beginning
 * to the end of its first answer; `error`, `HTTP 401`, `timeout after 3 s`, `connection refused`, `not a svc host`, …;
 * `job_count` is null also for a host without `/jobs`.
 */
export const POLLED = v.object({
  label: v.string(),
  base_url: v.string(),
  healthy: v.boolean(),
  latency_ms: v.nullable(v.number()),
  error: v.nullable(v.string()),
  sessions: v.nullable(POLLED_SESSIONS),
  job_count: v.nullable(v.number()),
});

export type Polled = v.InferOutput<typeof POLLED>;
