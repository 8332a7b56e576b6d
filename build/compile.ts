/**
 * Compiling one binary.
 */
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { $ } from "bun";
import { version } from "../package.json";
import { addonPlugin, addons } from "./addons";
import { packagesFor, ROOT, type Target, targets } from "./targets";

/**
 * Compiles `entry` for `target` to `folder/name` (`.exe` on Windows), with its source maps in `folder/maps/<target>`.
 *
 * @param options.table the native addons to embed.
 * @returns the path of the binary.
 * @throws what Bun.build throws.
 */
export async function compile(
  target: Target,
  {
    folder,
    name,
    entry = join(ROOT, "src", "main.ts"),
    table = addons,
  }: { folder: string; name: string; entry?: string; table?: typeof addons },
): Promise<string> {
  const file = target.startsWith("windows") ? `${name}.exe` : name;
  const maps = join(folder, "maps", target);
  await rm(maps, { recursive: true, force: true });
  await mkdir(maps, { recursive: true });
  await using packages = await packagesFor(target);
  await Bun.build({
    entrypoints: [entry],
    compile: {
      target: targets[target].compile,
      executablePath: packages.runtime,
      outfile: join(maps, file),
      // What lies in the folder it is started from is not its configuration.
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
    minify: true,
    bytecode: true,
    format: "esm",
    splitting: true,
    sourcemap: "external",
    define: { SVC_VERSION: JSON.stringify(version), SVC_COMMIT: JSON.stringify(await sourceCommit(ROOT)) },
    plugins: [addonPlugin(target, packages.modules, table)],
  });
  // Bun leaves the maps beside the binary; moving the binary out also replaces one that runs, whole.
  await rename(join(maps, file), join(folder, file));
  return join(folder, file);
}

/**
 * The abbreviated commit checked out in `root`, with `-dirty` when tracked files differ from it; `unknown` without git
 * or outside a repository of its own (an archive unpacked inside somebody else's).
 */
export async function sourceCommit(root: string): Promise<string> {
  const described = await $`git -C ${root} describe --always --dirty --exclude=${"*"}`
    .env({ ...process.env, GIT_CEILING_DIRECTORIES: dirname(root) })
    .quiet()
    .nothrow();
  return described.exitCode === 0 ? described.text().trim() : "unknown";
}
