import * as v from "valibot";
import { LINK_SAMPLE, LINK_SUMMARY } from "../../core/answer-schemas";
import { between, field, flag, NO_INPUT, seconds, whole } from "../../core/fields";
import { operation } from "../../core/operation";
import { withMade } from "../../lib/once";
import { DEFAULT_CAPACITY, type Inspector, TIMED_SAMPLE } from "./inspector";

interface Uses {
  inspector(): Promise<Inspector>;
}

const MAX_SAMPLES = 10_000;

/** A sample and when it was taken: one call may bring several. */
const SAMPLE = v.strictObject({
  ...LINK_SAMPLE.entries,
  age_seconds: field(v.optional(seconds(between(0, 3_600)), 0), "Time since it was taken, seconds"),
});

const SESSION = v.pipe(v.string(), v.nonEmpty(), v.maxLength(128));
const session = field(v.optional(SESSION), "Only the samples of this session");

export const inspectorRecent = operation({
  name: "inspector.recent",
  summary: "List the newest link statistics, oldest first",
  scope: "read",
  answeredBy: "server",
  serverInRuns: true,
  command: "AC_inspector_recent",
  http: { method: "GET", path: "/inspector/recent" },
  input: v.strictObject({
    n: field(
      v.optional(whole(1, MAX_SAMPLES), 60),
      `Number of samples; the window holds ${DEFAULT_CAPACITY}`,
    ),
    session,
    summary: flag("Add the statistics of the whole window and the names of its sessions"),
  }),
  output: v.object({
    samples: v.array(TIMED_SAMPLE),
    count: v.number(),
    summary: v.exactOptional(LINK_SUMMARY),
    sessions: v.exactOptional(v.array(v.string())),
  }),
  run: (service: Uses, { n, session, summary }) =>
    withMade(service.inspector(), (inspector) => {
      const samples = inspector.recent(n, session);
      return {
        samples,
        count: samples.length,
        ...(summary && { summary: inspector.summary(session), sessions: inspector.sessions() }),
      };
    }),
});

export const inspectorSummary = operation({
  name: "inspector.summary",
  summary: "Summarize the link statistics in the window",
  scope: "read",
  subcommand: "inspect",
  answeredBy: "server",
  serverInRuns: true,
  command: "AC_inspector_summary",
  http: { method: "GET", path: "/inspector/summary" },
  input: v.strictObject({ session }),
  output: LINK_SUMMARY,
  run: (service: Uses, { session }) =>
    withMade(service.inspector(), (inspector) => inspector.summary(session)),
});

export const inspectorRecord = operation({
  name: "inspector.record",
  summary: "Add link statistics that were measured elsewhere, such as by a browser's getStats",
  scope: "operate",
  // Where people look: also for `svc sync` beside a server.
  answeredBy: "server",
  leftOut: { cli: "programs that measure a link send its samples" },
  serverInRuns: true,
  command: "AC_inspector_record",
  http: { method: "POST", path: "/inspector/samples" },
  input: v.strictObject({
    samples: field(
      v.pipe(v.array(SAMPLE), v.maxLength(DEFAULT_CAPACITY)),
      "The samples, oldest first; a metric that was not measured is null or left out",
    ),
    session: field(v.optional(SESSION), "The session they belong to"),
  }),
  output: v.object({ recorded: v.number() }),
  async run(service: Uses, { samples, session }) {
    const inspector = await service.inspector();
    for (const { age_seconds, ...sample } of samples) inspector.record(sample, session, age_seconds);
    return { recorded: samples.length };
  },
});

export const inspectorReset = operation({
  name: "inspector.reset",
  summary: "Delete the recorded link statistics",
  scope: "operate",
  changes: true,
  answeredBy: "server",
  serverInRuns: true,
  command: "AC_inspector_reset",
  http: { method: "POST", path: "/inspector/reset" },
  input: NO_INPUT,
  output: v.object({ cleared: v.number() }),
  async run(service: Uses) {
    return { cleared: (await service.inspector()).reset() };
  },
});

export const operations = [inspectorRecent, inspectorSummary, inspectorRecord, inspectorReset];
