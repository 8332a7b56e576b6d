/**
 * The operations of traces: which this host keeps, and the archive of one.
 */
import { existsSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import * as v from "valibot";
import { field, NO_INPUT, path } from "../../core/fields";
import { operation } from "../../core/operation";
import { PacedAnswer } from "../../core/paced-answer";
import { allows, type Grant } from "../../core/rights";
import { PRIVATE_FOLDER, writeNamedFile } from "../../lib/files";
import type { Trace } from "./open";
import { STEP, type Step, TRACED_RUN, type TracedRun } from "./trace";
import type { Traces } from "./traces";
import { writePage } from "./write-page";

interface Uses {
  traces(): Promise<Traces>;
  executor(): Promise<{ permit(names: readonly string[], grant: Grant): void }>;
}

const ZIP_CONTENT_TYPE = "application/zip";

const FOR_PEOPLE = "a trace is for a person to look at";

/** `run.json` as it is shown. */
const ABOUT = v.omit(TRACED_RUN, ["format", "version", "share"]);

const about = ({ format: _format, version: _version, share: _share, ...run }: TracedRun) => run;

export const listTraces = operation({
  name: "traces.list",
  summary: "List the traces that this host keeps, newest first",
  scope: "read",
  subcommand: "trace list",
  leftOut: { script: FOR_PEOPLE },
  http: { method: "GET", path: "/traces" },
  input: NO_INPUT,
  output: v.object({
    traces: v.array(v.object({ ...ABOUT.entries, bytes: v.number() })),
    count: v.number(),
  }),
  async run(service: Uses) {
    const traces = (await service.traces()).list().map(({ bytes, ...run }) => ({ ...about(run), bytes }));
    return { traces, count: traces.length };
  },
});

export const getTrace = operation({
  name: "traces.get",
  summary: "Return the trace of a run as a ZIP archive",
  scope: "screen",
  reveals: true,
  subcommand: "trace get",
  leftOut: { script: FOR_PEOPLE },
  http: { method: "GET", path: "/runs/{run_id}/trace", content: ZIP_CONTENT_TYPE },
  input: v.strictObject({
    run_id: field(
      v.pipe(v.string(), v.regex(/^[0-9a-f-]{4,36}$/, "the id of a run, or its first characters")),
      "Run id, or its first characters",
    ),
  }),
  output: v.instance(Response),
  async run(service: Uses, { run_id }, { grant }) {
    const { file, trace } = (await service.traces()).open(run_id);
    using _ = trace;
    await permitTo(service, trace, grant);
    return new PacedAnswer(Bun.file(file), {
      headers: {
        "content-type": ZIP_CONTENT_TYPE,
        "content-disposition": `attachment; filename="trace-${trace.run.run_id.slice(0, 8)}.zip"`,
      },
    });
  },
});

const TRACE = field(
  v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096)),
  "A trace: a .zip file, or the id of a run",
);

export const showTrace = operation({
  name: "traces.show",
  summary: "Show the steps of a trace",
  scope: "screen",
  reveals: true,
  acts: true,
  // Most are files that somebody has; no row is needed for those.
  elsewhere: true,
  subcommand: "trace show",
  leftOut: { http: "GET /runs/{run_id}/trace returns the archive, which has the steps", script: FOR_PEOPLE },
  input: v.strictObject({
    trace: TRACE,
    pictures: field(v.optional(path(v.pipe(v.string(), v.nonEmpty()))), "Folder to write its pictures to"),
  }),
  /** `written`: where the pictures are. */
  output: v.object({ run: ABOUT, steps: v.array(STEP), written: v.exactOptional(v.string()) }),
  async run(service: Uses, { trace: given, pictures }, { grant }) {
    using trace = (await open(service, given)).trace;
    await permitTo(service, trace, grant);
    const run = about(trace.run);
    const steps = trace.steps();
    if (pictures === undefined) return { run, steps };
    mkdirSync(pictures, { recursive: true, mode: PRIVATE_FOLDER });
    for (const [name, bytes] of trace.pictures(picturesOf(steps)))
      writeNamedFile(join(pictures, basename(name)), bytes, "pictures");
    return { run, steps, written: pictures };
  },
});

export const exportTrace = operation({
  name: "traces.export",
  summary: "Write a trace as one HTML file that shows itself",
  scope: "screen",
  reveals: true,
  acts: true,
  elsewhere: true,
  subcommand: "trace export",
  leftOut: {
    http: "GET /runs/{run_id}/trace returns the archive, which the file is made of",
    script: FOR_PEOPLE,
  },
  input: v.strictObject({
    trace: TRACE,
    file: field(
      path(v.pipe(v.string(), v.regex(/^[^\0]*\.html?$/i, "a path that ends in .html"))),
      "File to write",
    ),
  }),
  output: v.object({ file: v.string(), bytes: v.number(), steps: v.number() }),
  async run(service: Uses, { trace: given, file }, { grant }) {
    const opened = await open(service, given);
    using trace = opened.trace;
    await permitTo(service, trace, grant);
    const bytes = await writePage(trace, opened.file, file, "file");
    return { file, bytes, steps: trace.run.steps };
  },
});

/** The trace in a file, or of a run. @throws as `openTrace`. */
async function open(service: Uses, given: string): Promise<{ readonly file: string; readonly trace: Trace }> {
  const isFile = existsSync(given) || !/^[0-9a-f-]{4,36}$/.test(given);
  if (!isFile) return (await service.traces()).open(given);
  return { file: given, trace: (await import("./open")).openTrace(given) };
}

/**
 * Refuses a trace to whoever may not use each of its commands, as it has their answers.
 *
 * @throws a `forbidden` failure; as `openTrace`.
 */
async function permitTo(service: Uses, trace: Trace, grant: Grant): Promise<void> {
  if (allows(grant, "admin")) return;
  // Earlier builds did not list those of scripts that were found during the run.
  const names = new Set([...trace.run.commands, ...trace.steps().map(({ command }) => command)]);
  (await service.executor()).permit([...names], grant);
}

/** The names of the pictures that the steps have. Each is a number, so that a trace of somebody else names no other file. */
function picturesOf(steps: readonly Step[]): string[] {
  const named = steps.flatMap(({ before, after }) => [before, after]);
  return [...new Set(named)].filter(
    (name) => name !== null && /^pictures\/\d{1,10}\.png$/.test(name),
  ) as string[];
}

export const operations = [listTraces, getTrace, showTrace, exportTrace];
