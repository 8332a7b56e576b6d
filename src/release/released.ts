/**
 * The binary of one target in a release, as a plan names it: what it is, and what it has to be signed with.
 */
import * as v from "valibot";
import { compareVersions, MAX_BINARY_BYTES, parseTrustedComment, targetField, versionField } from "./index";

/** The most files of one plan: a release has some six targets. */
export const MAX_RELEASED = 16;

/** The longest signature that travels, in characters: minisign's own have some 300. */
const MAX_SIGNATURE = 1_000;

/** The schema of a {@link Released}. */
export const RELEASED = v.strictObject({
  target: targetField,
  version: versionField,
  /** Bytes. */
  size: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_BINARY_BYTES)),
  /** 64 hexadecimal digits. */
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  /** The text of its `.minisig` file. */
  signature: v.pipe(v.string(), v.maxLength(MAX_SIGNATURE)),
});

export type Released = v.InferOutput<typeof RELEASED>;

/** The file for a host, if there is one. */
export const releasedFor = (files: readonly Released[], target: string): Released | undefined =>
  files.find((file) => file.target === target);

/** Whether a host with `version` has the file already, or something newer. */
export const isNoNews = ({ version }: Pick<Released, "version">, has: string): boolean =>
  compareVersions(version, has) <= 0;

/** Whether a trusted comment is that of this file. */
export function isCommentOf(comment: string, { version, target }: Released): boolean {
  const said = parseTrustedComment(comment);
  return said?.version === version && said.target === target;
}

/** What became of an upgrade, as a host answers. */
export const LAST_UPGRADE = v.object({
  /** The id of the job that began it. */
  id: v.string(),
  from: v.string(),
  to: v.string(),
  /** Null while it is under way. */
  ok: v.nullable(v.boolean()),
  error: v.nullable(v.string()),
});

export type LastUpgrade = v.InferOutput<typeof LAST_UPGRADE>;
