/**
 * The programs that this desk sends to hosts: signed, and kept as they were verified, each under its SHA-256.
 *
 * The promise: what is there has been verified as it is, and nobody else can change it. What no plan needs goes, but for the newest
 * {@link KEPT}.
 */
import { chmodSync, copyFileSync, readdirSync, renameSync, rmSync, utimesSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { badInput, conflict, rejected, systemCode, unavailable } from "../../lib/errors";
import { ensurePrivateFolder, PRIVATE_FILE, syncFile } from "../../lib/files";
import { lookThrough } from "../../lib/look";
import { orElse } from "../../lib/or-else";
import { printable } from "../../lib/sanitize";
import { readSignature } from "../../wire/release/candidate";
import { readIndex } from "../../wire/release/check";
import { sha256Of } from "../../wire/release/incoming-binary";
import { INDEX_NAME, isCommentOf, parseTrustedComment } from "../../wire/release/index";
import { verifyingKey } from "../../wire/release/key";
import {
  type PublicKey,
  parseSignature,
  SIGNATURE_EXTENSION,
  type Signature,
  verify,
  verifyComment,
} from "../../wire/release/minisign";
import { MAX_BINARY_BYTES, MAX_RELEASED, type ReleasedBinary } from "../../wire/release/released-binary";

/** How many are kept besides those of plans that are not over: a release for six targets. */
const KEPT = 6;

/** A signed binary, of which only the signature was looked at. */
interface SignedBinary {
  readonly path: string;
  readonly version: string;
  readonly target: string;
}

/** A signed binary that may be kept. */
interface OfferedFile {
  readonly version: string;
  readonly target: string;
  /** Verifies the file, and keeps nothing. @throws a failure for what cannot be read or is not signed. */
  verify(): Promise<void>;
  /** Keeps a copy of the file, which is verified. @throws as `verify`. */
  keep(): Promise<ReleasedBinary>;
}

/** What a person offers to send to hosts. */
interface Offer {
  readonly keyId: string;
  readonly files: OfferedFile[];
}

/** The programs that plans of this desk send to hosts. */
export interface Releases {
  /**
   * The binaries that `paths` mean: files with their signature beside them, or the folder or the index (`release.json`) of a release.
   *
   * @param publicKey what a person gave in place of the key of this svc.
   * @returns the id of the key, and what it has signed.
   * @throws a failure for what cannot be read or is not signed by the key; `bad_input` for two of one target, or of two versions;
   *   `unavailable` without a key.
   */
  offered(paths: readonly string[], publicKey: string | undefined): Promise<Offer>;
  /**
   * Whether a file is there, as long as it was kept, and its signature is of that version and target. What another key than that of this svc
   * has signed, hosts verify.
   */
  has(file: ReleasedBinary): boolean;
  /**
   * Reads a file that is kept, whole.
   *
   * @throws `rejected` where it is not what its digest and its signature say; `conflict` where it is gone.
   */
  verifyKept(file: ReleasedBinary): Promise<void>;
  /** Verifies a file that is kept; from now on it is the newest. @throws as `verifyKept`. */
  keepOn(file: ReleasedBinary): Promise<void>;
  /** Removes what is not needed, but for the newest {@link KEPT}. */
  removeOthers(isNeeded: (sha256: string) => boolean): void;
}

/** @param folder where they are kept; it is made with the first. */
export function createReleases(folder: string): Releases {
  return {
    async offered(paths, publicKey) {
      const key = verifyingKey(publicKey);
      if (key === null)
        throw unavailable(
          "this svc has no release key, so nobody knows who made the files: name the key with --public-key",
        );
      const found = await foundIn(paths, key);
      const files = found.map((one) => ({
        version: one.version,
        target: one.target,
        async verify() {
          await verify(key, readSignature(`${one.path}${SIGNATURE_EXTENSION}`), one.path);
        },
        keep: () => keep(folder, one, key),
      }));
      return { keyId: key.id, files };
    },
    has: (file) =>
      lookThrough(join(folder, file.sha256))?.size === file.size && orElse(() => isSignedAs(file), false),
    verifyKept: (file) => verifyKept(folder, file),
    async keepOn(file) {
      await verifyKept(folder, file);
      beNewest(join(folder, file.sha256));
    },
    removeOthers(isNeeded) {
      const others = readdirSync(folder)
        .filter((name) => !isNeeded(name))
        .map((name) => ({ name, at: lookThrough(join(folder, name))?.mtimeMs ?? 0 }))
        .sort((a, b) => b.at - a.at);
      for (const { name } of others.slice(KEPT)) rmSync(join(folder, name), { force: true });
    },
  };
}

async function foundIn(paths: readonly string[], key: PublicKey): Promise<SignedBinary[]> {
  const offered: SignedBinary[] = [];
  for (const path of paths.map((one) => resolve(one)))
    for (const file of await filesIn(path, key)) {
      const comment = verifyComment(key, readSignature(`${file}${SIGNATURE_EXTENSION}`));
      const said = parseTrustedComment(comment);
      if (!said)
        throw rejected(`${file} is not a binary of svc: its trusted comment is ${printable(comment, 200)}`);
      offered.push({ path: file, ...said });
    }
  const [first] = offered;
  const other = offered.find(({ version }) => version !== first?.version);
  if (first && other)
    throw bad(`expected files of one version but found ${first.version} and ${other.version}`);
  const twice = offered.find(({ target }, at) => offered.findIndex((one) => one.target === target) !== at);
  if (twice) throw bad(`expected one file for each target but found two for ${twice.target}`);
  if (!first) throw bad("expected the binary of a release but found none");
  if (offered.length > MAX_RELEASED) throw bad(`expected at most ${MAX_RELEASED}`);
  return offered;
}

const bad = (what: string) => badInput(`files: ${what}`);

/** The binaries of a release that are there; a path that is no release is one itself. */
async function filesIn(path: string, key: PublicKey): Promise<string[]> {
  const isFolder = lookThrough(path)?.isDirectory() === true;
  if (!isFolder && !path.endsWith(INDEX_NAME)) return [path];
  const { index } = await readIndex(path, key);
  const folder = isFolder ? path : dirname(path);
  const files = Object.values(index.files).map(({ name }) => join(folder, name));
  return files.filter((file) => lookThrough(file)?.isFile());
}

async function keep(
  folder: string,
  { path, version, target }: SignedBinary,
  key: PublicKey,
): Promise<ReleasedBinary> {
  const found = lookThrough(path);
  if (!found?.isFile()) throw bad(`${path} ${found ? "is not a regular file" : "does not exist"}`);
  if (found.size > MAX_BINARY_BYTES) throw bad(`${path} has more than ${MAX_BINARY_BYTES} bytes`);
  const signature = readSignature(`${path}${SIGNATURE_EXTENSION}`);
  ensurePrivateFolder(folder);
  const copy = join(folder, `new-${crypto.randomUUID()}`);
  try {
    copyFileSync(path, copy);
    const comment = parseTrustedComment(await verify(key, signature, copy));
    if (comment?.version !== version || comment.target !== target)
      throw conflict(`${path} was replaced meanwhile: try again`);
    chmodSync(copy, PRIVATE_FILE);
    syncFile(copy);
    const sha256 = await sha256Of(copy);
    beNewest(copy);
    renameSync(copy, join(folder, sha256));
    return { target, version, size: found.size, sha256, signature: signature.text };
  } catch (error) {
    rmSync(copy, { force: true });
    throw error;
  }
}

/** Has {@link Releases.removeOthers} take a file for the newest. */
function beNewest(path: string): void {
  const now = new Date();
  utimesSync(path, now, now);
}

/** The key of this svc where it is that which is said to have signed a file; null for any other. */
function ownKeyOf(signature: Signature): PublicKey | null {
  const own = verifyingKey(undefined);
  return own?.id === signature.id ? own : null;
}

/** Whether the signature of a file is of its version and target. @throws `rejected` for one that is none, or was changed. */
function isSignedAs(file: ReleasedBinary): boolean {
  const signature = parseSignature(file.signature);
  const own = ownKeyOf(signature);
  return isCommentOf(own ? verifyComment(own, signature) : signature.trustedComment, file);
}

async function verifyKept(folder: string, file: ReleasedBinary): Promise<void> {
  const path = join(folder, file.sha256);
  const about = `svc ${file.version} for ${file.target}`;
  const signature = parseSignature(file.signature);
  const own = ownKeyOf(signature);
  const found = await sha256Of(path).catch((error) => {
    if (systemCode(error) === undefined) throw error;
    throw conflict(`${about} cannot be read on this desk any more (${systemCode(error)})`);
  });
  if (found !== file.sha256)
    throw rejected(`${about} is not what was kept: the file was changed on the disk`);
  if (own) await verify(own, signature, path);
}
