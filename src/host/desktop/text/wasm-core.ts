/**
 * The core of tesseract-wasm (https://github.com/robertknight/tesseract-wasm): WebAssembly that a person adds to `{config_dir}/ocr`. What
 * svc calls it through is JavaScript, and in the binary; so nothing but the core of that very version is taken, known by its digest.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { badInput } from "../../../lib/errors";
import { ensurePrivateFolder, PRIVATE_FILE, writeFileAtomic } from "../../../lib/files";
import { lookThrough } from "../../../lib/look";
import { readData, removeData } from "./language";

/** The version whose JavaScript is in the binary (`package.json`). */
export const CORE_VERSION = "0.11.0";

/** What reads with it, by name. */
export const CORE_NAME = `tesseract-wasm ${CORE_VERSION}`;

/** The package as npm has it, and what adds it. */
const PACKAGE = `tesseract-wasm-${CORE_VERSION}.tgz`;
export const ADD_CORE = `svc data add ocr-wasm ${PACKAGE}`;

/** A build of the core, by its name in the package, with its SHA-256. */
interface CoreBuild {
  readonly file: string;
  readonly digest: string;
  /** Whether it computes with vectors of 128 bits, several times as fast. */
  readonly hasVectors: boolean;
}

/** The builds of {@link CORE_VERSION}. */
export const CORE_BUILDS: readonly CoreBuild[] = [
  {
    file: "tesseract-core.wasm",
    digest: "3822dc6ee83d507f2bd2f83b97a3dd5dabf3ea71a9836d951602c9054615137e",
    hasVectors: true,
  },
  {
    file: "tesseract-core-fallback.wasm",
    digest: "94d9ce820d31a75814d0b4e5d099405b8738b11633bcef8c0d078a53b2b1ded2",
    hasVectors: false,
  },
];

/** The most bytes that the package may become: it becomes 4 MB. */
const MAX_UNPACKED = 32 * 1024 * 1024;

/** A function that makes a vector: `(func (result v128) i32.const 0 i8x16.splat i8x16.popcnt)`. */
const VECTOR_MODULE = Buffer.from("0061736d010000000105016000017b030201000a0a0108004100fd0ffd620b", "hex");

/** Whether this machine runs the build with vectors: on x64 it needs AVX. */
const hasVectors = (): boolean => WebAssembly.validate(VECTOR_MODULE);

/** The file with the core in `folder`. */
export const coreFile = (folder: string): string => join(folder, "tesseract-core.wasm");

/** Whether the core was added to `folder`. */
export const hasCore = (folder: string): boolean => existsSync(coreFile(folder));

/** The size of the core in `folder`, in bytes; undefined where there is none. */
export const coreBytes = (folder: string): number | undefined => lookThrough(coreFile(folder))?.size;

/** Whether these bytes are the core that this program can call and this machine can run. */
export function isCore(bytes: Uint8Array): boolean {
  const found = buildOf(bytes);
  return found !== undefined && (!found.hasVectors || hasVectors());
}

const digestOf = (bytes: Uint8Array): string => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

const buildOf = (bytes: Uint8Array): CoreBuild | undefined => {
  const own = digestOf(bytes);
  return CORE_BUILDS.find(({ digest }) => digest === own);
};

/**
 * Keeps the core that is in the file `from`: the package as npm has it, or the core itself.
 *
 * @returns its size in bytes. @throws a `bad_input` failure when it is neither, or of another version.
 */
export async function addCore(folder: string, from: string): Promise<number> {
  const core = coreIn(await readData(from));
  ensurePrivateFolder(folder);
  writeFileAtomic(coreFile(folder), core, PRIVATE_FILE);
  return core.length;
}

const [GZIP, WASM] = ["1f8b", "0061736d"];

/** @throws as {@link addCore}. */
function coreIn(bytes: Buffer): Uint8Array {
  const begins = (magic: string) => bytes.subarray(0, magic.length / 2).toString("hex") === magic;
  if (begins(WASM)) return known(bytes, "it");
  if (begins(GZIP)) {
    const wanted = CORE_BUILDS.find((build) => build.hasVectors === hasVectors());
    const path = `package/dist/${wanted?.file}`;
    const core = fileInTar(unzipped(bytes), path);
    if (!core) throw unexpected(`it has no ${path}`);
    return known(core, path);
  }
  throw unexpected("it is neither");
}

/** @param what it is, for the message. @throws as {@link addCore}. */
function known(core: Uint8Array, what: string): Uint8Array {
  const build = buildOf(core);
  const digests = CORE_BUILDS.map(({ file, digest }) => `${digest} (${file})`).join(" or ");
  if (!build) {
    throw unexpected(`${what} is of another version: its SHA-256 is ${digestOf(core)}, expected ${digests}`);
  }
  if (build.hasVectors && !hasVectors()) {
    throw unexpected(`this machine has no vectors for ${build.file}: add the package, which has another`);
  }
  return core;
}

const unexpected = (fault: string) =>
  badInput(
    `file: expected ${PACKAGE}, the package as npm has it, or the tesseract-core.wasm in it, but ${fault}`,
  );

/** @throws as {@link addCore}. */
function unzipped(bytes: Buffer): Buffer {
  try {
    return process.getBuiltinModule("node:zlib").gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED });
  } catch {
    throw unexpected("it cannot be unpacked: it may have been cut off");
  }
}

/** A header of a tar and the content of a file fill blocks of so many bytes (`ustar`, POSIX.1-2017, pax). */
const BLOCK = 512;

/** The file at `path` in a tar; undefined where it has none. */
function fileInTar(tar: Buffer, path: string): Uint8Array | undefined {
  const text = (from: number, until: number) => tar.toString("latin1", from, until).replace(/\0.*$/s, "");
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const start = at + BLOCK;
    // Neither below zero nor NaN, so that each turn gets on.
    const size = Math.max(0, Number.parseInt(text(at + 124, at + 136), 8) || 0);
    if (text(at, at + 100) === path) return tar.subarray(start, start + size);
    at = start + Math.ceil(size / BLOCK) * BLOCK;
  }
  return undefined;
}

/** @throws a `not_found` failure when it was not added. */
export const removeCore = (folder: string): Promise<void> => removeData(coreFile(folder), "ocr-wasm");
