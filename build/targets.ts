/**
 * The platforms that svc is built for, and the packages that a build for another platform needs.
 */
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { $ } from "bun";

/** The repository. */
export const ROOT = join(import.meta.dir, "..");

interface Platform {
  readonly compile: Bun.Build.CompileTarget;
  /** As `bun install --os --cpu --libc` spells it. */
  readonly os: string;
  readonly cpu: string;
  readonly libc: "glibc" | "musl";
  /** The package that holds the runtime. */
  readonly runtime: string;
}

export const targets = {
  "linux-x64": {
    compile: "bun-linux-x64",
    os: "linux",
    cpu: "x64",
    libc: "glibc",
    runtime: "@oven/bun-linux-x64",
  },
  "linux-arm64": {
    compile: "bun-linux-arm64",
    os: "linux",
    cpu: "arm64",
    libc: "glibc",
    runtime: "@oven/bun-linux-aarch64",
  },
  "linux-x64-musl": {
    compile: "bun-linux-x64-musl",
    os: "linux",
    cpu: "x64",
    libc: "musl",
    runtime: "@oven/bun-linux-x64-musl",
  },
  "darwin-x64": {
    compile: "bun-darwin-x64",
    os: "darwin",
    cpu: "x64",
    libc: "glibc",
    runtime: "@oven/bun-darwin-x64",
  },
  "darwin-arm64": {
    compile: "bun-darwin-arm64",
    os: "darwin",
    cpu: "arm64",
    libc: "glibc",
    runtime: "@oven/bun-darwin-aarch64",
  },
  "windows-x64": {
    compile: "bun-windows-x64",
    os: "win32",
    cpu: "x64",
    libc: "glibc",
    runtime: "@oven/bun-windows-x64",
  },
} as const satisfies Record<string, Platform>;

export type Target = keyof typeof targets;

export const targetNames = Object.keys(targets) as Target[];

export const isTarget = (name: string): name is Target => Object.hasOwn(targets, name);

/**
 * The targets that `lists` name, each once: names separated by commas, or `all`.
 *
 * @throws for a name that is none.
 */
export function targetsIn(lists: readonly string[]): readonly Target[] {
  const named = lists
    .flatMap((list) => list.split(","))
    .flatMap((name) => {
      if (name === "all") return targetNames;
      if (isTarget(name)) return name;
      throw new Error(`--target: expected all or one of ${targetNames.join(", ")} but found "${name}"`);
    });
  return [...new Set(named)];
}

/** The target that this machine is. @throws when svc is not built for it. */
export function hostTarget(): Target {
  const os = process.platform === "win32" ? "windows" : process.platform;
  const { header }: { header?: { glibcVersionRuntime?: string } } = process.report.getReport();
  const musl = process.platform === "linux" && header?.glibcVersionRuntime === undefined;
  const name = `${os}-${process.arch}${musl ? "-musl" : ""}`;
  if (isTarget(name)) return name;
  throw new Error(`svc is not built for ${name}: expected one of ${targetNames.join(", ")}`);
}

/** Where the packages of a target are. */
export interface Packages extends AsyncDisposable {
  readonly target: Target;
  readonly modules: string;
  /** The runtime that the binary starts with. */
  readonly runtime: string;
}

/**
 * The packages of `target`, exactly as bun.lock pins them: for this machine, those that are installed already; for another,
 * those in `dist/packages`, which are installed there the first time.
 *
 * They have the same place in every clone, as the paths of addons decide how Bun names the parts of a binary.
 */
export async function packagesFor(target: Target): Promise<Packages> {
  if (target === hostTarget()) {
    return {
      target,
      modules: join(ROOT, "node_modules"),
      runtime: process.execPath,
      async [Symbol.asyncDispose]() {},
    };
  }
  const { os, runtime } = targets[target];
  const modules = join(await installed(target), "node_modules");
  return {
    target,
    modules,
    runtime: join(modules, runtime, "bin", os === "win32" ? "bun.exe" : "bun"),
    async [Symbol.asyncDispose]() {},
  };
}

/** The folder with the packages of `target`, which is moved into its place whole: builds may run at the same time. */
async function installed(target: Target): Promise<string> {
  const pins = new Bun.CryptoHasher("sha256");
  for (const name of MANIFESTS) pins.update(await Bun.file(join(ROOT, name)).bytes());
  const place = join(ROOT, "dist", "packages", `${target}-${pins.digest("hex").slice(0, 12)}`);
  if (existsSync(place)) return place;
  await mkdir(dirname(place), { recursive: true });
  const folder = await mkdtemp(`${place}.`);
  try {
    for (const name of MANIFESTS) await copyFile(join(ROOT, name), join(folder, name));
    const { os, cpu, libc } = targets[target];
    await $`${process.execPath} install --frozen-lockfile --ignore-scripts --os ${os} --cpu ${cpu} --libc ${libc}`
      .cwd(folder)
      .quiet();
    await rename(folder, place);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    // Another build was first.
    if (!existsSync(place)) throw error;
  }
  return place;
}

/** What pins the packages. */
const MANIFESTS = ["package.json", "bun.lock", "bunfig.toml"];
