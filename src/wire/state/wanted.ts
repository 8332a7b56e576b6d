/**
 * What a file of a desk says that hosts should have, as desk and host check it: scripts, jobs, settings, secrets, the black box, the version.
 *
 * The text of it is written once, by the desk, and its digest names it on both sides.
 */
import * as v from "valibot";
import { DESKTOP_REQUEST } from "../../core/desktop-request";
import { between, whole } from "../../core/fields";
import { checkInput, type Offence, sentence } from "../../core/input";
import { NAME_TEXT } from "../../core/rights";
import { MAX_TIMEOUT_S, NAMED_VARIABLES, STOPS, VARIABLE, VARIABLES } from "../../core/run";
import { countExcess } from "../../core/schema";
import { badInput } from "../../lib/errors";
import { isObject } from "../../lib/is-object";
import { boundOf, excessIn } from "../../lib/json-bounds";
import { jsonIn } from "../../lib/json-in";
import { printable } from "../../lib/sanitize";
import { parseDuration } from "../../lib/units";

/** The largest wanted state as JSON, in bytes: in base64 it goes into the content of a job, and into a request (`--max-body`). */
const MAX_STATE_BYTES = 600_000;

/** The most values and names in it: what is in base64 escapes the bound on the body that brings it. */
const MAX_STATE_VALUES = 150_000;

/** {@link MAX_STATE_BYTES} in base64, in characters. */
export const MAX_STATE_TEXT = Math.ceil(MAX_STATE_BYTES / 3) * 4;

/** The most scripts, jobs, and names of secrets: what a host keeps of scripts and jobs (`stored-scripts.ts`, `scheduler.ts`). */
const MOST = { scripts: 200, jobs: 1_000, settings: 100, secrets: 1_000, actions: 10_000 };

const RUN = {
  timeout_s: v.exactOptional(between(1, MAX_TIMEOUT_S)),
  stop_on_error: v.exactOptional(STOPS),
  desktop: v.exactOptional(DESKTOP_REQUEST),
};

const WANTED_SCRIPT = v.strictObject({
  actions: v.pipe(v.array(v.unknown()), v.minLength(1), v.maxLength(MOST.actions)),
  parameters: v.exactOptional(v.pipe(v.array(VARIABLE), v.maxLength(100))),
  variables: v.exactOptional(VARIABLES),
  pace: v.exactOptional(between(0, 10)),
  ...RUN,
});

/** Variables of a job, which no secret of the host may be in: they are kept as they are. */
const JOB_VARIABLES = v.pipe(
  NAMED_VARIABLES,
  v.check(
    (given) => !JSON.stringify(given).includes("${secret:"),
    "no secret: the host would keep it as it is; name it in the script of the job",
  ),
);

/** A job: a stored script of that name, or a file of the host, and when it runs. */
const WANTED_JOB = v.pipe(
  v.strictObject({
    script: v.exactOptional(NAME_TEXT),
    script_path: v.exactOptional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096))),
    interval_seconds: v.exactOptional(between(1, 366 * 86_400)),
    cron_expression: v.exactOptional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(200))),
    time_zone: v.exactOptional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(100))),
    repeat: v.exactOptional(v.boolean()),
    max_runs: v.exactOptional(v.nullable(whole(1, Number.MAX_SAFE_INTEGER))),
    if_missed: v.exactOptional(v.picklist(["skip", "once"])),
    if_running: v.exactOptional(v.picklist(["skip", "queue"])),
    variables: v.exactOptional(JOB_VARIABLES),
    ...RUN,
  }),
  v.check(
    ({ script, script_path }) => (script === undefined) !== (script_path === undefined),
    "one of script (a name below scripts, or one that the host has) and script_path (a file of the host)",
  ),
  v.check(
    ({ interval_seconds, cron_expression }) =>
      (interval_seconds === undefined) !== (cron_expression === undefined),
    "one of interval_seconds and cron_expression",
  ),
  v.check(
    ({ time_zone, cron_expression }) => time_zone === undefined || cron_expression !== undefined,
    "time_zone with cron_expression only",
  ),
  v.check(
    ({ script_path }) => script_path === undefined || isAbsoluteHere(script_path),
    "script_path to be absolute: a path on the host",
  ),
);

/** Whether a path is absolute on some host, which may be another system than this one. */
const isAbsoluteHere = (path: string) => /^(\/|[A-Za-z]:[\\/]|\\\\)/.test(path);

const JOB_ID = v.pipe(v.string(), v.regex(/^[\w.-]{1,100}$/, "1 to 100 letters, digits, '.', '_' or '-'"));

/** The name of a setting, as `svc config list` has it. */
const SETTING = v.pipe(v.string(), v.regex(/^[a-z_]+\.[a-z_]+$/, "a name such as diagnose.skip"));

const SETTING_VALUE = v.pipe(v.array(v.pipe(v.string(), v.maxLength(100))), v.maxLength(100));

const WANTED_STATE = v.strictObject({
  /** Marks what the file manages at a host, so that several files can share one. */
  name: NAME_TEXT,
  /** Whether what it does not have any more, and an earlier one of the name had, is removed. */
  prune: v.optional(v.boolean(), false),
  scripts: v.optional(v.pipe(v.record(NAME_TEXT, WANTED_SCRIPT), v.maxEntries(MOST.scripts)), {}),
  jobs: v.optional(v.pipe(v.record(JOB_ID, WANTED_JOB), v.maxEntries(MOST.jobs)), {}),
  settings: v.optional(v.pipe(v.record(SETTING, SETTING_VALUE), v.maxEntries(MOST.settings)), {}),
  /** The names of secrets that the host should have. */
  secrets: v.optional(v.pipe(v.array(NAME_TEXT), v.maxLength(MOST.secrets)), []),
  black_box: v.exactOptional(v.boolean()),
  version: v.exactOptional(
    v.pipe(v.string(), v.regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/, "a version such as 0.3.0")),
  ),
});

export type WantedState = v.InferOutput<typeof WANTED_STATE>;
export type WantedScript = v.InferOutput<typeof WANTED_SCRIPT>;
export type WantedJob = v.InferOutput<typeof WANTED_JOB>;

/** The wanted state in `value`, where spans of time may be texts such as `15m`; or what is wrong with it. No message quotes a value of a script or job. */
export function checkWanted(
  value: unknown,
): { readonly wanted: WantedState } | { readonly offences: readonly Offence[] } {
  // Far too many names are counted, and none of them is looked at.
  const isTooMuch = countExcess(WANTED_STATE, value) !== undefined;
  const lost = isTooMuch ? [] : lostNames(value);
  const checked = checkInput(WANTED_STATE, isTooMuch ? value : withSpans(value), { quote: false });
  if (!checked.ok) return { offences: [...lost, ...checked.offences.map((one) => spanOffence(one, value))] };
  const offences = [...lost, ...oddVariables(checked.input)];
  return offences.length > 0 ? { offences } : { wanted: checked.input };
}

/** @throws `bad_input` that names each place at fault. */
export function wantedIn(value: unknown): WantedState {
  const checked = checkWanted(value);
  if ("wanted" in checked) return checked.wanted;
  throw badInput(`state: ${sentence(checked.offences)}`);
}

/** Names that the check leaves out of an object of names, and says nothing: what has one would never come to a host. */
const LOST = ["__proto__", "constructor", "prototype"];

/** Each such name of a script, a job, or a variable of one. */
function lostNames(value: unknown): Offence[] {
  const partOf = (part: string) => (isObject(value) ? [[[part], value[part]] as const] : []);
  const variablesIn = ([path, part]: readonly [readonly string[], unknown]) =>
    Object.entries(isObject(part) ? part : {}).map(
      ([name, entry]) => [[...path, name, "variables"], isObject(entry) ? entry.variables : {}] as const,
    );
  const parts = [...partOf("scripts"), ...partOf("jobs")];
  return [...parts, ...parts.flatMap(variablesIn)].flatMap(([path, names]) =>
    LOST.filter((name) => isObject(names) && Object.hasOwn(names, name)).map((name) => ({
      field: printable([...path, name].join("."), 200),
      path: [...path, name],
      message: "expected another name: JavaScript has a meaning for this one",
    })),
  );
}

/** Variables of jobs that their script of the same file does not take. */
function oddVariables({ scripts, jobs }: WantedState): Offence[] {
  return Object.entries(jobs).flatMap(([id, { script, variables = {} }]) => {
    const found = script !== undefined && Object.hasOwn(scripts, script) ? scripts[script] : undefined;
    if (!found) return [];
    const { parameters = [] } = found;
    return Object.keys(variables)
      .filter((name) => !parameters.includes(name))
      .map((name) => ({
        field: `jobs.${id}.variables.${name}`,
        path: ["jobs", id, "variables", name],
        message: `expected a parameter of the script ${script} (${parameters.join(", ") || "it has none"})`,
      }));
  });
}

/** The fields of scripts and jobs that are spans of time. */
const SPANS = ["timeout_s", "pace", "interval_seconds"];

function withSpans(value: unknown): unknown {
  if (!isObject(value)) return value;
  const inEach = (part: unknown) =>
    isObject(part)
      ? Object.fromEntries(Object.entries(part).map(([name, entry]) => [name, spansIn(entry)]))
      : part;
  return {
    ...value,
    ...("scripts" in value && { scripts: inEach(value.scripts) }),
    ...("jobs" in value && { jobs: inEach(value.jobs) }),
  };
}

function spansIn(entry: unknown): unknown {
  if (!isObject(entry)) return entry;
  const spans = SPANS.filter((name) => typeof entry[name] === "string");
  return {
    ...entry,
    ...Object.fromEntries(spans.map((name) => [name, parseDuration(String(entry[name])) ?? entry[name]])),
  };
}

/** An offence about a span of time as who wrote it has to mend it; a span is no secret. */
function spanOffence(offence: Offence, value: unknown): Offence {
  const { path = [] } = offence;
  const found = path.reduce<unknown>((inner, key) => Object(inner)[key], value);
  // `jobs.NAME.interval_seconds`: a variable of that name is no span, and may be a secret; one that is out of range is said so.
  const isSpan = path.length === 3 && SPANS.includes(`${path.at(-1)}`) && typeof found === "string";
  if (!isSpan || parseDuration(found) !== undefined) return offence;
  return {
    ...offence,
    message: `expected a number of seconds, or a time such as 15m, but found ${printable(JSON.stringify(found), 60)}`,
  };
}

/** A wanted state as it is sent: base64 of its JSON, and the SHA-256 of that JSON, hexadecimal. */
export interface SentState {
  readonly state: string;
  readonly sha256: string;
}

/** @throws `bad_input` for one that is too large. */
export function writeWanted(wanted: WantedState): SentState {
  const bytes = Buffer.from(JSON.stringify(wanted));
  if (bytes.length > MAX_STATE_BYTES)
    throw badInput(
      `state: expected at most ${MAX_STATE_BYTES} bytes, with its scripts, but found ${bytes.length}`,
    );
  requireFewValues(bytes);
  return { state: bytes.toString("base64"), sha256: Bun.SHA256.hash(bytes, "hex") };
}

/** What was sent. @throws `bad_input` for what is none. */
export function readWanted(state: string): { readonly wanted: WantedState; readonly sha256: string } {
  const bytes = Buffer.from(state, "base64");
  if (bytes.toString("base64") !== state) throw badInput("state: expected JSON in base64");
  if (bytes.length > MAX_STATE_BYTES)
    throw badInput(`state: expected at most ${MAX_STATE_BYTES} bytes but found ${bytes.length}`);
  requireFewValues(bytes);
  return { wanted: wantedIn(jsonIn(bytes.toString())), sha256: Bun.SHA256.hash(bytes, "hex") };
}

/** @throws `bad_input` for JSON that would hold up everybody while it is parsed, or that is too deep to be written again. */
function requireFewValues(json: Uint8Array): void {
  const excess = excessIn(json, MAX_STATE_VALUES);
  if (excess) throw badInput(`state: expected ${boundOf(excess, MAX_STATE_VALUES)}`);
}
