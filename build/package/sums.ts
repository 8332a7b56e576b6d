/**
 * What a release says of its own files: `release.json`, `SHA256SUMS`, and signatures where a key is given.
 */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { INDEX_NAME, type ReleaseIndex, trustedComment } from "../../src/wire/release/index";
import { SIGNATURE_EXTENSION } from "../../src/wire/release/minisign";
import { isExact } from "../compile";
import { type Target, targetNames } from "../targets";
import type { Effort } from "./deb";
import type { Release } from "./release";
import { type SecretKey, signFile } from "./sign";

const SUMS_NAME = "SHA256SUMS";

/** The file name of a target's bare binary. */
export const binaryName = (target: Target): string =>
  target.startsWith("windows") ? `svc-${target}.exe` : `svc-${target}`;

/** What every part of a release comes from, besides the programs that make it. */
export interface Sources extends Release {
  /** The public key in the binaries; empty where there is none. */
  readonly key: string;
  readonly effort: Effort;
}

/**
 * Makes `out`, empty unless its parts are of the same sources, which are noted in the file `note`.
 *
 * @param note is not in `out`: nobody else needs it.
 */
export async function clearRelease(sources: Sources, out: string, note: string): Promise<void> {
  const { version, commit, epoch, key, effort } = sources;
  const text = JSON.stringify({ version, commit, epoch, key, effort });
  const last = Bun.file(note);
  const isSame = isExact(commit) && (await last.exists()) && (await last.text()) === text;
  if (!isSame) await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  await Bun.write(note, text);
}

/**
 * Writes the index and the sums of what is in `out`, and with a key the signatures of both and of each bare binary. Other
 * signatures are removed.
 *
 * @returns the paths of what was written.
 */
export async function describeRelease(
  { version, commit, date }: Release,
  out: string,
  key: SecretKey | undefined,
): Promise<string[]> {
  const found = (await readdir(out, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(out.length + 1));
  const present = found.filter((name) => !name.endsWith(SIGNATURE_EXTENSION));
  // They would be of other files, or of another key.
  for (const name of found) if (!present.includes(name)) await rm(join(out, name));
  const files: ReleaseIndex["files"] = {};
  const signed: Array<[path: string, comment: string]> = [];
  for (const target of targetNames) {
    const name = binaryName(target);
    if (!present.includes(name)) continue;
    const path = join(out, name);
    files[target] = { name, size: (await stat(path)).size, sha256: await sha256Of(path) };
    signed.push([path, trustedComment(version, target)]);
  }
  const index = join(out, INDEX_NAME);
  const content: ReleaseIndex = { format: 1, version, commit, date, files };
  await Bun.write(index, `${JSON.stringify(content, null, 2)}\n`);
  const sums = join(out, SUMS_NAME);
  const names = [...new Set([...present.filter((name) => name !== SUMS_NAME), INDEX_NAME])].sort();
  const lines: string[] = [];
  for (const name of names) lines.push(`${await sha256Of(join(out, name))}  ${name}\n`);
  await Bun.write(sums, lines.join(""));
  signed.push([index, `svc ${version} ${INDEX_NAME}`], [sums, `svc ${version} ${SUMS_NAME}`]);
  const signatures: string[] = [];
  for (const [path, comment] of key ? signed : []) {
    if (key) signatures.push(await signFile(key, path, comment));
  }
  return [index, sums, ...signatures];
}

/** The SHA-256 of a file, in hexadecimal. */
export async function sha256Of(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const piece of Bun.file(path).stream()) hash.update(piece);
  return hash.digest("hex");
}
