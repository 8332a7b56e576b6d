/**
 * The RPM package of svc.
 */
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { fill } from "../../src/lib/fill";
import type { DebTarget, Effort } from "./deb";
import type { Release } from "./release";
import spec from "./templates/svc.spec" with { type: "text" };
import { type BuiltBinary, packageVersion, RED_HAT, writeTree } from "./tree";

/** RPM's names for processors. */
const ARCHITECTURES: Readonly<Record<DebTarget, string>> = {
  "linux-x64": "x86_64",
  "linux-arm64": "aarch64",
};

/**
 * Makes the package in `out`.
 *
 * @returns its path.
 * @throws what rpmbuild says.
 */
export async function makeRpm(
  release: Release,
  target: DebTarget,
  built: BuiltBinary,
  { out, effort }: { out: string; effort: Effort },
): Promise<string> {
  const version = packageVersion(release);
  const architecture = ARCHITECTURES[target];
  const folder = await mkdtemp(join(tmpdir(), "svc-rpm-"));
  try {
    const tree = join(folder, "tree");
    await writeTree(release, built, RED_HAT, tree);
    const file = join(folder, "svc.spec");
    await Bun.write(file, fill(spec, { version, tree }));
    const settings = {
      _topdir: folder,
      _buildhost: "localhost",
      _binary_payload: effort === "release" ? "w19.zstdio" : "w1.gzdio",
      use_source_date_epoch_as_buildtime: "1",
      clamp_mtime_to_source_date_epoch: "1",
    };
    const defines = Object.entries(settings).flatMap(([name, value]) => ["--define", `${name} ${value}`]);
    await $`rpmbuild -bb --quiet --target ${architecture}-linux ${defines} ${file}`
      .env({ ...process.env, SOURCE_DATE_EPOCH: `${release.epoch}` })
      .quiet();
    const made = join(folder, "RPMS", architecture, `svc-${version}-1.${architecture}.rpm`);
    // Not as rpm writes the version: GitHub renames files that have a tilde.
    const path = join(out, `svc-${release.version}-1.${architecture}.rpm`);
    await copyFile(made, path);
    return path;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
