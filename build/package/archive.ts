/**
 * An archive for each target: a tarball, or a ZIP archive for Windows, with the program, its manual and completions.
 */
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { scripts } from "../../src/cli/completion";
import { writeManual } from "../manual";
import { ROOT, type Target } from "../targets";
import type { Effort } from "./deb";
import type { Release } from "./release";
import { type BuiltBinary, settle } from "./tree";

const isWindows = (target: Target) => target.startsWith("windows");

/** The file name of a target's archive. */
export const archiveName = ({ version }: Pick<Release, "version">, target: Target): string =>
  `${archiveFolder({ version }, target)}.${isWindows(target) ? "zip" : "tar.gz"}`;

/** The folder that is all there is in it. */
export const archiveFolder = ({ version }: Pick<Release, "version">, target: Target): string =>
  `svc-${version}-${target}`;

/**
 * Makes the archive of `target` in `out`.
 *
 * @returns its path.
 * @throws what tar or zip says.
 */
export async function makeArchive(
  release: Release,
  target: Target,
  built: BuiltBinary,
  { out, effort }: { out: string; effort: Effort },
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "svc-archive-"));
  try {
    const top = archiveFolder(release, target);
    const tree = join(folder, top);
    const program = isWindows(target) ? "svc.exe" : "svc";
    await mkdir(tree);
    await copyFile(built.binary, join(tree, program));
    for (const name of ["LICENSE", "CHANGELOG.md"]) await copyFile(join(ROOT, name), join(tree, name));
    await copyFile(built.bom, join(tree, "svc.cdx.json"));
    if (isWindows(target)) await Bun.write(join(tree, "svc.ps1"), scripts.powershell);
    else {
      await writeManual(join(tree, "man", "man1"), release);
      for (const shell of ["bash", "zsh", "fish"] as const) {
        await Bun.write(join(tree, "completions", `svc.${shell}`), scripts[shell]);
      }
    }
    await settle(tree, release, new Set([program]));
    const path = join(out, archiveName(release, target));
    await rm(path, { force: true });
    await (isWindows(target) ? zip(folder, top, path, effort) : tar(folder, top, path, effort));
    return path;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const levelOf = (effort: Effort) => (effort === "release" ? "-9" : "-1");

/** Names in order, owned by root: the archive depends on the files alone. */
async function tar(folder: string, top: string, path: string, effort: Effort): Promise<void> {
  await $`tar --create --directory ${folder} ${TAR} ${top} | gzip -n ${levelOf(effort)} > ${path}`.quiet();
}

/** How an archive of tar depends on nothing but the files. */
export const TAR = ["--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"];

/** A ZIP archive has local times. */
async function zip(folder: string, top: string, path: string, effort: Effort): Promise<void> {
  await $`find ${top} -type f | LC_ALL=C sort | zip -q -X ${levelOf(effort)} ${path} -@`
    .cwd(folder)
    .env({ ...process.env, TZ: "UTC" })
    .quiet();
}
