/**
 * Compiling one binary.
 */
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { $, type BunPlugin } from "bun";
import { version } from "../package.json";
import { addonPlugin, addons, isReplaced } from "./addons";
import { lateTablePlugin } from "./late-table";
import { leftOutPlugin } from "./left-out";
import { requireTexts } from "./licences";
import { ORDER } from "./order";
import { createPack, type Pack, pagePlugin } from "./pack";
import { publicKeyOfBuild } from "./package/sign";
import { billOfMaterials } from "./sbom";
import { type Packages, ROOT, targets } from "./targets";

/**
 * Compiles `entry` to `folder/name` (`.exe` on Windows), with its source maps in `folder/maps/<target>` and what is embedded
 * in it in `folder/name.cdx.json`.
 *
 * @param packages of the platform to compile for.
 * @param options.table the native addons to embed.
 * @param options.pack what compresses them, where others use that too.
 * @returns the path of the binary.
 * @throws what Bun.build throws; where a part of what svc ships has no text of its licence.
 */
export async function compile(
  packages: Packages,
  {
    folder,
    name,
    entry = join(ROOT, "src", "main.ts"),
    table = addons,
    pack = createPack(),
  }: { folder: string; name: string; entry?: string; table?: typeof addons; pack?: Pack },
): Promise<string> {
  const { target } = packages;
  const file = target.startsWith("windows") ? `${name}.exe` : name;
  const maps = join(folder, "maps", target);
  await rm(maps, { recursive: true, force: true });
  await mkdir(maps, { recursive: true });
  const plugins = await pluginsFor(packages, table, pack);
  const bom = billOfMaterials(await partsOf(entry, plugins), { name: "svc", version });
  // A test may embed another addon, which nobody gets.
  if (table === addons) requireTexts(bom.components);
  const define = {
    SVC_VERSION: JSON.stringify(version),
    SVC_COMMIT: JSON.stringify(await sourceCommit(ROOT)),
    SVC_TARGET: JSON.stringify(target),
    SVC_RELEASE_KEY: JSON.stringify(publicKeyOfBuild()),
    SVC_BOM: JSON.stringify((await Bun.zstdCompress(JSON.stringify(bom), { level: 19 })).toBase64()),
  };
  // Bun puts the maps it writes into the binary as well: the same is compiled once for the maps, and once without any.
  for (const sourcemap of ["external", "none"] as const) {
    await Bun.build({
      entrypoints: [entry],
      compile: {
        target: targets[target].compile,
        executablePath: packages.runtime,
        outfile: join(maps, file),
        // What lies in the folder it is started from is not its configuration.
        autoloadDotenv: false,
        autoloadBunfig: false,
        bytecodeOrder: ORDER,
      },
      minify: true,
      bytecode: true,
      format: "esm",
      splitting: true,
      sourcemap,
      define,
      plugins,
    });
  }
  // The maps lie beside the binary; moving it out also replaces one that runs, whole.
  await rename(join(maps, file), join(folder, file));
  await Bun.write(join(folder, `${name}.cdx.json`), `${JSON.stringify(bom, null, 2)}\n`);
  return join(folder, file);
}

/** Puts what is embedded as files into a build. @param pack compresses it. */
export async function pluginsFor(
  packages: Packages,
  table = addons,
  pack = createPack(),
): Promise<BunPlugin[]> {
  return [addonPlugin(packages, pack, table), await pagePlugin(pack), leftOutPlugin, lateTablePlugin];
}

/** The files of which something is in a bundle of `entry`. */
async function partsOf(entry: string, plugins: BunPlugin[]): Promise<string[]> {
  const { metafile } = await Bun.build({
    entrypoints: [entry],
    target: "bun",
    minify: true,
    splitting: true,
    metafile: true,
    plugins,
  });
  const outputs = Object.values(metafile?.outputs ?? {});
  const parts = outputs.flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
  return [...new Set(parts)].map((file) => resolve(file)).filter((file) => !isReplaced(file));
}

/** Whether such a commit says what the sources are: a tree that was changed, or is in no repository, may be of anything. */
export const isExact = (commit: string): boolean => commit !== "unknown" && !commit.endsWith("-dirty");

/**
 * The commit checked out in `root`, with `-dirty` when tracked files differ from it; `unknown` without git or outside a
 * repository of its own (an archive unpacked inside somebody else's). It has twelve digits: by itself, git takes more of
 * them in a larger clone.
 */
export async function sourceCommit(root: string): Promise<string> {
  const described = await $`git -C ${root} describe --always --abbrev=12 --dirty --exclude=${"*"}`
    .env({ ...process.env, GIT_CEILING_DIRECTORIES: dirname(root) })
    .quiet()
    .nothrow();
  return described.exitCode === 0 ? described.text().trim() : "unknown";
}
