/**
 * The Debian package of svc (deb(5), deb-control(5)).
 */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { $ } from "bun";
import { fill } from "../../src/lib/fill";
import type { Release } from "./release";
import control from "./templates/control" with { type: "text" };
import overrides from "./templates/lintian-overrides" with { type: "text" };
import postinst from "./templates/postinst" with { type: "text" };
import postrm from "./templates/postrm" with { type: "text" };
import prerm from "./templates/prerm" with { type: "text" };
import { type BuiltBinary, compressed, DEBIAN, packageVersion, settle, writeTree } from "./tree";

/** Debian's names for processors. */
const ARCHITECTURES = { "linux-x64": "amd64", "linux-arm64": "arm64" } as const;

export type DebTarget = keyof typeof ARCHITECTURES;

/** How files are compressed: well for a release, or fast for a test. */
export type Effort = "release" | "fast";

/**
 * Makes the package in `out`.
 *
 * @returns its path.
 * @throws what dpkg-deb says.
 */
export async function makeDeb(
  release: Release,
  target: DebTarget,
  built: BuiltBinary,
  { out, effort }: { out: string; effort: Effort },
): Promise<string> {
  const architecture = ARCHITECTURES[target];
  const version = packageVersion(release);
  const folder = await mkdtemp(join(tmpdir(), "svc-deb-"));
  const tree = join(folder, "tree");
  try {
    await writeTree(release, built, DEBIAN, tree);
    const papers = join(tree, "usr/share/doc/svc");
    await Bun.write(join(papers, "changelog.gz"), compressed(changelog(release, version)));
    await Bun.write(join(tree, "usr/share/lintian/overrides/svc"), overrides);
    const sums = await sumsOf(tree);
    const fields = { version, architecture, kibibytes: await kibibytesOf(tree) };
    const parts = { control: fill(control, fields), md5sums: sums, postinst, prerm, postrm };
    for (const [name, text] of Object.entries(parts)) await Bun.write(join(tree, "DEBIAN", name), text);
    await settle(tree, release, new Set(["usr/bin/svc", "DEBIAN/postinst", "DEBIAN/prerm", "DEBIAN/postrm"]));
    // Not as dpkg writes the version: GitHub renames files that have a tilde.
    const path = join(out, `svc_${release.version}_${architecture}.deb`);
    // More than one thread would cut the archive into other blocks.
    const method = effort === "release" ? ["-Zxz", "-z6", "--threads-max=1"] : ["-Zgzip", "-z1"];
    await $`dpkg-deb --root-owner-group ${method} --build ${tree} ${path}`
      .env({ ...process.env, SOURCE_DATE_EPOCH: `${release.epoch}` })
      .quiet();
    return path;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Debian's form (deb-changelog(5)); what has changed is in CHANGELOG.md. */
function changelog({ epoch }: Release, version: string): string {
  const time = new Date(epoch * 1_000).toUTCString().replace("GMT", "+0000");
  return `svc (${version}) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- svc maintainers <svc@example.org>  ${time}\n`;
}

async function filesIn(tree: string): Promise<string[]> {
  const entries = await readdir(tree, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

async function sumsOf(tree: string): Promise<string> {
  const files = (await filesIn(tree)).sort();
  const lines = files.map(async (path) => {
    const digest = new Bun.CryptoHasher("md5").update(await Bun.file(path).bytes()).digest("hex");
    return `${digest}  ${path.slice(tree.length + 1)}\n`;
  });
  return (await Promise.all(lines)).join("");
}

/** As Debian's policy counts it (5.6.20): each file in whole kibibytes. */
async function kibibytesOf(tree: string): Promise<number> {
  const sizes = (await filesIn(tree)).map(async (path) => Math.ceil((await stat(path)).size / 1_024));
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
