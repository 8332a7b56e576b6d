/**
 * The format of `{config_dir}`: one number for all that is in it, in `format.json`. A folder without that file has format 1.
 *
 * A release that only adds something counts `FORMAT` up; one whose folder or databases an earlier svc would misread sets `NEEDS` to the same
 * number, which that svc compares with its own `FORMAT` before it uses anything.
 */
import { constants } from "node:fs";
import * as v from "valibot";
import { version } from "../version";
import { conflict, systemCode } from "./errors";
import { readSmallFile, writeFileAtomic } from "./files";
import { configFiles } from "./paths";
import { printable } from "./sanitize";
import { valueIn } from "./value-in";

/** The format that this svc writes. */
export const FORMAT = 3;

/** The lowest format that a svc must know to use what this one writes; also the `user_version` of its databases. */
export const NEEDS = 3;

const NUMBER = v.pipe(v.number(), v.integer(), v.minValue(1));

const FILE = v.looseObject({
  format: NUMBER,
  /** The lowest format that a svc must know to use the folder. */
  needs: NUMBER,
  /** The version of svc that gave the folder this format. */
  svc: v.string(),
  /** The files that the folder has had, by name (`trust-files.ts`). */
  files: v.optional(v.array(v.string()), []),
});

type FolderFormat = Readonly<Pick<v.InferOutput<typeof FILE>, "format" | "needs" | "svc">>;

/** Many times what svc writes. */
const MAX_BYTES = 65_536;

/** Root reads the folder of a daemon, which could put a link there to what only root may open. Windows has no such flag. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;

/** What open(2) fails with where something else than a file is there, which svc has not written. */
const OTHERS = ["EISDIR", "ELOOP"];

const FIRST: FolderFormat = { format: 1, needs: 1, svc: "0.1.0" };

/** The text of the file for a folder of this svc. @param others further fields. */
export const formatText = (format = FORMAT, needs = NEEDS, others: object = {}) =>
  `${JSON.stringify({ ...others, format, needs, svc: version })}\n`;

/**
 * The files that the folder has had; none in one without `format.json`.
 *
 * @throws a `conflict` failure where the file is not one that svc wrote; the system error when it cannot be read.
 */
export const listedFiles = (configDir: string): readonly string[] => contentOf(configDir)?.files ?? [];

/**
 * Lists these files as those that the folder has had, in place of those that were listed. Called under the lock of the file. A folder
 * that has no `format.json` yet gets none by this.
 *
 * @throws the system error where it cannot be read or written.
 */
export function listFiles(configDir: string, files: readonly string[]): void {
  const path = configFiles(configDir).format;
  const content = valueIn(FILE, readSmallFile(path, MAX_BYTES, NO_LINK));
  if (content) writeFileAtomic(path, `${JSON.stringify({ ...content, files })}\n`);
}

/** @throws a `conflict` failure where the file is not one that svc wrote; the system error when it cannot be read. */
export const formatOf = (configDir: string): FolderFormat => contentOf(configDir) ?? FIRST;

/** What the file has; undefined where there is none. @throws as {@link formatOf}. */
function contentOf(configDir: string): v.InferOutput<typeof FILE> | undefined {
  const path = configFiles(configDir).format;
  let text: string | undefined;
  try {
    text = readSmallFile(path, MAX_BYTES, NO_LINK);
  } catch (error) {
    const code = systemCode(error) ?? "";
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (!OTHERS.includes(code)) throw error;
  }
  const content = valueIn(FILE, text);
  if (content) return content;
  throw conflict(
    `${path} is not what svc writes there, so the format of the folder is unknown: restore it from a backup`,
  );
}

/** What is to read a folder: the version of a svc, and the newest format that it knows. */
export interface Reader {
  readonly version: string;
  readonly format: number;
}

/**
 * Nothing of a newer svc is used: this one could misread and damage it.
 *
 * @param reader another svc that is to read the folder; default: this one.
 * @throws a `conflict` failure for the folder of a svc that this one, or the reader, does not understand; as {@link formatOf}.
 */
export function requireKnownFormat(configDir: string, reader?: Reader): void {
  const { needs, svc } = formatOf(configDir);
  if (needs <= (reader?.format ?? FORMAT)) return;
  const theirs = `svc ${printable(svc, 40)} (format ${needs})`;
  throw conflict(
    reader
      ? `${configDir} was written by ${theirs}; the new program is svc ${reader.version} (format ${reader.format}): use that version, or a backup from before it`
      : `${configDir} was written by ${theirs}; this is svc ${version} (format ${FORMAT}): use that version, or a backup from before it`,
  );
}
