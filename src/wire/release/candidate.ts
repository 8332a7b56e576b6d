/**
 * A file that may become the program: copied beside it first, so that what is verified is what is put in place.
 *
 * The promise: nothing of it runs before its signature, its target and its version have been accepted.
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import * as v from "valibot";
import { badInput, conflict, messageOf, rejected, systemCode } from "../../lib/errors";
import type { Reader } from "../../lib/format";
import { lookThrough } from "../../lib/look";
import { runProgram } from "../../lib/run-program";
import { printable } from "../../lib/sanitize";
import { syncFile, upgradeFiles } from "./files";
import { parseTrustedComment } from "./index";
import { MAX_SIGNATURE_BYTES, type PublicKey, parseSignature, type Signature, verify } from "./minisign";
import { compareVersions, MAX_BINARY_BYTES } from "./released-binary";

/** What svc itself is. */
export interface OwnProgram {
  /** The program, absolute and without links. */
  readonly binary: string;
  readonly version: string;
  readonly target: string;
}

export interface Candidate {
  /** The path of a signed binary. */
  readonly file: string;
  readonly signature: string;
}

/** How long the new program may take to say what it is, in milliseconds. */
const ANSWER_MS = 30_000;

const SAID = v.object({
  version: v.string(),
  target: v.string(),
  /** The first builds of 0.1.0 do not say it. */
  format: v.optional(v.pipe(v.number(), v.integer()), 1),
});

/**
 * The version that a trusted comment claims, where it is for this target and may be installed.
 *
 * @throws `rejected` for a comment of something else; `conflict` for a version that is not newer, unless that is allowed.
 */
export function acceptable(
  comment: string,
  own: Pick<OwnProgram, "version" | "target">,
  allowDowngrade: boolean,
): string {
  const said = parseTrustedComment(comment);
  if (!said)
    throw rejected(
      `the signature is not that of a binary of svc: its trusted comment is ${printable(comment, 200)}`,
    );
  if (said.target !== own.target)
    throw rejected(`the binary is for ${said.target}, and this svc is for ${own.target}`);
  if (!allowDowngrade && compareVersions(said.version, own.version) <= 0) {
    throw conflict(
      `the binary is ${said.version}, not newer than this svc (${own.version}): --allow-downgrade installs it all the same`,
    );
  }
  return said.version;
}

/**
 * Copies the candidate beside the program, verifies it, and has it say its version.
 *
 * @returns its version, and the newest format of `{config_dir}` that it knows; from then on it is in place for `swap`.
 * @throws why it is not taken, as a failure; the system error where it cannot be copied. Then nothing of it is left.
 */
export async function admit(
  own: OwnProgram,
  { file, signature }: Candidate,
  key: PublicKey,
  allowDowngrade: boolean,
): Promise<Reader> {
  const { fresh } = upgradeFiles(own.binary);
  const signed = readSignature(signature);
  // Before a large file is copied for nothing.
  acceptable(signed.trustedComment, own, allowDowngrade);
  try {
    copyProgram(own.binary, file, fresh);
    const version = acceptable(await verify(key, signed, fresh), own, allowDowngrade);
    const format = await requireSays(fresh, version, own.target);
    // Its owner needs to be able to start it; whoever could start the old one can start this one.
    chmodSync(fresh, (statSync(own.binary).mode & 0o777) | 0o500);
    syncFile(fresh);
    return { version, format };
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}

/** The signature in a file. @throws a `bad_input` failure where it cannot be read, `rejected` where it is malformed. */
export function readSignature(path: string): Signature {
  let bytes: Buffer;
  try {
    if ((lookThrough(path)?.size ?? 0) > MAX_SIGNATURE_BYTES)
      throw rejected(`${path} is too large for a signature`);
    bytes = readFileSync(path);
  } catch (error) {
    if (systemCode(error) === undefined) throw error;
    throw badInput(`the signature ${path} cannot be read (${systemCode(error)})`);
  }
  return parseSignature(bytes.toString("utf8"));
}

/** With the owner of the program, and for nobody else yet. */
function copyProgram(binary: string, file: string, fresh: string): void {
  const found = lookThrough(file);
  if (!found?.isFile()) throw badInput(`${file} ${found ? "is not a regular file" : "does not exist"}`);
  if (found.size > MAX_BINARY_BYTES)
    throw badInput(`${file} is too large: expected at most ${MAX_BINARY_BYTES} bytes`);
  const { uid, gid } = statSync(binary);
  rmSync(fresh, { force: true });
  copyAlone(file, fresh);
  if (process.getuid?.() === 0) chownSync(fresh, uid, gid);
}

/** How much is read and written at a time, in bytes. */
const PART_BYTES = 1_048_576;

/**
 * Copies `from` to the new file `to`, which nobody else may open at any time: a copy of the system's own has the mode of `from` for a
 * moment, and who opened it then could change what has been verified.
 */
function copyAlone(from: string, to: string): void {
  const source = openSync(from, "r");
  const copy = openSync(to, "wx", 0o700);
  try {
    const part = Buffer.alloc(PART_BYTES);
    for (let total = 0; ; ) {
      const bytes = readSync(source, part);
      if (bytes === 0) return;
      total += bytes;
      if (total > MAX_BINARY_BYTES) throw badInput(`${from} grew while it was copied`);
      for (let written = 0; written < bytes; ) written += writeSync(copy, part, written, bytes - written);
    }
  } finally {
    closeSync(copy);
    closeSync(source);
  }
}

/**
 * @returns the newest format that it knows.
 * @throws `rejected` when it does not start here, or is something else than was signed.
 */
async function requireSays(program: string, version: string, target: string): Promise<number> {
  let said: v.InferOutput<typeof SAID>;
  try {
    const printed = await runProgram([program, "version", "--json"], ANSWER_MS);
    said = v.parse(SAID, JSON.parse(Buffer.from(printed).toString()));
  } catch (error) {
    throw rejected(`the new binary does not say its version here (${printable(messageOf(error), 200)})`);
  }
  if (said.version !== version || said.target !== target) {
    const found = printable(`${said.version} for ${said.target}`, 200);
    throw rejected(`the new binary says that it is ${found}, and was signed as ${version} for ${target}`);
  }
  return said.format;
}
