/**
 * The index of a release, `release.json`: its version, and the binary of each target. `release.json.minisig` beside it is its
 * signature.
 */
import * as v from "valibot";
import { SHA256 } from "../../core/fields";
import { rejected } from "../../lib/errors";
import { jsonOr } from "../../lib/json-in";
import { type ReleasedBinary, sizeField, targetField, versionField } from "./released-binary";

/** The file name of the index. */
export const INDEX_NAME = "release.json";

/** No index is longer: six targets need some 1,500 bytes. */
export const MAX_INDEX_BYTES = 65_536;

/** A name without a folder. */
const nameField = v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/), v.maxLength(100));

const fileSchema = v.object({
  name: nameField,
  size: sizeField,
  sha256: SHA256,
});

/** Further keys are ignored, so that a later release may have them. */
const indexSchema = v.object({
  format: v.literal(1),
  version: versionField,
  /** Abbreviated; `unknown` for sources outside a repository. */
  commit: v.pipe(v.string(), v.regex(/^[0-9A-Za-z-]{1,60}$/)),
  date: v.pipe(v.string(), v.isoDate()),
  /** The bare binary of each target that was built. */
  files: v.record(targetField, fileSchema),
});

export type ReleaseIndex = v.InferOutput<typeof indexSchema>;

/** The index that `text` is. @throws a `rejected` failure that names the first field that is wrong. */
export function parseIndex(text: string): ReleaseIndex {
  const read = jsonOr(text, () => rejected("the release index is not JSON"));
  const parsed = v.safeParse(indexSchema, read);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const field = v.getDotPath(issue) ?? "";
  if (field === "format" && typeof issue.input === "number") {
    throw rejected(`the release index has the format ${issue.input}, this svc reads the format 1`);
  }
  throw rejected(`the release index is malformed${field && `: ${field}`}`);
}

/** The trusted comment of the signature of a binary, which keeps it from being taken for another version or target. */
export const trustedComment = (version: string, target: string): string => `svc ${version} ${target}`;

/** The version and target in a trusted comment of a binary; undefined for another comment. */
export function parseTrustedComment(comment: string): { version: string; target: string } | undefined {
  const [name, version, target, ...more] = comment.split(" ");
  if (name !== "svc" || more.length > 0 || !v.is(versionField, version) || !v.is(targetField, target)) {
    return undefined;
  }
  return { version, target };
}

/** Whether a trusted comment is that of this file. */
export function isCommentOf(comment: string, { version, target }: ReleasedBinary): boolean {
  const said = parseTrustedComment(comment);
  return said?.version === version && said.target === target;
}
