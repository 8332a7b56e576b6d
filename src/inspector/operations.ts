import * as v from "valibot";
import { field, NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import { LINK_SAMPLE, LINK_SUMMARY } from "../core/records";
import type { Service } from "../service";
import { DEFAULT_CAPACITY } from "./inspector";

/** The most samples that one call brings or takes. */
const MAX_SAMPLES = 10_000;

/** A reading as it is brought: several may come at once, each with its own time. */
const RECORDED = v.strictObject({
  ...LINK_SAMPLE.entries,
  age_seconds: field(
    v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(3_600)), 0),
    "How long ago it was taken, seconds",
  ),
});

const SESSION = v.pipe(v.string(), v.nonEmpty(), v.maxLength(128));
const session = field(v.optional(SESSION), "Only the samples of this session");

export const inspectorRecent = operation({
  name: "inspector.recent",
  summary: "List the newest link statistics, oldest first",
  scope: "read",
  command: "AC_inspector_recent",
  http: { method: "GET", path: "/inspector/recent" },
  input: v.strictObject({
    n: field(
      v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_SAMPLES)), 60),
      `How many; the window holds ${DEFAULT_CAPACITY}`,
    ),
    session,
    summary: field(
      v.optional(v.boolean(), false),
      "Sum up the whole window in the same answer, and name its sessions",
    ),
  }),
  output: v.object({
    samples: v.array(v.object({ age_seconds: v.number(), ...LINK_SAMPLE.entries })),
    count: v.number(),
    summary: v.exactOptional(LINK_SUMMARY),
    sessions: v.exactOptional(v.array(v.string())),
  }),
  async run(service: Service, { n, session, summary }) {
    const inspector = await service.inspector();
    const samples = inspector.recent(n, session);
    return {
      samples,
      count: samples.length,
      ...(summary && { summary: inspector.summary(session), sessions: inspector.sessions() }),
    };
  },
});

export const inspectorSummary = operation({
  name: "inspector.summary",
  summary: "Sum up the link statistics in the window",
  scope: "read",
  command: "AC_inspector_summary",
  http: { method: "GET", path: "/inspector/summary" },
  input: v.strictObject({ session }),
  output: LINK_SUMMARY,
  async run(service: Service, input) {
    return (await service.inspector()).summary(input.session);
  },
});

export const inspectorRecord = operation({
  name: "inspector.record",
  summary: "Add link statistics that were measured elsewhere, such as by a browser's getStats",
  scope: "operate",
  command: "AC_inspector_record",
  http: { method: "POST", path: "/inspector/samples" },
  input: v.strictObject({
    samples: field(
      v.pipe(v.array(RECORDED), v.maxLength(DEFAULT_CAPACITY)),
      "The readings, oldest first; a metric that was not measured is null or left out",
    ),
    session: field(v.optional(SESSION), "The session they belong to"),
  }),
  output: v.object({ recorded: v.number() }),
  async run(service: Service, { samples, session }) {
    const inspector = await service.inspector();
    for (const { age_seconds, ...sample } of samples) inspector.record(sample, session, age_seconds);
    return { recorded: samples.length };
  },
});

export const inspectorReset = operation({
  name: "inspector.reset",
  summary: "Empty the window of link statistics",
  scope: "operate",
  changes: true,
  command: "AC_inspector_reset",
  http: { method: "POST", path: "/inspector/reset" },
  input: NO_INPUT,
  output: v.object({ cleared: v.number() }),
  async run(service: Service) {
    return { cleared: (await service.inspector()).reset() };
  },
});

export const operations = [inspectorRecent, inspectorSummary, inspectorRecord, inspectorReset];
