/**
 * What the fields of an input are made of: a description for each, and marks that every surface obeys.
 */
import * as v from "valibot";
import type { Metadata } from "./schema";

/** A field with a description (every field has one). */
export function field<S extends v.GenericSchema>(schema: S, description: string) {
  return v.pipe(schema, v.description(description));
}

/** A number from `min` to `max`. */
export const between = (min: number, max: number) => v.pipe(v.number(), v.minValue(min), v.maxValue(max));

/** A whole number from `min` to `max`. */
export const whole = (min: number, max: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));

/** What is off unless it is set. */
export const flag = (description: string) => field(v.optional(v.boolean(), false), description);

/** A value that is never logged, audited, quoted in an error, or kept. */
export const secret = mark({ secret: true });

/** A {@link secret} that decides what the action does, such as text to type: it is shown to who is to allow the action. */
export const judged = mark({ secret: true, judged: true });

/** As {@link judged}, for what variables are set to or compared with. */
export const passed = mark({ secret: true, judged: true, passed: true });

/** A value in which no secret of the host may be. @param why not, as the end of a message. */
export const withoutHostSecrets = (why: string) => mark({ open: why });

/** A span of time in seconds. As text also `90s`, `15m`, `2h` or `1d`. */
export const seconds = mark<number | "never">({ text: "duration" });

/** A number of bytes. As text also `512MB`. */
export const bytes = mark<number>({ text: "size" });

/** A point in time, ISO 8601 in UTC. As text also `1h` or `1h ago`: an hour ago; `now`, `today`, `yesterday`; `02:13`. */
export const timestamp = mark<string>({ text: "time" });

/** The content of a file. On the command line the flag takes the path of that file, or `-` for standard input. */
export const fileContent = mark<string>({ text: "file" });

/** A value that the operation checks itself, in words of its own; the API document describes it as `form`. */
export const inForm = (form: v.GenericSchema) => v.pipe(v.unknown(), v.metadata({ form }));

/** A path on the host that runs the operation. The command line resolves it against its own working folder. */
export const path = mark<string>({ text: "path" });

/** A path, or the content of the file in base64, which goes on record as its digest. */
export const pathOrContent = mark<string>({ content: true });

/** `NAME=VALUE`, several times; a value may be secret. On the command line no comma parts them. */
export const assignments = mark<readonly string[]>({ secret: true, text: "assignment" });

/** An expression in CEL over the variables of a run. */
export const expression = mark<string>({ expression: true });

/** A text; a list of them in its place among positional arguments of a script is the field `labels`. */
export const orLabels = mark<string>({ listedAs: "labels" });

/** The name of a variable that the action sets. */
export const setsVariable = mark<string>({ variable: "sets" });

/** The names of variables that the action sets. */
export const setsVariables = mark<readonly string[]>({ variable: "sets" });

/** The name of a variable that the action reads. */
export const readsVariable = mark<string>({ variable: "reads" });

/** A place on the desktop. */
export const column = mark<number>({ place: "x" });
export const row = mark<number>({ place: "y" });
export const point = mark<readonly number[]>({ place: "point" });
export const region = mark<readonly number[]>({ place: "region" });

/** A length on the desktop, in pixels. */
export const columns = mark<number>({ place: "width" });
export const rows = mark<number>({ place: "height" });

/** The label of a host that the address book may have. */
export const LABEL = v.pipe(v.string(), v.trim(), v.normalize("NFC"), v.nonEmpty(), v.maxLength(256));

/** The same, as most operations describe it. */
export const HOST_LABEL = field(LABEL, "Label of the host");

const TAG = v.pipe(
  v.string(),
  v.regex(/^[^,!\s\p{C}]{1,64}$/u, "1 to 64 characters without spaces, commas or !"),
);

/** The tags of a host. */
export const TAGS = v.pipe(v.array(TAG), v.maxLength(64));

/** SHA-256, 64 hexadecimal digits. */
export const SHA256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));

/** An address of http or https without user, query and fragment, of at most `most` characters. */
export const httpAddress = (most: number) =>
  v.pipe(v.string(), v.regex(/^https?:\/\/[^\s\\?#@]+$/i, "an http or https address"), v.maxLength(most));

/** An action list inside an input: it is checked, with the list around it, before anything runs. */
export const ACTION_LIST = v.pipe(v.array(v.unknown()), v.metadata({ actions: true }));

/** A list of actions that runs on other hosts: it is checked here, and needs no rights here. Its arguments may be secret. */
export const REMOTE_LIST = v.pipe(v.array(v.unknown()), v.metadata({ secret: true, remote: true }));

/**
 * A {@link REMOTE_LIST} whose variables are those of the host that runs it: nothing of it is filled in here, so that all of it is checked
 * before the list around it runs.
 */
export const HOST_LIST = v.pipe(
  v.array(v.unknown()),
  v.metadata({ secret: true, remote: true, unfilled: true }),
);

/** Several lists of actions that have {@link HOST_LIST}s. */
export const HOST_BRANCHES = v.pipe(
  v.array(v.array(v.unknown())),
  v.metadata({ secret: true, remote: true, unfilled: true, branches: true }),
);

/** The input of an operation without fields. */
export const NO_INPUT = v.strictObject({});

/** What adds `marks` to a schema whose input is a `T`. */
function mark<T>(marks: Metadata) {
  return <S extends v.GenericSchema<T>>(schema: S) => v.pipe(schema, v.metadata({ ...marks }));
}
