/**
 * How long what the black box keeps may stay, beside its segments: a server that starts without `--black-box` keeps to it too, as a flag that
 * was forgotten at one start must not remove what led to a failure, nor have it stay for ever.
 */
import { join } from "node:path";
import * as v from "valibot";
import { ensurePrivateFolder, writeFileAtomic } from "../../../../lib/files";
import { jsonFileOf } from "../../../../lib/json-file";
import { DEFAULT_BOX_BYTES } from "./options";

const POSITIVE = v.pipe(v.number(), v.finite(), v.minValue(1));

const LIMITS = v.object({
  /** In milliseconds. */
  span_ms: POSITIVE,
  max_bytes: POSITIVE,
});

/** How long, and how much, a black box keeps. */
export type BoxLimits = Readonly<v.InferOutput<typeof LIMITS>>;

/** Where they are not known: an hour. */
const UNKNOWN: BoxLimits = { span_ms: 3_600_000, max_bytes: DEFAULT_BOX_BYTES };

const fileIn = (folder: string) => join(folder, "limits.json");

/** Writes them to the folder of the segments. @throws what the system says. */
export function keepLimits(folder: string, limits: BoxLimits): void {
  ensurePrivateFolder(folder);
  writeFileAtomic(fileIn(folder), JSON.stringify(limits));
}

/** Those of the server that kept the segments of a folder; an hour where they cannot be read. */
export const limitsIn = (folder: string): BoxLimits => jsonFileOf(fileIn(folder), LIMITS) ?? UNKNOWN;
