/** Jobs for tests: made up, sealed and sent. */
import * as v from "valibot";
import { operation } from "../../../src/core/operation";
import { operations } from "../../../src/operations";
import type { SigningKey } from "../../../src/trust/identity";
import { type ContentParts, writeContent } from "../../../src/wire/job/content";
import { seal } from "../../../src/wire/job/envelope";
import type { Job } from "../../../src/wire/job/job";
import { post } from "../../support";

/** A command `AC_count`, which counts how often it ran, and `AC_hold`, which goes on until it is let go. */
export function countingTable() {
  let ran = 0;
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const common = { scope: "operate", input: v.strictObject({}) } as const;
  const count = operation({
    ...common,
    name: "test.count",
    summary: "Count",
    command: "AC_count",
    output: v.number(),
    run: () => ++ran,
  });
  const hold = operation({
    ...common,
    name: "test.hold",
    summary: "Hold",
    command: "AC_hold",
    output: v.null(),
    async run(_service: object, _input, { signal }) {
      ran++;
      reached.resolve();
      const over = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => over.reject(signal.reason), { once: true });
      await Promise.race([held.promise, over.promise]);
      return null;
    },
  });
  return {
    operations: [...operations, count, hold],
    ran: () => ran,
    reached: reached.promise,
    letGo: () => held.resolve(),
  };
}

/** A job of one `AC_count`, unless `parts` has other actions. */
export function madeUpJob(parts: Partial<ContentParts> = {}, more: Partial<Job> = {}): Job {
  const actions = [["AC_count"]];
  const { content, digest } = writeContent({
    ...{ actions, commands: [], stop_on_error: false, timeout_s: 60, scope: null },
    ...parts,
  });
  return {
    ...{ id: crypto.randomUUID(), plan: crypto.randomUUID(), content, digest },
    ...{ not_before: at(0), expires: at(3_600_000), delivery_timeout_s: 10, timeout_s: 60 },
    ...more,
  };
}

/** ISO 8601 of so many milliseconds from now. */
export const at = (ms: number) => new Date(Date.now() + ms).toISOString();

/** The body that sends a job to a host. */
export const bodyOf = (
  job: Job,
  { host_id = null, key = null }: { host_id?: string | null; key?: SigningKey | null } = {},
) => ({ ...seal(job, "execute", host_id, key), content: job.content, wait_s: 30 });

interface Answer {
  readonly id: string;
  readonly state: string;
  readonly outcome: { readonly ok: boolean; readonly status: string; readonly run_id: string } | null;
  readonly error?: string;
}

/** Sends a body to `POST /plans/jobs`, or below it. */
export async function send(
  { call }: { readonly call: (path: string, init?: RequestInit) => Promise<Response> },
  body: object,
  path = "/plans/jobs",
) {
  const response = await call(path, post(body));
  return { status: response.status, ...((await response.json()) as Answer) };
}
