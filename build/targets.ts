/**
 * The platforms that svc is built for, and the packages that a build for another platform needs.
 */
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** Where a target's packages are. */
export interface Packages extends AsyncDisposable {
  readonly target: Target;
  readonly modules: string;
  /** The runtime that the binary starts with. */
  readonly runtime: string;
}

/**
 * The packages of `target`, exactly as bun.lock pins them, in a folder of their own that goes when the scope ends; for
 * this machine, those that are installed already.
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
  const { os, cpu, libc, runtime } = targets[target];
  const folder = await mkdtemp(join(tmpdir(), "svc-build-"));
  for (const name of ["package.json", "bun.lock", "bunfig.toml"]) {
    await copyFile(join(ROOT, name), join(folder, name));
  }
  await $`${process.execPath} install --frozen-lockfile --ignore-scripts --os ${os} --cpu ${cpu} --libc ${libc}`
    .cwd(folder)
    .quiet();
  const modules = join(folder, "node_modules");
  return {
    target,
    modules,
    runtime: join(modules, runtime, "bin", os === "win32" ? "bun.exe" : "bun"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
