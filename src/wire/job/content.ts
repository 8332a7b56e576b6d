/**
 * What the hosts of a plan do, as one JSON text: the actions, how they run, and the files that they refer to.
 *
 * It is written once for a plan, and its digest is in the envelope of each job.
 */
import * as v from "valibot";
import { DESKTOP_REQUEST, type DesktopRequest } from "../../core/desktop-request";
import { LIMIT, type Limit } from "../../core/rights";
import { MAX_TIMEOUT_S, STOP_ON_ERROR, type StopOnError } from "../../core/run";
import { badInput } from "../../lib/errors";
import { boundOf, excessIn, mostValues } from "../../lib/json-bounds";
import { jsonIn } from "../../lib/json-in";
import { printable } from "../../lib/sanitize";
import { digestOf } from "./envelope";

/** The most files that travel with a plan, and the size of a request with them: hosts take 1,000,000 bytes (`--max-body`). */
const MAX_FILES = 64;
export const MAX_CONTENT_BYTES = 900_000;

/** The most values and names in it: as many as a body that brings one may have besides. */
const MAX_VALUES = mostValues(1_000_000);

/** A name of letters, digits and some signs, which every file system takes; no part begins with a dot. */
const FILE_NAME = v.pipe(
  v.string(),
  v.maxLength(400),
  v.regex(
    /^[^/\\:*?"<>|.\p{C}][^/\\:*?"<>|\p{C}]*(\/[^/\\:*?"<>|.\p{C}][^/\\:*?"<>|\p{C}]*)*$/u,
    "a name below a folder",
  ),
);

const CONTENT = v.strictObject({
  actions: v.array(v.unknown()),
  /** The name of the list among the files: what it refers to is found from there on. Empty for a list that is in no file. */
  name: v.union([v.literal(""), FILE_NAME]),
  /** The SHA-256 of each file, by its name. */
  files: v.record(FILE_NAME, v.string()),
  /** The files by their SHA-256, in base64. */
  blobs: v.record(v.string(), v.pipe(v.string(), v.base64())),
  stop_on_error: STOP_ON_ERROR,
  /** The desktop to run on, where it is not that of the host: an earlier svc refuses a job that names one. */
  desktop: v.exactOptional(DESKTOP_REQUEST),
  timeout_s: v.pipe(v.number(), v.minValue(0.001), v.maxValue(MAX_TIMEOUT_S)),
  /** What the run is limited to; null for all that its token allows. */
  scope: v.nullable(v.array(LIMIT)),
  /** The commands of the actions and of the scripts among the files, each once. */
  commands: v.array(v.string()),
});

export type Content = v.InferOutput<typeof CONTENT>;

/** The files that a list refers to, by their names below one folder, and the name that the list itself would have there. */
export interface TravellingFiles {
  readonly name: string;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

export interface ContentParts {
  readonly actions: readonly unknown[];
  readonly commands: readonly string[];
  readonly stop_on_error: StopOnError;
  /** Undefined for that of the host: then the content has none. */
  readonly desktop?: DesktopRequest | undefined;
  readonly timeout_s: number;
  readonly scope: readonly Limit[] | null;
  /** Absent for a list that refers to no file which travels. */
  readonly travelling?: TravellingFiles | undefined;
}

/**
 * @param most the largest content as a JSON string, in bytes.
 * @throws `bad_input` when the files are too many, or the content is too large.
 */
export function writeContent(
  { travelling, ...parts }: ContentParts,
  most = MAX_CONTENT_BYTES,
): { readonly content: string; readonly digest: string } {
  const { name = "", files = new Map<string, Uint8Array>() } = travelling ?? {};
  if (files.size > MAX_FILES)
    throw badInput(`actions: expected to refer to at most ${MAX_FILES} files but found ${files.size}`);
  const odd = files.size > 0 ? [name, ...files.keys()].find((file) => !v.is(FILE_NAME, file)) : undefined;
  if (odd !== undefined)
    throw badInput(
      `actions: the file ${printable(odd, 200)} cannot travel: expected no part of its name to begin with a dot or to have one of \\ : * ? " < > |`,
    );
  const clash = files.size > 0 ? clashOf([name, ...files.keys()]) : undefined;
  if (clash)
    throw badInput(
      `actions: ${clash.map((file) => printable(file, 200)).join(" and ")} cannot travel together: on some hosts they are one file`,
    );
  const digests = new Map([...files].map(([file, bytes]) => [file, Bun.SHA256.hash(bytes, "hex")]));
  const blobs = Object.fromEntries(
    [...files].map(([file, bytes]) => [digests.get(file), Buffer.from(bytes).toString("base64")]),
  );
  const content = JSON.stringify({ ...parts, name, files: Object.fromEntries(digests), blobs });
  // As a JSON string inside the request.
  const size = Buffer.byteLength(JSON.stringify(content));
  if (size > most)
    throw badInput(
      `actions: expected at most ${most} bytes, with the files that they refer to, but found ${size}`,
    );
  const excess = excessIn(content, MAX_VALUES);
  if (excess) throw badInput(`actions: expected ${boundOf(excess, MAX_VALUES)}`);
  return { content, digest: digestOf(content) };
}

/**
 * @throws `bad_input` for what is none: another form, a file that is not what its digest says, two names of one file.
 */
export function readContent(text: string): Content & { readonly bytes: ReadonlyMap<string, Uint8Array> } {
  // A text in a body escapes the bound on that.
  const excess = excessIn(text, MAX_VALUES);
  if (excess) throw badInput(`content: expected ${boundOf(excess, MAX_VALUES)}`);
  const value = jsonIn(text);
  // Before the name of each is looked at; a text has a key for each of its characters.
  const { files: named }: { files?: unknown } = Object(value);
  // The keys of a list are made when somebody asks for them.
  if (Array.isArray(named)) throw badInput("content: expected that of a job (files)");
  if (typeof named === "object" && Object.keys(named ?? {}).length > MAX_FILES)
    throw badInput(`content: expected at most ${MAX_FILES} files`);
  const read = v.safeParse(CONTENT, value, { abortEarly: true });
  if (!read.success)
    throw badInput(`content: expected that of a job (${v.getDotPath(read.issues[0]) ?? "not JSON"})`);
  const { files, blobs, name } = read.output;
  const names = Object.keys(files);
  const bytes = new Map(names.map((file) => [file, blobOf(blobs, files[file])]));
  if (clashOf([name, ...names].filter(Boolean))) throw badInput("content: expected each file once");
  return { ...read.output, bytes };
}

/** Two names for one place, or one below the other: some file systems take names that differ in case or Unicode form for one. */
function clashOf(names: readonly string[]): readonly [string, string] | undefined {
  const places = names.map((name) => ({ name, place: name.normalize("NFC").toLowerCase() }));
  for (const [at, { name, place }] of places.entries()) {
    const other = places.find(
      (one, nth) => (nth > at && one.place === place) || one.place.startsWith(`${place}/`),
    );
    if (other) return [name, other.name];
  }
  return undefined;
}

function blobOf(blobs: Content["blobs"], digest: string | undefined): Uint8Array {
  const text = digest !== undefined && Object.hasOwn(blobs, digest) ? blobs[digest] : undefined;
  const bytes = Buffer.from(text ?? "", "base64");
  if (text === undefined || Bun.SHA256.hash(bytes, "hex") !== digest)
    throw badInput("content: a file is not what its digest says");
  return bytes;
}
