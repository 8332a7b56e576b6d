/**
 * The binary of one target in a release, as a plan names it and a host takes it: what it is, and what it has to be signed with.
 */
import * as v from "valibot";
import { field, SHA256 } from "../../core/fields";

/** No binary is longer: today's have some 140 MB. */
export const MAX_BINARY_BYTES = 1_000_000_000;

/** Versions by https://semver.org, without build metadata, which has no order. */
const VERSION = /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

export const versionField = v.pipe(v.string(), v.maxLength(100), v.regex(VERSION));

/** The key that verifies a release, where it is not that of this build. */
export const PUBLIC_KEY = field(
  v.optional(v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096))),
  "The public key of minisign that signs releases, or its file (default: the one in this svc)",
);

/** Begins as `linux-x64` does. It has no dot, space or slash, so it can stand in a trusted comment and a file name. */
export const targetField = v.pipe(v.string(), v.regex(/^[a-z0-9]+(-[a-z0-9]+){1,4}$/), v.maxLength(50));

/** Bytes. */
export const sizeField = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_BINARY_BYTES));

/** Below 0 when the version `a` is older than `b`, 0 when they are equal, above 0 when `a` is newer (semver.org, 11). */
export const compareVersions = (a: string, b: string): number => Bun.semver.order(a, b);

/** The most files of one plan: a release has some six targets. */
export const MAX_RELEASED = 16;

/** The longest signature that travels, in characters: minisign's own have some 300. */
const MAX_SIGNATURE = 1_000;

/** The schema of a {@link ReleasedBinary}. */
export const RELEASED_BINARY = v.strictObject({
  target: targetField,
  version: versionField,
  size: sizeField,
  sha256: SHA256,
  /** The text of its `.minisig` file. */
  signature: v.pipe(v.string(), v.maxLength(MAX_SIGNATURE)),
});

export type ReleasedBinary = v.InferOutput<typeof RELEASED_BINARY>;

/** The file for a host, if there is one. */
export const binaryFor = (files: readonly ReleasedBinary[], target: string): ReleasedBinary | undefined =>
  files.find((file) => file.target === target);

/** Whether a host with `version` has the file already, or something newer. */
export const isNoNews = ({ version }: Pick<ReleasedBinary, "version">, has: string): boolean =>
  compareVersions(version, has) <= 0;

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
