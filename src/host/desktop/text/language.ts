/**
 * What tesseract must know of a language: files that a person adds to `{config_dir}/ocr`.
 */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import * as v from "valibot";
import { badInput, Failure, notFound, systemCode } from "../../../lib/errors";
import { ensurePrivateFolder, PRIVATE_FILE, writeFileAtomic } from "../../../lib/files";
import { readRegularFile } from "../../../lib/regular-file";

/** The name of a language as tesseract has it: `eng`, `chi_sim`. */
export const LANGUAGE = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z]{3}(?:_[A-Za-z]{1,16}){0,2}$/, "the name of a language such as eng or chi_sim"),
);

/** The largest file, in bytes: the best data of English takes 15 MB, with the former recogniser 23 MB. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * A file of data begins with the number of its parts and the offset of each, -1 for none (tesseract, `ccutil/tessdatamanager.cpp`).
 * The newer recogniser is part 17; the former one, parts 3 and 4.
 */
const MAX_PARTS = 64;
const NEWER = 17;
const RECOGNISERS = [NEWER, 3];

const SUFFIX = ".traineddata";

/** The file with the data of `language` in `folder`. */
export const dataFile = (folder: string, language: string) => join(folder, language + SUFFIX);

/** Copies the data in the file `from`. @returns its size in bytes. @throws a `bad_input` failure when it is not such data. */
export async function addLanguage(folder: string, language: string, from: string): Promise<number> {
  const bytes = await readData(from);
  const fault = faultOf(bytes);
  if (fault) throw badInput(`file: expected language data of tesseract (.traineddata), but ${fault}`);
  ensurePrivateFolder(folder);
  writeFileAtomic(dataFile(folder, language), bytes, PRIVATE_FILE);
  return bytes.length;
}

/** The content of a file of data. @throws a `bad_input` failure when it cannot be read, or is too large. */
export async function readData(path: string): Promise<Buffer> {
  try {
    return await readRegularFile(path, MAX_BYTES, (expected) => badInput(`file: ${expected}`));
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw badInput(`file: cannot be read (${systemCode(error) ?? "unknown error"})`);
  }
}

/** Why `bytes` cannot be data of a language; undefined when they look like it. */
export function faultOf(bytes: Buffer): string | undefined {
  const parts = bytes.length < 4 ? 0 : bytes.readUInt32LE(0);
  const header = 4 + parts * 8;
  if (parts < 1 || parts > MAX_PARTS || header > bytes.length) return "it has no table of parts";
  const offsets = Array.from({ length: parts }, (_, nth) => bytes.readBigInt64LE(4 + nth * 8));
  const used = offsets.filter((offset) => offset !== -1n);
  const isInside = (offset: bigint) => offset >= header && offset < bytes.length;
  if (!used.every(isInside)) return "a part lies outside the file: it may have been cut off";
  if (!used.every((offset, nth) => nth === 0 || offset > (used[nth - 1] ?? 0n))) return "its parts overlap";
  if (!RECOGNISERS.some((part) => (offsets[part] ?? -1n) !== -1n)) return "it holds no recogniser";
  return undefined;
}

/** Whether `bytes` hold the newer recogniser, the only one that tesseract-wasm has; without it, it reads nothing and says nothing. */
export const hasNewerRecogniser = (bytes: Buffer): boolean =>
  faultOf(bytes) === undefined &&
  bytes.readUInt32LE(0) > NEWER &&
  bytes.readBigInt64LE(4 + NEWER * 8) !== -1n;

/** The languages in `folder`, sorted, with the size of each in bytes. */
export async function listLanguages(folder: string) {
  const names = await readdir(folder).catch((error) => {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  });
  const languages = names.filter((name) => name.endsWith(SUFFIX)).toSorted();
  return Promise.all(
    languages.map(async (name) => ({
      language: name.slice(0, -SUFFIX.length),
      bytes: (await stat(join(folder, name))).size,
    })),
  );
}

/** @throws a `not_found` failure when there is none of that language. */
export const removeLanguage = (folder: string, language: string): Promise<void> =>
  removeData(dataFile(folder, language), `ocr-${language}`);

/** @param name of the data, for the failure. @throws a `not_found` failure when there is no such file. */
export async function removeData(file: string, name: string): Promise<void> {
  try {
    await rm(file);
  } catch (error) {
    if (systemCode(error) === "ENOENT") throw notFound(`there is no data of ${name}`);
    throw error;
  }
}
