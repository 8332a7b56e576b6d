/**
 * What `svc execute` and `svc scripts run` share: the flags that set variables, the trace, and how a person sees the outcomes.
 */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { dirname } from "node:path";
import * as v from "valibot";
import { DESKTOP_NAME, DESKTOP_SETTINGS, type DesktopRequest } from "../core/desktop-request";
import { assignments, field, secret } from "../core/fields";
import { mendLines, type RunMend } from "../core/mend";
import type { Outcome } from "../core/run";
import { jsonOrText } from "../core/text";
import { badInput, messageOf, systemCode } from "../lib/errors";
import { isObject } from "../lib/is-object";
import { printable } from "../lib/sanitize";
import type { Service } from "../service/service";

export const VARIABLE_FIELDS = {
  var: field(
    v.optional(
      assignments(v.array(v.pipe(v.string(), v.regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}=/, "NAME=VALUE")))),
    ),
    "Initial value of a variable: NAME=VALUE, which is JSON where it parses and text otherwise",
  ),
  var_file: field(
    v.optional(
      secret(
        v.pipe(
          v.unknown(),
          // A list would pass as a record.
          v.check(isObject, 'an object such as {"count": 3}'),
          v.record(v.string(), v.unknown()),
        ),
      ),
    ),
    "Initial values of variables: an object",
  ),
};

/** On which desktop a script runs. */
export const DESKTOP_FIELDS = {
  desktop: field(
    v.optional(DESKTOP_NAME),
    "The desktop to run on: `new` for one that ends with the run, or the name of one that is kept (default: that of the host, or what the file says)",
  ),
  ...DESKTOP_SETTINGS,
};

type DesktopFlags = v.InferOutput<v.ObjectSchema<typeof DESKTOP_FIELDS, undefined>>;

/** The input with the desktop that the flags name. @throws `bad_input` for how a desktop is made, without one. */
export function withDesktop<I extends { readonly desktop?: DesktopRequest | undefined }>(
  input: I,
  { desktop, size, scale, locale, session }: DesktopFlags,
): I {
  const settings = {
    ...(size !== undefined && { size }),
    ...(scale !== undefined && { scale }),
    ...(locale !== undefined && { locale }),
    ...(session !== undefined && { session }),
  };
  const [odd] = Object.keys(settings);
  if (desktop === undefined && odd !== undefined)
    throw badInput(`--${odd}: expected with --desktop only: it says how that desktop is made`);
  if (desktop === undefined) return input;
  return { ...input, desktop: odd === undefined ? desktop : { name: desktop, ...settings } };
}

type Variables = v.InferOutput<v.ObjectSchema<typeof VARIABLE_FIELDS, undefined>>;

/** The input with the variables of all flags. Of one that is given twice, the value of `--var` counts. */
export function withVariables<I extends { readonly variables?: object | undefined }>(
  input: I,
  extra: Variables,
): I {
  const assigned = (extra.var ?? []).map((text) => {
    const at = text.indexOf("=");
    return [text.slice(0, at), jsonOrText(text.slice(at + 1))];
  });
  return { ...input, variables: { ...input.variables, ...extra.var_file, ...Object.fromEntries(assigned) } };
}

/** Why a run is not ok, in lines for stderr. */
export const runProblems = ({
  ok,
  run_id,
  status,
  error_text,
  mend,
}: {
  readonly ok: boolean;
  readonly run_id: string;
  readonly status: string;
  readonly error_text: string | null;
  readonly mend?: RunMend | undefined;
}): string[] =>
  ok
    ? []
    : [
        `run ${run_id} (${status}): ${error_text}`,
        ...(mend
          ? [
              `mend request: ${mendLines(mend)
                .map((line) => printable(line, 500))
                .join("\n  ")}`,
            ]
          : []),
      ];

export const TRACE_FIELD = {
  trace: field(
    v.optional(v.pipe(v.string(), v.regex(/^[^\0]*\.zip$/i, "a path that ends in .zip"))),
    "File to write a trace to: each action, with pictures of the screen around those that look or act",
  ),
};

/** Where the trace of a run goes: to a file, and to pages that show it. */
interface TraceTargets {
  readonly file: string | undefined;
  readonly pages: readonly string[];
}

/** What `run` answers; its trace is where `targets` say then. */
export async function traced<R extends { readonly run_id: string }>(
  service: Service,
  { file, pages }: TraceTargets,
  run: (trace: boolean) => Promise<R>,
): Promise<R> {
  if (file === undefined && pages.length === 0) return run(false);
  if (service.elsewhere)
    throw badInput(
      `${file === undefined ? "report" : "trace"}: expected without --desk, and without SVC_DESK: the trace of a run stays on the machine of the desk`,
    );
  // Before the run: it cannot be repeated to have its trace.
  if (file !== undefined) {
    await access(dirname(file), constants.W_OK).catch((error) => {
      throw badInput(`--trace: ${printable(dirname(file), 200)} cannot be written to (${systemCode(error)})`);
    });
  }
  const report = await run(true);
  try {
    const traces = await service.traces();
    for (const page of pages) await traces.writePage(report.run_id, page, "--report");
    if (file !== undefined) await moveTrace(service, report.run_id, file);
  } catch (error) {
    // The run is over, and what it did is the answer.
    service.log.error(`${messageOf(error)}; svc trace list shows whether the host has the trace`);
  }
  return report;
}

async function moveTrace(service: Service, run_id: string, file: string): Promise<void> {
  const { steps, pictures, bytes } = (await service.traces()).moveTo(run_id, file, "--trace");
  const size = `${steps} steps, ${pictures} pictures, ${Math.ceil(bytes / 1_024)} KiB`;
  service.log.info(`trace: ${printable(file, 200)} (${size}); svc trace show ${printable(file, 200)}`);
}

/** An outcome on one line. */
export function outcomeLine({ command, ok, result, error, duration_ms }: Outcome): string {
  const text = printable(ok ? JSON.stringify(result ?? null) : (error ?? ""), 200);
  return `${ok ? "ok    " : "FAILED"}  ${command}  ${text}  (${duration_ms} ms)`;
}
